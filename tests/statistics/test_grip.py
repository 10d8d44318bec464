"""GRIP2 and its ablations: the paper's settings, calibration, and what they find."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.calibrate import calibrate_block_size, calibrate_gradient_ratio, calibrate_held_out
from grip2.engine.schedule import Schedule
from grip2.engine.train import TrainingConfig
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import power
from grip2.statistics import GRIP1, GRIP2, GRIP1a, GroupLasso
from grip2.statistics.augmented import paired_inputs, response

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
    found = GRIP2((1e-3, 1e-1), hidden=2, depth=1, steps=100, block_size=10, linear=None).importance(
        X, Xk, y, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.original, found.surface.original.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.knockoff, found.surface.knockoff.mean(axis=0), rtol=1e-6)
    assert found.surface.original.shape == (10, 20)
    assert found.info["stop_reason"] == "all blocks done"
    assert len(found.info["loss_curve"]) == 100


def test_paper_settings():
    synthetic, semireal, hiv = (GRIP2.paper(name) for name in ("synthetic", "semireal", "hiv"))
    assert synthetic.omega == (1e-4, 1e-1)
    assert (synthetic.depth, synthetic.hidden, synthetic.steps, synthetic.block_size) == (3, 512, 5000, 25)
    assert semireal.omega == (1.0, 100.0)
    assert (semireal.steps, semireal.deep_l2, semireal.block_size) == (10_000, 1e-7, 25)
    assert hiv.omega == (1e-3, 4e-2)
    assert (hiv.depth, hiv.hidden, hiv.batch_size, hiv.deep_l2, hiv.block_size) == (1, 1, None, 1e-2, 50)
    assert all(preset.learning_rate == 1e-3 and preset.a_min == 0.1 for preset in (synthetic, semireal, hiv))
    assert isinstance(GRIP1.paper("hiv"), GRIP1)
    with pytest.raises(ValueError, match="setting must be one of"):
        GRIP2.paper("other")


def test_inputs_are_standardised_inside():
    """Scale and shift of columns and of y do not matter, up to rounding: needed for 0/1 columns to have power."""
    X, Xk, y = data(n=80, p=6)
    scale, shift = np.array([1, 10, 0.1, 5, 2, 3.0]), np.arange(6.0)
    statistic = GRIP2((1e-3, 1e-1), hidden=2, depth=1, steps=40, block_size=10)
    plain = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    moved = statistic.importance(X * scale + shift, Xk * scale + shift, 7 * y - 3, rng=np.random.default_rng(0))
    np.testing.assert_allclose(moved.original, plain.original, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("omega", ["auto", "gradient_ratio"])
def test_calibration_does_not_change_when_pairs_are_swapped(omega):
    """Swapping pairs permutes the columns of [X, Xk]; so does swapping the starting weights: the choice is the same.

    The columns are moved together with their starting weights, by calibrating on permuted columns with permuted weights.
    """
    X, Xk, y = data(n=300, p=10)
    Z, target = paired_inputs(X, Xk), response(y, "regression")
    swapped = np.random.default_rng(5).random(10) < 0.5
    order = np.concatenate([np.where(swapped, np.arange(10, 20), np.arange(10)),
                            np.where(swapped, np.arange(10), np.arange(10, 20))])  # fmt: skip
    config = TrainingConfig(schedule=Schedule(), hidden=8, depth=1, steps=500, batch_size=64, precision="float64")

    def choose(inputs, monkey_order):
        import grip2.engine.train as engine
        from grip2.engine.mlp import Layer, initialise

        def permuted(*args, rng):
            first, *rest = initialise(*args, rng=rng)
            return (Layer(first.weight[monkey_order], first.bias), *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "initialise", permuted)
            if omega == "auto":
                return calibrate_held_out(
                    inputs, target, task="regression", config=config, rng=np.random.default_rng(0)
                )[0].lambda_min
            return calibrate_gradient_ratio(
                inputs,
                target,
                task="regression",
                config=config,
                rng=np.random.default_rng(0),
                ratio=(0.01, 0.2),
            )[0][0]

    assert choose(Z, np.arange(20)) == pytest.approx(choose(Z[:, order], order), rel=1e-5)


def test_gradient_ratio_gives_that_ratio():
    """At the pilot network the penalty at lambda_max has r_max times the gradient of the loss, averaged over a."""
    X, Xk, y = data(n=300, p=10)
    Z, target = paired_inputs(X, Xk), response(y, "regression")
    config = TrainingConfig(schedule=Schedule(a_min=1.0), hidden=8, depth=1, batch_size=None)
    (lo, hi), info = calibrate_gradient_ratio(
        Z, target, task="regression", config=config, rng=np.random.default_rng(0), ratio=(0.01, 0.2)
    )
    assert hi / lo == pytest.approx(20)
    assert info["ratio"] == (0.01, 0.2)
    # With a = 1 the penalty's gradient has unit rows, so its norm is sqrt(20) and the loss gradient is known from it.
    from tests.naive.training import loss_gradient

    from grip2.engine.train import train

    pilot = TrainingConfig(
        schedule=Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=500),
        hidden=8, depth=1, batch_size=None, steps=500,
    )  # fmt: skip
    run = train(Z, target, task="regression", config=pilot, rng=np.random.default_rng(0))
    _, gradients = loss_gradient("mean_squared_error", run.parameters, Z, target)
    assert hi == pytest.approx(0.2 * np.linalg.norm(gradients[0][0]) / np.sqrt(20), rel=1e-2)


def test_block_size_rule():
    X, Xk, y = data(n=300, p=10)
    Z, target = paired_inputs(X, Xk), response(y, "regression")
    config = TrainingConfig(schedule=Schedule(lambda_min=1e-3, lambda_max=1e-2), hidden=8, depth=1, batch_size=None)

    def rule(tolerance):
        return calibrate_block_size(
            Z, target, task="regression", config=config, rng=np.random.default_rng(0), tolerance=tolerance
        )

    sizes = [rule(tolerance)[0] for tolerance in (1.0, 0.05)]
    with pytest.warns(UserWarning, match="still moving after 200 updates"):
        sizes.append(rule(1e-9)[0])
    assert sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[0] == 6, "with a generous delta the first five updates already count as sustained"
    assert sizes[2] == 200, "with an impossible delta the longest block is taken"
    assert rule(1.0)[1]["rule"] == "pilot run"


def test_automatic_settings_are_reported():
    X, Xk, y = data()
    statistic = GRIP2(hidden=8, steps=500, block_size="auto", block_tolerance=0.5, linear=None)
    found = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
    chosen = found.info["chosen"]
    assert chosen["omega"]["rule"] == "held-out prediction"
    assert chosen["omega"]["held_out_loss"] < chosen["omega"]["null_loss"]
    used = found.info["training"]["schedule"]
    assert used["lambda_min"] == pytest.approx(chosen["omega"]["best_lambda"])
    assert used["block_size"] == chosen["block_size"]["block_size"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"omega": "best"}, "omega must be 'auto'"),
        ({"omega": (0.1, 0.01)}, "lambda_min <= lambda_max"),
        ({"omega": 0.1}, "a pair"),
        ({"omega": ("low", "high")}, "a pair"),
        ({"omega": (0.01, 0.1), "steps": 60.0}, "steps must be a whole number"),
        ({"block_size": "long"}, "block_size must be a whole number of at least 1 or None or 'auto'"),
        ({"omega": (0.01, 0.1), "hidden": 0}, "hidden"),
        ({"omega": "gradient_ratio", "gradient_ratio": (0.2, 0.1)}, "r_min < r_max"),
        ({"linear": "ridge"}, "linear must be 'posterior', 'lasso' or None"),
        ({"learns": "all"}, "learns must be one of auto, rest, response, got 'all'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    X, Xk, y = data(n=50)
    with pytest.raises(ValueError, match=message):
        GRIP2(**settings).importance(X, Xk, y, rng=np.random.default_rng(0))


def test_default_finds_a_signal_linear_methods_cannot_see():
    """2,000 rows, 12 of 40 features as absolute values, variance of signal and noise equal: power at least 0.8."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 40))
    Xk = rng.standard_normal((2000, 40))
    signal = np.abs(X[:, :12]).sum(axis=1)
    y = signal + signal.std() * rng.standard_normal(2000)
    W = GRIP2().importance(X, Xk, y, rng=np.random.default_rng(0)).W
    assert power(knockoff_threshold(W, 0.2) <= W, np.arange(40) < 12) >= 0.8


def test_every_draw_is_calibrated_on_its_own_table():
    """A strength chosen on one knockoff copy is not symmetric in the pairs of another, so copies never share it."""
    X, Xk, y = data(n=150, p=8)
    other = data(n=150, p=8, seed=1)[1]
    statistic = GRIP2(hidden=4, depth=1, steps=300, batch_size=None)
    together = statistic.importances(X, [Xk, other], y, rngs=[np.random.default_rng(k) for k in (1, 2)])
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=np.random.default_rng(k + 1))
        assert together[k].info["chosen"]["omega"]["lambda"] == pytest.approx(alone.info["chosen"]["omega"]["lambda"])
        np.testing.assert_allclose(together[k].W, alone.W, atol=2e-3)


def test_progress_covers_calibration():
    X, Xk, y = data(n=100)
    seen = []
    GRIP2(hidden=4, depth=1, steps=300, batch_size=None).importance(
        X, Xk, y, rng=np.random.default_rng(0), progress=lambda *at: seen.append(at)
    )
    # Two rehearsals, of what is left and of the whole response, and the run itself.
    assert seen == [(300, 900), (600, 900), (900, 900)]


def test_a_class_that_is_only_held_out_is_an_ordinary_case():
    """One row of a third class: wherever the split puts it, the chosen strength comes from a finite loss."""
    X, Xk, _ = data(n=60, p=5)
    y = (X[:, 0] > 0).astype(float)
    y[7] = 2.0
    for seed in range(6):
        found = GRIP2(hidden=4, depth=1, steps=200, batch_size=None).importance(
            X, Xk, y, rng=np.random.default_rng(seed), task="classification"
        )
        assert np.isfinite(found.info["chosen"]["omega"]["held_out_loss"])
