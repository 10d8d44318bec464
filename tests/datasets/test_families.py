"""Families of signals: y depends on the stated support only, with the stated signal-to-noise ratio."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.datasets import families, make_family
from grip2.datasets.families import FAMILIES
from grip2.datasets.synthetic import ar1_rows


@pytest.mark.parametrize("family", FAMILIES)
def test_support_noise_and_covariance(family):
    made = make_family(family, 4000, 30, 0.5, 0.5, n_signals=6, truth=3, random_state=0)
    again = make_family(family, 4000, 30, 0.5, 0.5, n_signals=6, truth=3, random_state=1)
    np.testing.assert_array_equal(made.support, again.support)
    assert not np.allclose(made.X, again.X)
    assert len(made.support) == 6
    assert made.signal.var() / (made.y - made.signal).var() == pytest.approx(0.5, rel=0.1)
    np.testing.assert_allclose(np.corrcoef(made.X.T), made.covariance, atol=0.1)


@pytest.mark.parametrize("family", FAMILIES)
def test_signal_depends_on_the_support_alone(family, monkeypatch):
    """Changing all null features leaves the signal as it is; changing a feature of the support does not."""
    made = make_family(family, 200, 30, n_signals=6, truth=3, random_state=0)

    def signal_with(changed: np.ndarray) -> np.ndarray:
        def rows(n: int, p: int, rho: float, rng: np.random.Generator) -> np.ndarray:
            X = ar1_rows(n, p, rho, rng)
            X[:, changed] *= -3
            return X

        monkeypatch.setattr(families, "ar1_rows", rows)
        return make_family(family, 200, 30, n_signals=6, truth=3, random_state=0).signal

    np.testing.assert_array_equal(signal_with(np.setdiff1d(np.arange(30), made.support)), made.signal)
    for j in made.support:
        assert np.abs(signal_with(np.array([j])) - made.signal).max() > 0.01


@pytest.mark.parametrize(
    ("family", "linear"),
    [("linear", True), ("signs", True), ("abs", False), ("products", False), ("interactions", None)],
)
def test_what_a_linear_model_sees(family, linear):
    made = make_family(family, 20_000, 30, 0.5, 0.5, n_signals=6, random_state=0)
    centred = made.signal - made.signal.mean()
    fit = made.X @ np.linalg.lstsq(made.X, centred, rcond=None)[0]
    share = fit.var() / centred.var()
    if linear is None:  # the linear part has half of the variance
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
