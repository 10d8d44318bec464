"""The lasso on bent columns: its shapes, what it takes, and that pairs are treated alike."""

from __future__ import annotations

import numpy as np
import pytest
from grip2.statistics.curves import fit_curves, shapes
from grip2.statistics.lasso_first import fit_lasso

from grip2.filter import knockoff_threshold
from grip2.metrics import power
from grip2.statistics import GRIP2
from grip2.statistics import curves as module
from grip2.statistics.augmented import paired_inputs
from grip2.statistics.base import standardise

RNG = np.random.default_rng


def parts(X, Xk, y, task="regression"):
    Z = paired_inputs(X, Xk)
    first = fit_lasso(Z, standardise(y) if task == "regression" else y, task=task, rng=RNG(0))
    return first, fit_curves(Z, first, task=task, rng=RNG(1))


def naive_shapes(z):
    """One column, by least squares."""
    low, middle, high = np.quantile(z, [0.25, 0.5, 0.75])

    def hinge(cut):
        return np.clip(z - cut, 0, None)

    known, found = [np.ones_like(z), z], []
    for shape in (hinge(middle), hinge(low) - hinge(high)):
        design = np.stack(known, axis=1)
        rest = shape - design @ np.linalg.lstsq(design, shape, rcond=None)[0]
        found.append(rest / rest.std())
        known.append(found[-1])
    return found


def test_shapes_are_those_of_the_naive_twin():
    Z = standardise(RNG(0).exponential(size=(500, 3)))
    V, S = np.split(shapes(Z), 2, axis=1)
    for j in range(3):
        for ours, theirs in zip((V[:, j], S[:, j]), naive_shapes(Z[:, j]), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_columns_of_two_values_and_constant_ones_have_no_shapes():
    Z = np.zeros((100, 3))
    Z[:, 0] = RNG(0).random(100) < 0.1
    Z[:, 1] = RNG(0).random(100) < 0.5
    assert not shapes(standardise(Z)).any()


def test_even_signals_are_taken_and_the_network_gets_the_rest():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1000, 10))
    y = standardise(np.abs(X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.5 * rng.standard_normal(1000))
    first, second = parts(X, Xk, y)
    assert first.explained < 0.02
    assert set(np.argsort(-second.strength)[:2]) == {0, 1}
    truth = np.abs(X[:, 0]) + np.abs(X[:, 1])
    assert second.explained == pytest.approx(np.corrcoef(truth, y)[0, 1] ** 2, abs=0.05)
    assert abs(np.corrcoef(second.response, truth)[0, 1]) < 0.1
    assert np.corrcoef(second.response, X[:, 2] * X[:, 3])[0, 1] > 0.7


@pytest.mark.parametrize("pairs_kept", [10, 50])
def test_choosing_pairs_explains_no_noise(monkeypatch, pairs_kept):
    """Pairs chosen on the rows that are fitted would seem to explain a tenth of pure noise here."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 300, 200))
    monkeypatch.setattr(module, "ENTRIES_MAX", 300 * 4 * pairs_kept)
    assert parts(X, Xk, rng.standard_normal(300))[1].explained < 0.02
    y = np.abs(X[:, :3]).sum(axis=1) + 0.5 * rng.standard_normal(300)
    _, second = parts(X, Xk, y)
    assert second.explained > 0.4
    assert set(np.argsort(-second.strength)[:3]) == {0, 1, 2}


def test_columns_with_many_equal_values_are_bent_too():
    rng = RNG(0)
    spikes = np.where(rng.random((400, 2)) < 0.8, 0.0, rng.exponential(size=(400, 2)))
    counts = rng.poisson(0.4, size=(400, 2)).astype(float)
    assert (np.abs(shapes(standardise(np.hstack([spikes, counts])))).max(axis=0) > 0)[:4].all()


def test_linear_signals_and_noise_leave_nothing_to_bend():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1000, 10))
    for y in (X[:, 0] + rng.standard_normal(1000), rng.standard_normal(1000)):
        assert parts(X, Xk, y)[1].explained < 0.01


@pytest.mark.parametrize("pairs_kept", [None, 4])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_swapped_pairs_swap_their_strengths_and_change_nothing_else(monkeypatch, task, pairs_kept):
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 400, 10))
    y = np.abs(X[:, 0]) + 0.5 * np.abs(Xk[:, 3]) + X[:, 1] + 0.5 * rng.standard_normal(400)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    if pairs_kept:
        monkeypatch.setattr(module, "ENTRIES_MAX", 400 * 4 * pairs_kept)
    swapped = RNG(1).random(10) < 0.5
    _, one = parts(X, Xk, y, task)
    _, other = parts(np.where(swapped, Xk, X), np.where(swapped, X, Xk), y, task)
    assert one.explained > 0.05
    a, b = np.split(other.strength, 2)
    back = np.concatenate([np.where(swapped, b, a), np.where(swapped, a, b)])
    np.testing.assert_allclose(back, one.strength, atol=2e-3)
    assert other.explained == pytest.approx(one.explained, abs=1e-3)
    if pairs_kept:
        assert np.count_nonzero(one.strength.reshape(2, -1).max(axis=0)) <= pairs_kept
        assert one.strength[0] > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    """Even signals raise the likelihood through the offset; shuffled labels do not."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1500, 10))
    index = 2 * np.abs(X[:, 0]) + 2 * np.abs(X[:, 1]) + 0.5 * rng.standard_normal(1500)
    y = np.digitize(index, np.quantile(index, np.arange(1, classes) / classes)).astype(float)
    first, second = parts(X, Xk, y, "classification")
    assert first.explained < 0.02
    assert second.explained > 0.2
    assert set(np.argsort(-second.strength)[:2]) == {0, 1}
    assert deviance(second.offset, y) < 0.8 * deviance(first.offset, y)
    first, second = parts(X, Xk, rng.permutation(y), "classification")
    assert second.explained < 0.01
    assert deviance(second.offset, rng.permutation(y)) < 1.02 * np.log(classes)


@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_the_share_of_classes_is_one_of_deviance(rate):
    """Also where a class is rare; the truth's own share is known."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 6000, 5))
    index = 2 * (np.abs(X[:, 0]) - 0.8)
    chance = 1 / (1 + np.exp(-(index + np.log(rate / (1 - rate)))))
    y = (rng.random(6000) < chance).astype(float)
    constant = np.full((6000, 1), np.log(y.mean() / (1 - y.mean())))
    truth = 1 - deviance(np.log(chance / (1 - chance))[:, None], y) / deviance(constant, y)
    assert parts(X, Xk, y, "classification")[1].explained == pytest.approx(truth, abs=0.4 * truth)


def deviance(logits, y):
    if logits.shape[1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(chances[np.arange(len(y)), y.astype(int)]).mean()


def test_a_few_hundred_rows_are_enough_for_absolute_values():
    """400 rows, 12 of 60 features: with the curves most are found, with lasso and network alone half or fewer."""
    rng = RNG(3)
    X, Xk = rng.standard_normal((2, 400, 60))
    y = np.abs(X[:, :12]).sum(axis=1) + 1.5 * rng.standard_normal(400)

    def found(statistic):
        W = statistic.importance(X, Xk, y, rng=RNG(0)).W
        return power(knockoff_threshold(W, 0.2) <= W, np.arange(60) < 12)

    assert found(GRIP2()) >= 0.9
    assert found(GRIP2(curves=False)) <= 0.6


def test_curves_are_off_where_the_network_is_alone():
    X = RNG(0).standard_normal((100, 3))
    found = GRIP2(linear=None, steps=50).importance(X, X[::-1], X[:, 0] ** 2, rng=RNG(0))
    assert "linear" not in found.info["chosen"]
    with pytest.raises(ValueError, match="curves must be True or False, got 'yes'"):
        GRIP2(curves="yes").importance(X, X[::-1], X[:, 0], rng=RNG(0))
