from __future__ import annotations

import numpy as np
import pytest

from grip2.metrics import false_discovery_proportion, jaccard_stability, power


def test_masks_indices_and_names_agree():
    mask, truth = np.array([1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 0], bool)
    for chosen, true in ((mask, truth), ([0, 1, 4], [0, 2]), ({"a", "b", "e"}, {"a", "c"})):
        assert false_discovery_proportion(chosen, true) == pytest.approx(2 / 3)
        assert power(chosen, true) == pytest.approx(1 / 2)


def test_empty_selection():
    assert false_discovery_proportion([], [1, 2]) == 0
    assert power([], [1, 2]) == 0
    with pytest.raises(ValueError, match="truth is empty"):
        power([1], [])


def test_masks_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        power(np.ones(3, bool), np.ones(4, bool))


def test_stability_by_hand():
    assert jaccard_stability([{1, 2}, {2, 3}, set()]) == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert jaccard_stability([set(), set()]) == 1.0
    with pytest.raises(ValueError, match="at least two"):
        jaccard_stability([{1}])
