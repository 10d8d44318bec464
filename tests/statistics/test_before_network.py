"""Parts before the network: what a lasso takes and leaves, how parts are added, what the network learns after them."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from grip2.statistics.curves import fit_curves
from grip2.statistics.lasso_first import fit_lasso, shares_as_logits
from grip2.statistics.parts import Part, combined, held_out_share, magnification
from scipy.special import logsumexp

from grip2.engine.mlp import initialise
from grip2.filter import knockoff_threshold
from grip2.metrics import power
from grip2.statistics import GRIP2, LassoCoefficient
from grip2.statistics.augmented import paired_inputs
from grip2.statistics.base import standardise

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
    assert shares["explained_by_additive"] == pytest.approx(part.explained, abs=0.05)
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
    X, Xk, noise = table(n=600)
    y = X[:, 0] ** 2 + 0.2 * noise
    statistic = GRIP2((1e-3, 1e-2), curves=False, hidden=16, depth=1, steps=1000)
    chosen = statistic.importance(X, Xk, y, rng=RNG(0)).info["chosen"]
    assert "omega" not in chosen
    assert chosen["linear"]["explained_by_network"] > chosen["linear"]["explained_by_additive"] + 0.1


def test_unequal_classes_give_the_network_no_credit():
    """A middle class of 80 %, weak linear signals: what the lasso finds is not drowned by a share the network has not earned."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1500, 60))
    index = X[:, :12] @ np.full(12, 0.13) + rng.standard_normal(1500)
    y = np.digitize(index, np.quantile(index, [0.1, 0.9])).astype(float)
    for learns in ("rest", "auto"):
        statistic = GRIP2(hidden=32, depth=1, steps=1000, learns=learns)
        found = statistic.importance(X, Xk, y, rng=RNG(0), task="classification")
        shares = found.info["chosen"]["linear"]
        if learns == "rest":
            assert shares["explained_by_network"] < 0.02
        assert shares["explained_by_network"] < shares["explained_by_additive"] + 0.02
        assert power(knockoff_threshold(found.W, 0.2) <= found.W, np.arange(60) < 12) >= 0.75
    noise = fit_lasso(paired_inputs(X, Xk), rng.permutation(y), task="classification", rng=RNG(0))
    predicted = np.exp(noise.offset) / np.exp(noise.offset).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predicted.mean(axis=0), [0.1, 0.8, 0.1], atol=0.01)


def test_a_range_that_kills_every_group_leaves_the_first_part_alone():
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


def a_part(strength, explained):
    return Part("lasso", np.array(strength), explained, np.zeros(3), None, [])


def test_columns_that_the_lassos_found_are_magnified():
    parts = [a_part([3.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.2), a_part([0.0, 0.0, 0.0, 0.0, 1.0, 0.0], 0.1)]
    factors = magnification(parts, 10**9)
    np.testing.assert_allclose(factors[:3], factors[3:])
    assert factors[0] == pytest.approx(2)  # the pair of which most is made
    # In units of explained share: 0.2 (3 + 1) / 2 for the first pair, 0.1 for the second.
    np.testing.assert_allclose(factors[1:3], [1 + 0.1 / 0.4, 1])
    few = magnification(parts, 60)  # 0.3 explained against 20 / 60
    np.testing.assert_allclose(few - 1, (factors - 1) * 0.3 / (0.3 + 1 / 3), atol=1e-6)
    np.testing.assert_allclose(magnification([a_part([3.0, 0.0, 1.0, 0.0], 0.0)], 100), 1)
    np.testing.assert_allclose(magnification([a_part([0.0, 0.0, 0.0, 0.0], 0.1)], 100), 1)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_that_are_not_fitted_are_not_looked_at(task):
    """Other responses in the rows held out: the same strengths, and the same fit everywhere but for units."""
    X, Xk, noise = table(n=600)
    y = X[:, 0] + np.abs(X[:, 1]) + noise
    rows = np.sort(RNG(1).permutation(600)[:480])
    held_out = np.setdiff1d(np.arange(600), rows)
    other = y.copy()
    other[held_out] = y[held_out][::-1]  # the same values, so the same units and shares of classes
    if task == "classification":
        y, other = (np.digitize(v, np.quantile(y, [0.3, 0.6])).astype(float) for v in (y, other))
    else:
        y, other = standardise(y), standardise(other)
    Z = paired_inputs(X, Xk)
    found = []
    for target in (y, other):
        first = fit_lasso(Z, target, task=task, rng=RNG(0), rows=rows)
        found.append((first, fit_curves(Z, first, task=task, rng=RNG(1), rows=rows)))
    for one, changed in zip(*found, strict=True):
        # Rows held out take part in the units of what is left, and in those only.
        one_strength, changed_strength = (part.strength / part.strength.sum() for part in (one, changed))
        np.testing.assert_allclose(changed_strength, one_strength, atol=1e-3)
        assert changed.explained == pytest.approx(one.explained, abs=1e-3)
        if task == "classification":
            np.testing.assert_allclose(changed.offset, one.offset, atol=0.02)
    assert found[0][1].explained > 0.02


def test_what_is_left_adds_up_in_units_of_the_response():
    X, Xk, noise = table(n=2000)
    y = standardise(2 * X[:, 0] + 2 * np.abs(X[:, 1]) + noise)
    Z = paired_inputs(X, Xk)
    first = fit_lasso(Z, y, task="regression", rng=RNG(0))
    second = fit_curves(Z, first, task="regression", rng=RNG(0))
    assert first.scale**2 == pytest.approx(1 - first.explained, abs=0.02)
    assert second.scale**2 == pytest.approx(1 - first.explained - second.explained, abs=0.02)


def test_shares_of_classes_as_logits():
    y = np.repeat([0.0, 1.0, 2.0], [10, 60, 30])
    np.testing.assert_allclose(np.exp(shares_as_logits(y)), [0.1, 0.6, 0.3])
    np.testing.assert_allclose(shares_as_logits((y > 0).astype(float)), [np.log(9)])


def interacting(n=1500, p=60, seed=6):
    """Six features with effects of their own, six that act with these only."""
    rng = RNG(seed)
    X, Xk = rng.standard_normal((2, n, p))
    signal = X[:, :6].sum(axis=1) + (X[:, :6] * X[:, 6:12]).sum(axis=1)
    return X, Xk, signal + 4 * rng.standard_normal(n), np.arange(p) < 12


def test_features_that_also_act_together_are_learned_as_a_whole():
    X, Xk, y, truth = interacting()
    found = GRIP2().importance(X, Xk, y, rng=RNG(0))
    chosen = found.info["chosen"]["linear"]
    assert chosen["network_learns"] == "response"
    assert chosen["held_out_loss"]["response"] < chosen["held_out_loss"]["rest"]
    assert chosen["explained_by_network"] > chosen["explained_by_additive"] + 0.1
    assert chosen["rule"].endswith("a network on the whole response, led by what was found")
    assert power(knockoff_threshold(found.W, 0.1) <= found.W, truth) == 1
    # Norms are told in units of the columns, whatever they were multiplied by.
    both = np.concatenate([found.surface.original, found.surface.knockoff], axis=1)
    assert np.argsort(-both.mean(axis=0))[:12].max() < 12


def test_sums_of_curves_are_left_to_the_first_part():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 800, 40))
    y = np.abs(X[:, :12]).sum(axis=1) + 2 * rng.standard_normal(800)
    chosen = GRIP2().importance(X, Xk, y, rng=RNG(0)).info["chosen"]["linear"]
    assert chosen["network_learns"] == "rest"
    assert chosen["held_out_loss"]["rest"] < chosen["held_out_loss"]["response"] - 0.02
    blind = GRIP2(linear="lasso", **SMALL).importance(X, Xk, rng.standard_normal(800), rng=RNG(0))
    losses = blind.info["chosen"]["linear"]["held_out_loss"]
    assert set(losses) == {"response"}, "where nothing is found there is one thing to learn"


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_what_the_network_learns_can_be_given(task):
    X, Xk, y, _ = interacting(n=1000, p=20)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, [0.4, 0.8])).astype(float)
    for learns in ("rest", "response"):
        statistic = GRIP2(learns=learns, hidden=16, depth=1, steps=800)
        found = statistic.importance(X, Xk, y, rng=RNG(0), task=task)
        chosen = found.info["chosen"]["linear"]
        assert list(chosen["held_out_loss"]) == [learns]
        assert set(np.argsort(-found.W)[:6]) <= set(range(12))
        if learns == "response":  # all of what the first part sees, and more
            assert chosen["explained_by_network"] > chosen["explained_by_additive"] - 0.05


def test_batched_draws_that_learn_the_response_equal_single_ones():
    """Each with columns magnified by its own first part: as alone."""
    X, Xk, y, _ = interacting(n=300, p=14)
    other = RNG(9).standard_normal(X.shape)
    statistic = GRIP2(hidden=8, depth=1, steps=100, learns="response")
    assert statistic.draws_together(300, 14) > 1
    together = statistic.importances(X, [Xk, other], y, rngs=[RNG(1), RNG(2)])
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=RNG(k + 1))
        np.testing.assert_allclose(together[k].W, alone.W, atol=2e-3)
        np.testing.assert_allclose(together[k].surface.original, alone.surface.original, atol=1e-4)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_choice_changes_when_pairs_are_swapped(monkeypatch, task):
    """Columns and their starting weights change places together: what is learned, magnified and weighed is the same."""
    X, Xk, y, _ = interacting(n=500, p=14)
    if task == "classification":
        y = (y > np.median(y)).astype(float)
    swapped = RNG(3).random(14) < 0.5
    here, there = np.arange(14), np.arange(14, 28)
    order = np.concatenate([np.where(swapped, there, here), np.where(swapped, here, there)])
    engine, start = importlib.import_module("grip2.engine.train"), initialise

    def ready(places):
        def moved(*args, rng):
            first, *rest = start(*args, rng=rng)
            return (first._replace(weight=first.weight[places]), *rest)

        monkeypatch.setattr(engine, "initialise", moved)
        Z = paired_inputs(X, Xk, np.float32)[:, places]
        return GRIP2(hidden=8, depth=1, steps=200).sized(500)._ready(Z, y, task, RNG(0), None)

    one, other = ready(np.arange(28)), ready(order)
    a, b = one.chosen["linear"], other.chosen["linear"]
    assert set(a["held_out_loss"]) == {"rest", "response"}
    assert a["network_learns"] == b["network_learns"]
    for name in ("rest", "response"):
        assert b["held_out_loss"][name] == pytest.approx(a["held_out_loss"][name], rel=1e-3)
    assert b["explained_by_network"] == pytest.approx(a["explained_by_network"], abs=2e-3)
    assert other.chosen["omega"]["best_lambda"] == pytest.approx(one.chosen["omega"]["best_lambda"])
    factors = [magnification(found.problem.parts, 500) for found in (one, other)]
    np.testing.assert_allclose(factors[1], factors[0], atol=2e-3)
    assert factors[0].max() > 1.5


def held_out_deviance(logits, y):
    return float(np.mean(logsumexp(logits, axis=1) - logits[np.arange(len(y)), y.astype(int)]))


def test_logits_of_separable_classes_stay_finite():
    """Rows that the fit tells apart perfectly do not make it certain of all others."""
    for seed in range(4):
        rng = RNG(seed)
        X, Xk = rng.standard_normal((2, 100, 6))
        y = np.digitize(X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(100), [-1, 1]).astype(float)
        rows = np.sort(rng.permutation(100)[:80])
        part = fit_lasso(paired_inputs(X, Xk), y, task="classification", rng=RNG(5), rows=rows)
        held_out = np.setdiff1d(np.arange(100), rows)
        assert held_out_deviance(part.offset[held_out], y[held_out]) < 1.2, "about that of knowing nothing"


def test_a_class_absent_from_the_rows_is_unlikely_and_not_impossible():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 300, 5))
    y = (X[:, 0] + 0.5 * rng.standard_normal(300) > 0).astype(float)
    y[:2] = 2.0
    part = fit_lasso(paired_inputs(X, Xk), y, task="classification", rng=RNG(0), rows=np.arange(2, 300))
    chance = np.exp(part.offset[:, 2] - logsumexp(part.offset, axis=1))
    assert 1e-3 < chance.mean() < 0.02


def test_noise_is_not_explained_by_unequal_shares_of_a_rare_class():
    """The share of a class among the rows fitted may differ from that among all; 30 tables, none explains 3 %."""
    found = []
    for seed in range(30):
        rng = RNG(seed)
        Z = standardise(rng.standard_normal((500, 10)))
        y = (rng.random(500) < 0.1).astype(float)
        rows = np.sort(rng.permutation(500)[:400])
        found.append(fit_lasso(Z, y, task="classification", rng=RNG(0), rows=rows).explained)
    assert max(found) < 0.03


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(("n", "p"), [(2, 3), (3, 3), (5, 3), (3, 1100)])
def test_a_handful_of_rows(n, p, task):
    X, Xk = RNG(0).standard_normal((2, n, p))
    y = np.arange(n) % 2.0 if task == "classification" else X[:, 0]
    found = GRIP2(hidden=2, depth=1, steps=30).importance(X, Xk, y, rng=RNG(0), task=task)
    assert np.isfinite(found.W).all()


@pytest.mark.parametrize("omega", ["auto", "gradient_ratio"])
def test_progress_moves_all_the_time(monkeypatch, omega):
    monkeypatch.setattr("grip2.engine.train.CHUNK_STEPS_MAX", 32)
    X, Xk, y, _ = interacting(n=200, p=14)
    seen = []
    statistic = GRIP2(omega, hidden=4, depth=1, steps=128)
    statistic.importance(X, Xk, y, rng=RNG(0), progress=lambda done, total: seen.append(done / total))
    assert len(seen) >= 8
    assert min(np.diff(seen)) > 0
    assert seen[-1] == 1


def test_a_part_that_predicts_a_constant_explains_nothing():
    y = standardise(RNG(0).standard_normal(50))
    held_out = np.arange(10)
    nothing = Part("additive", np.zeros(4), 0.5, standardise(y - 3), None, [], float(y.std()))
    assert held_out_share(nothing, y, held_out) == pytest.approx(0, abs=1e-12)
    half = replace(nothing, scale=0.5 * nothing.scale)
    assert held_out_share(half, y, held_out) == pytest.approx(0.75)
