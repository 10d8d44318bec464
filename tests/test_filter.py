"""The filter against exhaustive search, and the traps around zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.filter import estimated_fdp, knockoff_threshold, q_values, select
from tests.naive import filter as naive

# A coarse grid of values makes ties, zeros and equal |W| of both signs common.
statistics = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=14)


@given(statistics, st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.5, 0.9]), st.sampled_from([0, 1]))
@settings(max_examples=300, deadline=None)
def test_threshold_equals_exhaustive_search(W, fdr, offset):
    assert knockoff_threshold(np.array(W), fdr, offset) == naive.threshold(W, fdr, offset)


@given(statistics, st.sampled_from([1]))
@settings(max_examples=100, deadline=None)
def test_q_value_is_the_smallest_level_that_selects(W, offset):
    q = q_values(np.array(W), offset)
    for j in range(len(W)):
        assert q[j] == pytest.approx(naive.q_value(W, j, offset))


@given(statistics)
@settings(max_examples=100, deadline=None)
def test_selection_is_what_q_values_say(W):
    W = np.array(W)
    for fdr in (0.1, 0.25, 0.5):
        np.testing.assert_array_equal(select(W, knockoff_threshold(W, fdr)), q_values(W) <= fdr)


def test_zero_is_never_a_candidate():
    """A search that includes t = 0 selects every feature with W = 0."""
    W = np.concatenate([np.zeros(50), np.full(20, 1.0)])
    assert knockoff_threshold(W, 0.1) == 1.0
    assert select(W, 1.0).sum() == 20
    assert np.all(q_values(W)[:50] == 1)
    assert knockoff_threshold(np.zeros(5), 0.9) == np.inf
    assert not select(np.zeros(5), np.inf).any()


def test_offset_one_needs_one_over_fdr_selections():
    assert knockoff_threshold(np.ones(9), 0.1) == np.inf
    assert knockoff_threshold(np.ones(10), 0.1) == 1.0
    assert knockoff_threshold(np.ones(9), 0.1, offset=0) == 1.0


def test_estimates_by_hand():
    candidates, estimates = estimated_fdp(np.array([3.0, 2.0, -2.0, 1.0, 0.0]))
    np.testing.assert_array_equal(candidates, [1, 2, 3])
    np.testing.assert_allclose(estimates, [2 / 3, 2 / 2, 1 / 1])


@pytest.mark.parametrize("fdr", [0, 1, -0.1, 1.5, "0.1", True, np.nan])
def test_fdr_outside_the_unit_interval_is_refused(fdr):
    with pytest.raises(ValueError, match=r"fdr must be in \(0, 1\)"):
        knockoff_threshold(np.ones(3), fdr)


def test_bad_statistics_are_refused():
    with pytest.raises(ValueError, match="finite"):
        q_values(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="one-dimensional"):
        q_values(np.ones((2, 2)))
    with pytest.raises(ValueError, match="offset must be 0 or 1"):
        knockoff_threshold(np.ones(3), 0.1, offset=2)
