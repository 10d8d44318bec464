"""Families of signals: the truth is where it is said to be, and as strong."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.datasets import make_family
from grip2.datasets.families import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_signal_depends_on_the_support_alone(family):
    made = make_family(family, 4000, 30, 0.5, 0.5, n_signals=6, truth=3, random_state=0)
    again = make_family(family, 4000, 30, 0.5, 0.5, n_signals=6, truth=3, random_state=1)
    np.testing.assert_array_equal(made.support, again.support)
    assert not np.allclose(made.X, again.X)
    assert len(made.support) == 6
    assert made.signal.var() / (made.y - made.signal).var() == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(np.corrcoef(made.X.T), made.covariance, atol=0.1)
    # Rows with equal supporting features have equal signals.
    twin = make_family(family, 4000, 30, 0.5, 0.5, n_signals=6, truth=3, random_state=0)
    np.testing.assert_array_equal(twin.signal, made.signal)


@pytest.mark.parametrize(
    ("family", "linear"),
    [("linear", True), ("signs", True), ("abs", False), ("products", False), ("interactions", None)],
)
def test_what_a_linear_model_sees(family, linear):
    made = make_family(family, 20_000, 30, 0.5, 0.5, n_signals=6, random_state=0)
    centred = made.signal - made.signal.mean()
    fit = made.X @ np.linalg.lstsq(made.X, centred, rcond=None)[0]
    share = fit.var() / centred.var()
    if linear is None:  # half of it
        assert 0.35 < share < 0.65
    else:
        assert share > 0.5 if linear else share < 0.02


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"family": "cubic"}, "family must be one of"), ({"family": "abs", "n_signals": 5}, "even number")],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_family(**settings)
