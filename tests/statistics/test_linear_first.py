"""A lasso before the network: what it takes, what it leaves, how the two are added."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.filter import knockoff_threshold
from grip2.metrics import power
from grip2.statistics import GRIP2, LassoCoefficient
from grip2.statistics.base import standardise
from grip2.statistics.inputs import paired_inputs
from grip2.statistics.linear_first import combined, fit_lasso

RNG = np.random.default_rng
SMALL = {"hidden": 8, "depth": 1, "steps": 300}


def table(n=300, p=10, seed=0):
    rng = RNG([seed, 3])
    return rng.standard_normal((n, p)), rng.standard_normal((n, p)), rng.standard_normal(n)


def test_what_the_lasso_takes_and_leaves():
    X, Xk, noise = table()
    y = standardise(X[:, 0] + X[:, 1] + noise)
    Z = paired_inputs(X, Xk)
    part = fit_lasso(Z, y, task="regression", rng=RNG(0))
    assert 0.5 < part.explained < 0.75  # 2/3 in truth
    assert set(np.argsort(-part.strength)[:2]) == {0, 1}
    assert part.offset is None
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    assert np.corrcoef(part.response, residual)[0, 1] > 0.97
    assert part.response.std() == pytest.approx(1)
    assert fit_lasso(Z, standardise(noise), task="regression", rng=RNG(0)).explained < 0.02


def test_swapped_pairs_swap_their_strengths_and_change_nothing_else():
    X, Xk, noise = table()
    y = standardise(X[:, 0] + 0.2 * Xk[:, 3] + noise)
    swapped = RNG(1).random(10) < 0.5
    one = fit_lasso(paired_inputs(X, Xk), y, task="regression", rng=RNG(0))
    A, B = np.where(swapped, Xk, X), np.where(swapped, X, Xk)
    other = fit_lasso(paired_inputs(A, B), y, task="regression", rng=RNG(0))
    first, second = np.split(other.strength, 2)
    back = np.concatenate([np.where(swapped, second, first), np.where(swapped, first, second)])
    np.testing.assert_allclose(back, one.strength, atol=1e-4)
    assert other.explained == pytest.approx(one.explained, abs=1e-4)
    np.testing.assert_allclose(other.response, one.response, atol=1e-3)


def test_parts_are_added_in_units_of_what_they_explain():
    lasso, network = np.array([4.0, 0.0, 0.0, 0.0]), np.array([1.0, 3.0, 1.0, 1.0])
    both = combined([(lasso, 0.3), (network, 0.1)])
    W = both[:2] - both[2:]
    np.testing.assert_allclose(W, [0.3, 0.1])  # the lasso's goes to the first feature, the network's to the second
    np.testing.assert_allclose(combined([(lasso, 0.3), (network, 0.0)]), 0.3 * lasso / 4)
    np.testing.assert_allclose(combined([(lasso, 0.0), (network, 0.0)]), combined([(lasso, 1.0), (network, 1.0)]))
    np.testing.assert_allclose(combined([(np.zeros(4), 0.0), (network, 0.1)]), 0.1 * network / 2)


def test_linear_signals_lose_nothing():
    """800 rows, 12 of 60 features, weak: the network alone finds next to nothing, the lasso most, both together as much."""
    rng = RNG(5)
    X, Xk = rng.standard_normal((2, 800, 60))
    y = X[:, :12] @ np.full(12, 0.2) + rng.standard_normal(800)
    truth = np.arange(60) < 12

    def found(statistic):
        W = statistic.importance(X, Xk, y, rng=RNG(0)).W
        return power(knockoff_threshold(W, 0.2) <= W, truth)

    assert found(LassoCoefficient()) >= 0.9
    assert found(GRIP2()) >= 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    X, Xk, noise = table(n=900)
    index = 2 * X[:, 0] + 2 * X[:, 1] + noise
    y = np.digitize(index, np.quantile(index, np.arange(1, classes) / classes)).astype(float)
    part = fit_lasso(paired_inputs(X, Xk), y, task="classification", rng=RNG(0))
    assert part.offset.shape == (900, 1 if classes == 2 else 3)
    assert part.explained > 0.3
    found = GRIP2(**SMALL).importance(X, Xk, y, rng=RNG(0), task="classification")
    assert set(np.argsort(-found.W)[:2]) == {0, 1}
    shares = found.info["chosen"]["linear"]
    assert shares["explained_by_lasso"] == pytest.approx(part.explained, abs=0.05)
    assert 0 <= shares["explained_by_network"] < 0.2


def test_batched_draws_equal_single_ones():
    X, Xk, noise = table(n=200)
    other = table(n=200, seed=1)[1]
    y = (X[:, 0] + np.abs(X[:, 1]) + 0.3 * noise > 0.5).astype(float)
    statistic = GRIP2(**{**SMALL, "steps": 100})  # rounding grows with every step
    assert statistic.draws_together(200, 10) > 1
    together = statistic.importances(X, [Xk, other], y, rngs=[RNG(1), RNG(2)], task="classification")
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=RNG(k + 1), task="classification")
        np.testing.assert_allclose(together[k].W, alone.W, atol=2e-3)
        np.testing.assert_allclose(together[k].surface.original, alone.surface.original, atol=1e-4)
        np.testing.assert_allclose(together[k].surface.knockoff, alone.surface.knockoff, atol=1e-4)
        np.testing.assert_allclose(together[k].info["loss_curve"], alone.info["loss_curve"], atol=1e-4)


def test_the_share_is_measured_where_the_range_is_given():
    X, Xk, noise = table()
    y = X[:, 0] ** 2 + 0.2 * noise
    chosen = GRIP2((1e-2, 1e-1), **SMALL).importance(X, Xk, y, rng=RNG(0)).info["chosen"]
    assert "omega" not in chosen
    assert chosen["linear"]["explained_by_network"] > chosen["linear"]["explained_by_lasso"]


def test_unequal_classes_give_the_network_no_credit():
    """A middle class of 80 %, weak linear signals: what the lasso finds is not drowned by a share the network has not earned."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1500, 60))
    index = X[:, :12] @ np.full(12, 0.13) + rng.standard_normal(1500)
    y = np.digitize(index, np.quantile(index, [0.1, 0.9])).astype(float)
    found = GRIP2(hidden=32, depth=1, steps=1000).importance(X, Xk, y, rng=RNG(0), task="classification")
    assert found.info["chosen"]["linear"]["explained_by_network"] < 0.02
    assert power(knockoff_threshold(found.W, 0.2) <= found.W, np.arange(60) < 12) >= 0.75
    noise = fit_lasso(paired_inputs(X, Xk), rng.permutation(y), task="classification", rng=RNG(0))
    predicted = np.exp(noise.offset) / np.exp(noise.offset).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predicted.mean(axis=0), [0.1, 0.8, 0.1], atol=0.01)


def test_a_range_that_kills_every_group_leaves_the_lasso_alone():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 800, 30))
    y = X[:, :8].sum(axis=1) + 2 * rng.standard_normal(800)
    found = GRIP2((50.0, 100.0), hidden=16, depth=1, steps=500).importance(X, Xk, y, rng=RNG(0))
    assert found.info["chosen"]["linear"]["explained_by_network"] < 0.01
    assert power(knockoff_threshold(found.W, 0.2) <= found.W, np.arange(30) < 8) == 1


@pytest.mark.parametrize("counts", [(100, 3, 2), (100, 5, 1), (60, 4), (3, 2)])
def test_rare_classes(counts):
    y = np.repeat(np.arange(len(counts)), counts).astype(float)
    Z = RNG(0).standard_normal((len(y), 8))
    for seed in (0, 1665, 3147):
        part = fit_lasso(Z, y, task="classification", rng=RNG(seed))
        assert np.isfinite(part.offset).all()
        assert 0 <= part.explained < 1
