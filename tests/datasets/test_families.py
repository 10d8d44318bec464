"""Families of signals: y depends on the stated support only, with the stated signal-to-noise ratio."""

from __future__ import annotations

import math

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
    [
        ("linear", True), ("signs", True), ("cubic", True), ("abs", False), ("products", False), ("switches", False),
        ("interactions", None), ("gates", None),
    ],
)  # fmt: skip
def test_what_a_linear_model_sees(family, linear):
    made = make_family(family, 20_000, 30, 0.5, 0.5, n_signals=6, random_state=0)
    centred = made.signal - made.signal.mean()
    fit = made.X @ np.linalg.lstsq(made.X, centred, rcond=None)[0]
    share = fit.var() / centred.var()
    if linear is None:  # the linear part has half of the variance: of a gate because (x > 0) z = z / 2 + sign(x) z / 2
        assert 0.35 < share < 0.65
    else:
        assert share > 0.5 if linear else share < 0.02


# First values of y, computed before families were added: studies that were run must stay reproducible.
FIRST_VALUES = {
    "linear": (4.0772959, -1.542920565),
    "sine": (1.054574803, -0.3882470706),
    "abs": (0.8041504689, 1.001424003),
    "products": (3.586225082, -0.3871155529),
    "signs": (3.617558095, -1.737198658),
    "network": (5.952852101, 4.942170262),
    "interactions": (0.004400933352, -1.812849156),
}


@pytest.mark.parametrize("family", FIRST_VALUES)
def test_values_do_not_move(family):
    made = make_family(family, 300, 40, 0.5, 0.5, n_signals=8, truth=3, random_state=5)
    np.testing.assert_allclose(made.y[:2], FIRST_VALUES[family], rtol=1e-8)


PAIRS = {
    "products": lambda x, z: x * z,
    "gates": lambda x, z: z if x > 0 else 0.0,
    "switches": lambda x, z: (1 if x > 0 else -1) * (1 if z > 0 else -1),
    "cosines": lambda x, z: math.cos(2 * x) * z,
}


@pytest.mark.parametrize("family", PAIRS)
def test_terms_of_pairs(family):
    rng = np.random.default_rng(0)
    Z, b = rng.standard_normal((50, 6)), rng.uniform(0.5, 1.5, 6)
    expected = [sum(b[i] * PAIRS[family](row[i], row[3 + i]) for i in range(3)) for row in Z]
    np.testing.assert_allclose(FAMILIES[family](Z, b, rng), expected)


def test_cubes():
    rng = np.random.default_rng(0)
    Z, b = rng.standard_normal((50, 3)), rng.uniform(0.5, 1.5, 3)
    np.testing.assert_allclose(FAMILIES["cubic"](Z, b, rng), [sum(b * row * row * row) for row in Z])


@pytest.mark.parametrize(
    ("features", "terms"),
    [
        (6, ["024", "135"]),
        (8, ["024", "135", "67"]),
        (10, ["024", "135", "68", "79"]),
    ],
)
def test_products_of_three_and_what_is_left(features, terms):
    rng = np.random.default_rng(0)
    Z, b = rng.standard_normal((50, features)), rng.uniform(0.5, 1.5, features)
    expected = [
        sum(weight * np.prod([row[int(j)] for j in term]) for weight, term in zip(b, terms, strict=False)) for row in Z
    ]
    np.testing.assert_allclose(FAMILIES["three_way"](Z, b, rng), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "parabolas"}, "family must be one of"),
        ({"family": "gate"}, "Did you mean 'gates'?"),
        ({"family": "products", "n_signals": 5}, "even number"),
        ({"family": "abs", "n_signals": 0}, "a number from 1 to p"),
        ({"family": "three_way", "n_signals": 4}, "at least 6 for the family 'three_way', got 4"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_family(**settings)
