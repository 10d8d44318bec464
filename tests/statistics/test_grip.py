"""GRIP2 and its ablations: what moves, what is averaged, what they find, and which settings are refused."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.errors import Grip2Error
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import power
from grip2.statistics import GRIP1, GRIP2, EffectPosterior, GRIP1a, GroupLasso, Staged
from grip2.statistics.staged import FIRST_STAGE_STEPS
from grip2.units import Units

FAMILY = [GRIP2, GRIP1, GRIP1a, GroupLasso]


def data(n=400, p=20, k=5, seed=0):
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((n, p))
    Xk = GaussianKnockoffs(np.zeros(p), np.eye(p)).fit(X).sample(X, rng=rng)
    return X, Xk, X[:, :k].sum(axis=1) + rng.standard_normal(n)


@pytest.mark.parametrize("method", FAMILY)
def test_each_finds_an_easy_signal(method):
    X, Xk, y = data()
    statistic = method((1e-2, 1e-1), hidden=16, depth=1, steps=1000, batch_size=64)
    W = statistic.importance(X, Xk, y, rng=np.random.default_rng(0)).W
    assert set(np.argsort(-W)[:5]) == set(range(5))


@pytest.mark.parametrize(
    ("method", "moves"),
    [(GRIP2, (True, True)), (GRIP1, (True, False)), (GRIP1a, (False, True)), (GroupLasso, (False, False))],
)
def test_which_of_lambda_and_a_moves(method, moves):
    X, Xk, y = data(n=60)
    surface = (
        method((1e-3, 1e-1), hidden=2, depth=1, steps=100, block_size=10)
        .importance(X, Xk, y, rng=np.random.default_rng(0))
        .surface
    )
    assert ((len(np.unique(surface.lambda_)) > 1), (len(np.unique(surface.a)) > 1)) == moves
    if not moves[0]:
        np.testing.assert_allclose(surface.lambda_, 1e-2)
    if not moves[1]:
        np.testing.assert_allclose(surface.a, 1.0)


def test_importance_is_the_mean_over_the_surface():
    X, Xk, y = data(n=60)
    statistic = GRIP2((1e-3, 1e-1), hidden=2, depth=1, steps=100, block_size=10)
    found = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.original, found.surface.original.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.knockoff, found.surface.knockoff.mean(axis=0), rtol=1e-6)
    assert found.surface.original.shape == (10, 20)
    assert found.surface.gradient_ratio.shape == (10,)
    assert found.facts.training.stop_reason == "all blocks done"
    assert len(found.loss_curve) == 100


def test_units_and_copies():
    """Scores are means over the surface of the norms of all members of all units; several draws as one batch agree."""
    rng = np.random.default_rng(0)
    X, first, second = rng.standard_normal((60, 5)), *rng.standard_normal((2, 3, 60, 5))
    units = Units(np.array([0, 1, 0, 2, 1]))
    statistic = GRIP2((1e-3, 1e-1), hidden=2, depth=1, steps=100, block_size=10)
    rngs = [np.random.default_rng(k) for k in (1, 2)]
    found = statistic.importances(X, [first, second], X[:, 0] + X[:, 3], rngs=rngs, units=units)
    for k, Xk in enumerate((first, second)):
        alone = statistic.importance(X, Xk, X[:, 0] + X[:, 3], rng=np.random.default_rng(k + 1), units=units)
        assert alone.scores.shape == (4, 3)
        assert alone.surface.activity.shape == (10, 4, 3)
        np.testing.assert_allclose(alone.scores, alone.surface.activity.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(found[k].scores, alone.scores, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("method", FAMILY)
def test_each_finds_units_that_act(method):
    """Six units of three columns, of which two act by one column each and one by all three; three copies."""
    rng = np.random.default_rng(3)
    X, copies = rng.standard_normal((400, 18)), rng.standard_normal((3, 400, 18))
    y = X[:, 0] + X[:, 4] + X[:, 6:9].sum(axis=1) / np.sqrt(3) + rng.standard_normal(400)
    statistic = method((1e-2, 1e-1), hidden=16, depth=1, steps=1000, batch_size=64)
    scores = statistic.importance(X, copies, y, rng=rng, units=Units(np.repeat(np.arange(6), 3))).scores
    assert (scores[:, :3].argmax(axis=0) == 0).all()
    assert scores[0, :3].min() > 2 * max(scores[1:, :3].max(), scores[:, 3:].max())


def test_inputs_are_standardised_inside():
    """Scale and shift of columns and of y do not matter, up to rounding: needed for 0/1 columns to have power."""
    X, Xk, y = data(n=60)
    scale, shift = np.linspace(0.1, 10, 20), np.arange(20.0)
    statistic = GRIP2((1e-3, 1e-1), hidden=2, depth=1, steps=40, block_size=10)
    plain = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    moved = statistic.importance(X * scale + shift, Xk * scale + shift, 7 * y - 3, rng=np.random.default_rng(0))
    np.testing.assert_allclose(moved.original, plain.original, rtol=1e-3, atol=1e-5)


def test_automatic_settings_are_reported():
    X, Xk, y = data()
    statistic = GRIP2(hidden=8, steps=500, block_size="pilot", block_tolerance=0.5)
    facts = statistic.importance(X, Xk, y, rng=np.random.default_rng(0)).facts
    assert facts.calibration.lambda_rule == "held-out prediction"
    assert facts.calibration.held_out_loss < facts.calibration.null_loss
    assert facts.training.lambda_min == pytest.approx(facts.calibration.best_lambda)
    assert facts.calibration.block_rule == "pilot run"
    assert 6 <= facts.training.block_size <= 50
    assert facts.stages == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"omega": "best"}, "omega must be 'auto'"),
        ({"omega": (0.1, 0.01)}, "lambda_min <= lambda_max"),
        ({"omega": 0.1}, "a pair"),
        ({"omega": ("low", "high")}, "a pair"),
        ({"omega": (0.01, 0.1), "steps": 60.0}, "steps must be a whole number"),
        ({"block_size": "long"}, "block_size must be a whole number of at least 1, 'auto'"),
        ({"omega": (0.01, 0.1), "hidden": 0}, "hidden"),
        ({"omega": "gradient_ratio", "gradient_ratio": (0.2, 0.1)}, "r_min < r_max"),
        ({"warmup": 1.5}, "warmup must be a whole number"),
        ({"deep_l2": "none"}, "deep_l2 must be a number or 'auto'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    X, Xk, y = data(n=50)
    with pytest.raises(Grip2Error, match=message):
        GRIP2(**settings).importance(X, Xk, y, rng=np.random.default_rng(0))


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"linear": "lasso"}, r"Staged\(first=EffectPosterior\(\), network=GRIP2\(\)\)"),
        ({"linear": None}, r"Staged\(first=EffectPosterior\(\), network=GRIP2\(\)\)"),
        ({"curves": False}, r"Staged\(first=EffectPosterior\(curves=\.\.\.\)\)"),
        ({"learns": "rest"}, r"Staged\(target='residual' or 'response'\)"),
    ],
)
def test_old_spellings_name_the_new_one(method, old, new):
    with pytest.raises(Grip2Error, match=rf"^{method.__name__}: {next(iter(old))} is no setting.*{new}"):
        method(**old)


def test_unknown_keywords_are_type_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'lineer'"):
        GRIP2(lineer="lasso")


@pytest.mark.parametrize(("old", "new"), [("PairPosterior", "EffectPosterior"), ("Nothing", "RandomScores")])
def test_old_names_of_statistics_name_the_new_one(old, new):
    with pytest.raises(ImportError, match=f"{old} is now called {new}"):
        exec(f"from grip2.statistics import {old}")


def test_default_finds_a_signal_linear_methods_cannot_see():
    """2,000 rows, 12 of 40 features as absolute values, variance of signal and noise equal: power at least 0.8."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 40))
    Xk = rng.standard_normal((2000, 40))
    signal = np.abs(X[:, :12]).sum(axis=1)
    y = signal + signal.std() * rng.standard_normal(2000)
    W = Staged().importance(X, Xk, y, rng=np.random.default_rng(0)).W
    assert power(knockoff_threshold(W, 0.2) <= W, np.arange(40) < 12) >= 0.8


@pytest.mark.parametrize(("staged", "rehearsals"), [(False, 1), (True, 2)])
def test_progress_covers_calibration(monkeypatch, staged, rehearsals):
    """One rehearsal of the network alone; of `Staged` two, of what is left and of the whole response; then the run itself.

    The first stage of `Staged`, which reports every round of its chains, is fitted beside the rehearsals.
    """
    # So few rows do not show that the network adds anything.
    monkeypatch.setattr("grip2.statistics.staged._Choice.network_adds", True)
    X, Xk, y = data(n=60)
    seen = []
    network = GRIP2(hidden=4, depth=1, steps=300, batch_size=None)
    statistic = Staged(network=network) if staged else network
    statistic.importance(X, Xk, y, rng=np.random.default_rng(0), progress=lambda *at: seen.append(at))
    before = FIRST_STAGE_STEPS if staged else 0
    total = before + 300 * (rehearsals + 1)
    of_network = [at for at in seen if at[0] > total - 300]
    assert of_network == [(total, total)]
    done = [at[0] for at in seen]
    assert done == sorted(done)
    if staged:
        assert len(seen) > 100
        assert total - 300 in done
    else:
        assert seen == [(300, 600), (600, 600)]


@pytest.mark.filterwarnings("ignore:.*classes with fewer than 5 rows:UserWarning")
@pytest.mark.parametrize("staged", [False, True])
def test_a_class_that_is_only_held_out_is_an_ordinary_case(staged):
    """One row of a third class: wherever the split puts it, the chosen strength comes from a finite loss."""
    X, Xk, measured = data(n=60, p=5)
    y = (measured > 0).astype(float)
    y[7] = 2.0
    network = GRIP2(hidden=4, depth=1, steps=200, batch_size=None)
    statistic = Staged(EffectPosterior(sweeps=50), network) if staged else network
    for seed in range(2 if staged else 6):
        found = statistic.importance(X, Xk, y, rng=np.random.default_rng(seed), task="classification")
        assert np.isfinite(found.facts.calibration.held_out_loss)
