"""Staged: what the network learns after the first stage, how the two are weighed, and that pairs are treated alike."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.members import members_of, table_of

from grip2.engine.mlp import initialise
from grip2.errors import Grip2Error
from grip2.filter import knockoff_threshold
from grip2.metrics import power
from grip2.responses import response_from
from grip2.statistics import GRIP2, EffectPosterior, LassoCoefficient, LassoCurves, Staged, network_runs
from grip2.statistics.linear_lasso import fit_linear_lasso
from grip2.statistics.staged import _choose
from grip2.units import Layout, Units

RNG = np.random.default_rng
SMALL = {"hidden": 8, "depth": 1, "steps": 300}


def table(n=300, p=10, seed=0):
    rng = RNG([seed, 3])
    return rng.standard_normal((n, p)), rng.standard_normal((n, p)), rng.standard_normal(n)


def shares_of(found):
    """Held-out shares of the first stage and of the network."""
    return [stage.held_out_share for stage in found.facts.stages]


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
    assert found(Staged()) >= 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    X, Xk, noise = table(n=900)
    index = 2 * X[:, 0] + 2 * X[:, 1] + noise
    y = np.digitize(index, np.quantile(index, np.arange(1, classes) / classes)).astype(float)
    part = fit_linear_lasso(members_of(X, Xk).standardised(), response_from(y, "classification"), rng=RNG(0))
    assert part.logits.shape == (900, 1 if classes == 2 else 3)
    assert part.share > 0.3
    found = Staged(network=GRIP2(**SMALL)).importance(X, Xk, y, rng=RNG(0), task="classification")
    assert set(np.argsort(-found.W)[:2]) == {0, 1}
    effects, network = shares_of(found)
    # The share is one of softmax deviance, where the lasso's own is one of one-against-rest deviances.
    response = response_from(y, "classification")
    of_softmax = 1 - response.mean_loss(part.logits) / response.mean_loss(response.constant_outputs())
    if classes == 2:
        assert effects == pytest.approx(part.share, abs=0.05)
    else:  # the class in the middle, against the rest, is no sum of lines
        assert 0.75 * of_softmax < effects < of_softmax + 0.05
    assert 0 <= network < 0.2


@pytest.fixture
def always_trained(monkeypatch):
    """Networks are trained also where their rehearsal explains nothing."""
    monkeypatch.setattr("grip2.statistics.staged._PreparedStages.without_training", lambda self: None)


def test_a_network_that_adds_nothing_is_not_trained(request):
    X, Xk, noise = table(n=300)
    y = X[:, 0] - X[:, 1] + 0.5 * noise
    statistic = Staged(network=GRIP2(**{**SMALL, "steps": 100}))
    found = statistic.importances(X, [Xk, table(n=300, seed=1)[1]], y, rngs=[RNG(1), RNG(2)])
    assert [shares_of(one)[1] for one in found] == [0, 0]
    assert all(one.surface is None and one.facts.training is None for one in found)
    request.getfixturevalue("always_trained")
    trained = statistic.importances(X, [Xk, table(n=300, seed=1)[1]], y, rngs=[RNG(1), RNG(2)])
    for one, other in zip(found, trained, strict=True):
        assert other.surface is not None
        np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize(
    ("target", "share", "rows_worth", "trained"),
    [
        ("residual", 0.011, 0.0, True),  # a fiftieth of the first stage's share is the least
        ("residual", 0.009, 0.0, False),
        ("residual", 0.27, None, True),  # 16 / 60 of the held-out rows
        ("residual", 0.26, None, False),
        ("response", 0.77, None, True),  # as much beyond the share of the first stage
        ("response", 0.76, None, False),
    ],
)
def test_a_network_is_trained_where_it_adds_more_than_chance(monkeypatch, target, share, rows_worth, trained):
    X, Xk, noise = table(n=300)
    y = X[:, 0] - X[:, 1] + 0.5 * noise
    monkeypatch.setattr("grip2.statistics.staged._Choice.network_share", share)
    monkeypatch.setattr("grip2.statistics.stage.held_out_share", lambda *_: 0.5)
    if rows_worth is not None:
        monkeypatch.setattr("grip2.statistics.staged.LEAST_ROWS_WORTH", rows_worth)
    found = Staged(network=GRIP2(**{**SMALL, "steps": 100}), target=target).importance(X, Xk, y, rng=RNG(1))
    assert (found.facts.training is not None) == trained
    assert shares_of(found) == [0.5, share]


def test_a_first_stage_that_predicts_nothing_still_counts(monkeypatch, always_trained):
    """As if it explained one row of those held out; a network that predicts nothing either does not count."""
    X, Xk, noise = table(n=300)
    monkeypatch.setattr("grip2.statistics.stage.held_out_share", lambda *_: 0.0)
    statistic = Staged(network=GRIP2(**{**SMALL, "steps": 100}))
    for share in (0.0, 0.1):
        monkeypatch.setattr("grip2.statistics.staged._Choice.network_share", share)
        found = statistic.importance(X, Xk, X[:, 0] + 0.5 * noise, rng=RNG(1))
        # Importances of a stage are scaled so that the sizes of their differences sum to its share.
        size = np.abs(found.W).sum()
        assert size <= 1 / 60 + share + 1e-9
        assert size >= (0.05 if share else 0.99 / 60)


def test_batched_draws_equal_single_ones(always_trained):
    X, Xk, noise = table(n=200)
    other = table(n=200, seed=1)[1]
    y = (X[:, 0] + np.abs(X[:, 1]) + 0.3 * noise > 0.5).astype(float)
    # Rounding grows with every step where a group is small: after 100 steps a norm of 0.003 may differ by a twentieth.
    statistic = Staged(network=GRIP2(**{**SMALL, "steps": 50}))
    assert statistic.draws_together(200, Layout(2, Units.single(10))) > 1
    together = statistic.importances(X, [Xk, other], y, rngs=[RNG(1), RNG(2)], task="classification")
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=RNG(k + 1), task="classification")
        np.testing.assert_allclose(together[k].W, alone.W, atol=1e-6)
        np.testing.assert_allclose(together[k].surface.activity, alone.surface.activity, atol=1e-5)
        np.testing.assert_allclose(together[k].loss_curve, alone.loss_curve, atol=1e-6)


def test_the_share_is_measured_where_the_range_is_given():
    X, Xk, noise = table(n=600)
    y = X[:, 0] ** 2 + 0.2 * noise
    statistic = Staged(EffectPosterior(curves=False), GRIP2((1e-3, 1e-2), hidden=16, depth=1, steps=1000))
    found = statistic.importance(X, Xk, y, rng=RNG(0))
    assert found.facts.calibration.lambda_rule == "given"
    assert found.facts.calibration.best_lambda is None
    effects, network = shares_of(found)
    assert network > effects + 0.1


def test_unequal_classes_give_the_network_no_credit():
    """A middle class of 80 %, weak linear signals: what the lasso finds is not drowned by a share the network has not earned."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 1500, 60))
    index = X[:, :12] @ np.full(12, 0.13) + rng.standard_normal(1500)
    y = np.digitize(index, np.quantile(index, [0.1, 0.9])).astype(float)
    for target in ("residual", "auto"):
        statistic = Staged(network=GRIP2(hidden=32, depth=1, steps=1000), target=target)
        found = statistic.importance(X, Xk, y, rng=RNG(0), task="classification")
        effects, network = shares_of(found)
        if target == "residual":
            assert network < 0.02
        assert network < effects + 0.02
        assert power(knockoff_threshold(found.W, 0.2) <= found.W, np.arange(60) < 12) >= 0.75
    shuffled = response_from(rng.permutation(y), "classification")
    noise = fit_linear_lasso(members_of(X, Xk).standardised(), shuffled, rng=RNG(0))
    predicted = np.exp(noise.logits) / np.exp(noise.logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predicted.mean(axis=0), [0.1, 0.8, 0.1], atol=0.01)


def test_a_range_that_kills_every_group_leaves_the_first_part_alone():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 800, 30))
    y = X[:, :8].sum(axis=1) + 2 * rng.standard_normal(800)
    statistic = Staged(network=GRIP2((50.0, 100.0), hidden=16, depth=1, steps=500))
    found = statistic.importance(X, Xk, y, rng=RNG(0))
    assert shares_of(found)[1] < 0.01
    assert power(knockoff_threshold(found.W, 0.2) <= found.W, np.arange(30) < 8) == 1


def interacting(n=1500, p=60, seed=6):
    """Six features with effects of their own, six that act with these only."""
    rng = RNG(seed)
    X, Xk = rng.standard_normal((2, n, p))
    signal = X[:, :6].sum(axis=1) + (X[:, :6] * X[:, 6:12]).sum(axis=1)
    return X, Xk, signal + 4 * rng.standard_normal(n), np.arange(p) < 12


def test_features_that_also_act_together_are_learned_as_a_whole():
    X, Xk, y, truth = interacting()
    found = Staged(EffectPosterior(interactions=False)).importance(X, Xk, y, rng=RNG(0))
    losses = found.facts.calibration.target_losses
    assert losses["response"] < losses["residual"]
    effects, network = shares_of(found)
    assert network > effects + 0.1
    assert found.facts.stages[1].target == "response"
    assert found.facts.stages[1].explains.startswith("any signal in the whole response")
    # Compiled code rounds differently on other processors: one or two of the twelve may fall below the threshold.
    assert power(knockoff_threshold(found.W, 0.1) <= found.W, truth) >= 10 / 12
    # Norms are told in units of the columns, whatever they were multiplied by.
    both = found.surface.activity.mean(axis=0).reshape(-1)
    assert np.argsort(-both)[:12].max() < 12


def test_pairs_are_left_to_the_first_part():
    X, Xk, y, truth = interacting()
    found = Staged().importance(X, Xk, y, rng=RNG(0))
    effects, network = shares_of(found)
    assert effects > 0.25
    assert network < 0.1
    assert power(knockoff_threshold(found.W, 0.1) <= found.W, truth) == 1


def test_sums_of_curves_are_left_to_the_first_part():
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 800, 40))
    y = np.abs(X[:, :12]).sum(axis=1) + 2 * rng.standard_normal(800)
    facts = Staged().importance(X, Xk, y, rng=RNG(0)).facts
    assert facts.stages[1].target == "residual"
    losses = facts.calibration.target_losses
    assert losses["residual"] < losses["response"] - 0.02
    blind = Staged(LassoCurves(), GRIP2(**SMALL)).importance(X, Xk, rng.standard_normal(800), rng=RNG(0))
    assert set(blind.facts.calibration.target_losses) == {"response"}, (
        "where nothing is found there is one thing to learn"
    )


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_what_the_network_learns_can_be_given(task):
    X, Xk, y, _ = interacting(n=1000, p=20)
    if task == "classification":
        y = np.digitize(y, np.quantile(y, [0.4, 0.8])).astype(float)
    for target in ("residual", "response"):
        statistic = Staged(EffectPosterior(interactions=False), GRIP2(hidden=16, depth=1, steps=800), target=target)
        found = statistic.importance(X, Xk, y, rng=RNG(0), task=task)
        assert list(found.facts.calibration.target_losses) == [target]
        assert found.facts.stages[1].target == target
        assert set(np.argsort(-found.W)[:6]) <= set(range(12))
        if target == "response":  # all of what the first stage sees, and more
            effects, network = shares_of(found)
            assert network > effects - 0.05


def test_batched_draws_that_learn_the_response_equal_single_ones(always_trained):
    """Each with columns scaled up by its own first stage: as alone."""
    X, Xk, y, _ = interacting(n=300, p=14)
    other = RNG(9).standard_normal(X.shape)
    statistic = Staged(network=GRIP2(hidden=8, depth=1, steps=100), target="response")
    assert statistic.draws_together(300, Layout(2, Units.single(14))) > 1
    together = statistic.importances(X, [Xk, other], y, rngs=[RNG(1), RNG(2)])
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=RNG(k + 1))
        np.testing.assert_allclose(together[k].W, alone.W, atol=2e-3)
        np.testing.assert_allclose(together[k].surface.activity, alone.surface.activity, atol=1e-4)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_no_choice_changes_when_pairs_are_swapped(monkeypatch, task):
    """Columns and their starting weights change places together: what is learned, scaled up and weighed is the same."""
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
        Z, layout = table_of(X, Xk, dtype=np.float32)
        statistic = Staged(network=GRIP2(hidden=8, depth=1, steps=200)).sized(500)
        return _choose(statistic, Z[:, places], layout, response_from(y, task), RNG(0), None)

    one, other = ready(np.arange(28)), ready(order)
    assert set(one.losses) == {"residual", "response"}
    assert one.target == other.target
    for name in ("residual", "response"):
        assert other.losses[name] == pytest.approx(one.losses[name], rel=1e-3)
    assert other.network_share == pytest.approx(one.network_share, abs=2e-3)
    assert other.rehearsal.best_lambda == pytest.approx(one.rehearsal.best_lambda)
    # Latent measurements of labels enter through sums in single precision: now and then a draw falls otherwise.
    within = 2e-3 if task == "regression" else 5e-3
    np.testing.assert_allclose(other.stage.unit_weights, one.stage.unit_weights, atol=within)
    np.testing.assert_allclose(other.stage.importance.ravel(), one.stage.importance.ravel()[order], atol=within)
    assert one.stage.unit_weights.max() > 0.5


@pytest.mark.filterwarnings("ignore:.*classes with fewer than 5 rows")
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(("n", "p"), [(2, 3), (3, 3), (5, 3), (3, 40)])
def test_a_handful_of_rows(n, p, task, monkeypatch):
    """The last table is too wide for the Gram matrices of the first stage, whose limits are lowered for it."""
    monkeypatch.setattr("grip2.statistics.effect_model.COLUMNS_MAX", 150)
    monkeypatch.setattr("grip2.statistics.curve_lasso.GRAM_COLUMNS_MAX", 100)
    X, Xk = RNG(0).standard_normal((2, n, p))
    y = np.arange(n) % 2.0 if task == "classification" else X[:, 0]
    found = Staged(network=GRIP2(hidden=2, depth=1, steps=30)).importance(X, Xk, y, rng=RNG(0), task=task)
    assert np.isfinite(found.W).all()


@pytest.mark.parametrize("omega", ["auto", "gradient_ratio"])
def test_progress_moves_all_the_time(monkeypatch, omega):
    monkeypatch.setattr("grip2.engine.host_loop.CHUNK_STEPS_MAX", 32)
    X, Xk, y, _ = interacting(n=200, p=14)
    seen = []
    statistic = Staged(network=GRIP2(omega, hidden=4, depth=1, steps=128))
    statistic.importance(X, Xk, y, rng=RNG(0), progress=lambda done, total: seen.append(done / total))
    assert len(seen) >= 50
    assert min(np.diff(seen)) >= 0
    assert max(np.diff([0, *seen])) < 0.25
    assert seen[-1] == 1


class RecordedEffects(EffectPosterior):
    """`EffectPosterior` that keeps its fits."""

    def fit_stage(self, Z, layout, response, *, rng, fit_rows=None, progress=None):
        fit = super().fit_stage(Z, layout, response, rng=rng, fit_rows=fit_rows)
        FITS.append((fit_rows, fit))
        return fit


FITS = []


def naive_total(first, network, share_first, share_network, factors):
    """The combination, column by column, from importances and shares."""
    p = len(first) // 2
    total = []
    for column in range(2 * p):
        value = 0.0
        for importance, share in ((first, share_first), (network * factors, share_network)):
            value += share * importance[column] / sum(abs(importance[j] - importance[j + p]) for j in range(p))
        total.append(value)
    return np.array(total)


@pytest.mark.parametrize("target", ["residual", "response"])
@pytest.mark.parametrize("classes", [None, 2, 3])
def test_importances_are_those_of_the_naive_twin(monkeypatch, always_trained, target, classes):
    """From the recorded stage and the trained network: what it was given to learn, and both importances added by share."""
    X, Xk, y, _ = interacting(n=400, p=14)
    y += 2 * X[:, :6].sum(axis=1)
    task = "regression" if classes is None else "classification"
    if classes is not None:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    response = response_from(y, task)
    trained = []
    original = network_runs.train

    def recorded(x, learned, **settings):
        run = original(x, learned, **settings)
        trained.append((x, learned, run))
        return run

    monkeypatch.setattr(network_runs, "train", recorded)
    FITS.clear()
    statistic = Staged(RecordedEffects(), GRIP2(**SMALL), target=target).sized(400)
    found = statistic._importance(members_of(X, Xk), response, rng=RNG(0), progress=None)
    (kept, rehearsal), (every, whole) = FITS
    assert every is None
    [(x, learned, run)] = trained
    # The first stage's share: of the loss of a constant, on the rows that it was not fitted to.
    held_out = np.setdiff1d(np.arange(400), kept)
    assert len(held_out) == 80
    judged = response.take(held_out)
    if classes is None:
        left = np.mean((rehearsal.response.y[held_out] * rehearsal.scale) ** 2)
    else:
        left = judged.mean_loss(rehearsal.logits[held_out])
    constant = response.take(kept).constant_outputs(prior_rows=1.0)  # of the rows fitted
    share = max(0.0, 1 - left / judged.mean_loss(constant))
    effects, network = shares_of(found)
    assert effects == pytest.approx(share)
    assert share > 0.02
    calibration = found.facts.calibration
    explained = max(0.0, 1 - calibration.held_out_loss / calibration.null_loss)
    assert network == pytest.approx(explained * ((1 - share) if target == "residual" else 1.0))
    # What the network learns.
    Z, factors = members_of(X, Xk).standardised(np.float32), np.ones(28)
    if target == "response":
        factors = np.tile(1 + whole.unit_weights, 2)
        np.testing.assert_array_equal(learned.y, response.y)
        if classes is not None:  # the shares of classes are known
            np.testing.assert_allclose(learned.logits, np.tile(response.constant_outputs(), (400, 1)))
    else:
        np.testing.assert_array_equal(learned.y, whole.response.y)
        if classes is not None:
            np.testing.assert_array_equal(learned.logits, whole.logits)
    if classes is None:
        assert learned.logits is None
    np.testing.assert_allclose(x, Z * factors, rtol=1e-6)
    expected = naive_total(whole.importance.ravel(), run.importance, effects, network, factors)
    np.testing.assert_allclose(found.scores.ravel(), expected, rtol=1e-6)
    np.testing.assert_allclose(found.surface.activity[:, 0], run.snapshots[:, :14] * factors[:14], rtol=1e-5)


def test_swapped_pairs_swap_W(monkeypatch):
    """Columns and their starting weights change places: W changes sign for these pairs and nothing else moves."""
    X, Xk, y, _ = interacting(n=400, p=14)
    swapped = RNG(3).random(14) < 0.5
    here, there = np.arange(14), np.arange(14, 28)
    order = np.concatenate([np.where(swapped, there, here), np.where(swapped, here, there)])
    engine, start = importlib.import_module("grip2.engine.train"), initialise

    def W(places):
        def moved(*args, rng):
            first, *rest = start(*args, rng=rng)
            return (first._replace(weight=first.weight[places]), *rest)

        monkeypatch.setattr(engine, "initialise", moved)
        A, B = np.split(np.hstack([X, Xk])[:, places], 2, axis=1)
        statistic = Staged(network=GRIP2(hidden=8, depth=1, steps=200)).sized(400)
        return statistic._importance(members_of(A, B), response_from(y, "regression"), rng=RNG(0), progress=None).W

    plain, other = W(np.arange(28)), W(order)
    np.testing.assert_allclose(np.where(swapped, -other, other), plain, atol=1e-3)
    assert np.sort(np.abs(plain))[-6:].min() > 0.02


def units_with_effects(copies, seed=0):
    """Eight units of two or three columns, the first straight, the second with a curve, and independent copies."""
    rng = RNG([seed, 4])
    units = Units(np.repeat(np.arange(8), [3, 2] * 4))
    X, *Xks = rng.standard_normal((1 + copies, 400, 20))
    y = X[:, 0] + X[:, 2] + 1.5 * np.abs(X[:, 3]) + 0.5 * rng.standard_normal(400)
    return X, np.array(Xks), y, units


@pytest.mark.parametrize("first", [EffectPosterior(sweeps=100), LassoCurves()])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_copies_and_units(always_trained, first, task):
    X, Xks, y, units = units_with_effects(copies=3)
    if task == "classification":
        y = (y > np.median(y)).astype(float)
    statistic = Staged(first, GRIP2(**{**SMALL, "steps": 100}))
    found = statistic.importance(X, Xks, y, rng=RNG(0), task=task, units=units)
    assert found.scores.shape == (4, 8)
    assert set(np.argsort(-found.W)[:2]) == {0, 1}
    assert found.surface.activity.shape[1:] == (4, 8)
    assert shares_of(found)[0] > 0.1


@pytest.mark.parametrize("copies", [1, 2])
def test_units_of_one_column_are_single_columns(copies):
    X, Xks, y, _ = units_with_effects(copies)
    statistic = Staged(EffectPosterior(sweeps=20), GRIP2(**{**SMALL, "steps": 40}))
    single = statistic.importance(X, Xks, y, rng=RNG(0))
    named = statistic.importance(X, Xks, y, rng=RNG(0), units=Units(np.arange(20)))
    np.testing.assert_array_equal(named.scores, single.scores)


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (
            Staged("effects"),
            r"Staged: first must be a stage such as EffectPosterior\(\) or LassoCurves\(\), got 'effects'",
        ),
        (Staged(LassoCoefficient()), "Staged: first must be a stage"),
        (Staged(network=EffectPosterior()), r"Staged: network must be GRIP2\(\) or one of its ablations"),
        (Staged(target="rest"), "Staged: target must be one of auto, residual, response, got 'rest'"),
        (Staged(network=GRIP2(steps=0)), "GRIP2: steps must be a whole number of at least 1"),
        (Staged(EffectPosterior(sweeps=0)), "EffectPosterior: sweeps must be a whole number"),
    ],
)
def test_bad_settings_are_refused(statistic, message):
    X = RNG(0).standard_normal((50, 2))
    with pytest.raises(Grip2Error, match=message):
        statistic.importance(X, X[::-1], X[:, 0], rng=RNG(0))


@pytest.mark.parametrize("setting", ["linear", "curves", "learns"])
def test_old_settings_of_the_network_name_the_new_spelling(setting):
    with pytest.raises(Grip2Error, match=rf"GRIP2: {setting} is no setting of the network any more.*Staged\("):
        GRIP2(**{setting: None})
