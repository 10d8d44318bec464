"""The range of lambda: the same for exchanged members, the ratio that was asked for, and one choice for every knockoff draw."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.training import loss_gradient, penalty_gradient

import grip2.engine.train as engine
from grip2.engine.mlp import Layer, initialise
from grip2.engine.schedule import Schedule
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.responses import Measurement
from grip2.statistics import GRIP2
from grip2.statistics.held_out import NetworkProblem
from grip2.statistics.lambda_range import LambdaRange, by_gradient_ratio
from grip2.symmetry import Members
from grip2.units import Layout, Units

RATIO = (0.01, 0.2)


@pytest.fixture(scope="module")
def problem() -> NetworkProblem:
    """300 rows, 10 pairs of independent columns, 5 signals."""
    rng = np.random.default_rng([0, 7])
    X, Xk = rng.standard_normal((2, 300, 10))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(300)
    members = Members((X, Xk), Units.single(10))
    return NetworkProblem(members.standardised(), members.layout, Measurement.encode(y, "test"))


# Ten columns as six units, one of them of four columns and one of two.
UNITS = Units(np.array([0, 1, 0, 2, 0, 3, 0, 4, 5, 5]))


@pytest.mark.parametrize("units", [Units.single(10), UNITS])
@pytest.mark.parametrize("omega", ["auto", "gradient_ratio"])
def test_the_range_does_not_change_when_members_are_exchanged(problem, omega, units):
    """That permutes the columns of the table; if the starting weights are permuted too, the range is the same."""
    problem = problem._replace(layout=Layout(2, units))
    swapped = (np.random.default_rng(5).random(len(units)) < 0.5)[units.of_column]
    order = np.concatenate([np.where(swapped, np.arange(10, 20), np.arange(10)),
                            np.where(swapped, np.arange(10), np.arange(10, 20))])  # fmt: skip
    config = TrainingConfig(schedule=Schedule(), hidden=8, depth=1, steps=500, batch_size=64, precision="float64")

    def choose(columns: np.ndarray) -> float:
        def permuted(*sizes, rng):
            first, *rest = initialise(*sizes, rng=rng)
            return (Layer(first.weight[columns], first.bias), *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "initialise", permuted)
            found = LambdaRange(omega, RATIO).rehearse(
                problem._replace(x=problem.x[:, columns]), config=config, rng=np.random.default_rng(0), judged=False
            )
        return found.schedule.lambda_min

    assert choose(np.arange(20)) == pytest.approx(choose(order), rel=1e-5)


def test_gradient_ratio_gives_that_ratio(problem):
    """At the pilot network the penalty at lambda_max has r_max times the gradient of the loss, averaged over a."""
    config = TrainingConfig(schedule=Schedule(a_min=1.0), hidden=8, depth=1, batch_size=None)
    lo, hi = by_gradient_ratio(problem, config=config, rng=np.random.default_rng(0), ratio=RATIO)
    assert hi / lo == pytest.approx(20)
    # With a = 1 the penalty's gradient has unit rows, so its norm is sqrt(20) and the loss gradient is known from it.
    pilot = TrainingConfig(
        schedule=Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=500),
        hidden=8, depth=1, batch_size=None, steps=500,
    )  # fmt: skip
    run = train(problem.x, problem.target, config=pilot, rng=np.random.default_rng(0))
    _, gradients = loss_gradient("Measurement", run.parameters, problem.x, problem.response.y)
    assert hi == pytest.approx(0.2 * np.linalg.norm(gradients[0][0]) / np.sqrt(20), rel=1e-2)


def test_gradient_ratio_of_units(problem):
    """The penalty's gradient is that over units; the mean over a is geometric, on ten values from a_min to 1."""
    given = problem._replace(layout=Layout(2, UNITS))
    config = TrainingConfig(schedule=Schedule(a_min=0.2), hidden=8, depth=1, batch_size=None)
    chosen, columns = (
        by_gradient_ratio(one, config=config, rng=np.random.default_rng(0), ratio=RATIO)[1] for one in (given, problem)
    )
    unpenalised = Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=500)
    pilot = TrainingConfig(schedule=unpenalised, hidden=8, depth=1, batch_size=None, steps=500)
    weight = train(problem.x, problem.target, config=pilot, rng=np.random.default_rng(0)).parameters[0].weight
    of_units, of_columns = (
        np.mean(
            [np.log(np.linalg.norm(penalty_gradient(weight, 1.0, a, 1e-8, numbers))) for a in np.linspace(0.2, 1, 10)]
        )
        for numbers in (given.layout.groups, None)
    )
    assert chosen / columns == pytest.approx(np.exp(of_columns - of_units), rel=1e-3)
    assert abs(chosen / columns - 1) > 0.01, "the test would not notice a rule for columns"


@pytest.mark.parametrize("omega", ["auto", "gradient_ratio", (1e-2, 1e-1)])
def test_rules_and_their_steps_are_reported(problem, omega):
    """A range that is given or follows the ratio is judged on held-out rows only where someone asks for it."""
    config = GRIP2(omega, hidden=8, depth=1, steps=500, batch_size=64, block_size=25, deep_l2=0.0).config()
    rules = {"auto": "held-out prediction", "gradient_ratio": "gradient ratio"}
    of_ratio = 500 if omega == "gradient_ratio" else 0
    choice = LambdaRange(omega, RATIO)
    for judged in (False, True):
        found = choice.rehearse(problem, config=config, rng=np.random.default_rng(0), judged=judged)
        assert found.rule == rules.get(omega, "given")
        assert (found.best_lambda is not None) == (omega == "auto")
        assert choice.steps(500, judged=judged) == of_ratio + (500 if judged or omega == "auto" else 0)
        if not judged and omega != "auto":
            assert found.loss is None
        else:
            assert found.share == pytest.approx(max(0.0, 1 - found.loss / found.null_loss))
            assert found.useful_loss == min(found.loss, found.null_loss)
    if isinstance(omega, tuple):
        assert (found.schedule.lambda_min, found.schedule.lambda_max) == omega


def test_every_draw_is_calibrated_on_its_own_table():
    """A strength chosen on one knockoff copy is not symmetric in the members of another, so copies never share it."""
    X, Xk, other = np.random.default_rng([0, 7]).standard_normal((3, 150, 8))
    y = X[:, :5].sum(axis=1) + np.random.default_rng(1).standard_normal(150)
    statistic = GRIP2(hidden=4, depth=1, steps=300, batch_size=None)
    together = statistic.importances(X, [Xk, other], y, rngs=[np.random.default_rng(k) for k in (1, 2)])
    for k, copy in enumerate((Xk, other)):
        alone = statistic.importance(X, copy, y, rng=np.random.default_rng(k + 1))
        found, expected = (one.facts.training for one in (together[k], alone))
        assert found.lambda_min == pytest.approx(expected.lambda_min)
        assert found.lambda_max == pytest.approx(expected.lambda_max)
        np.testing.assert_allclose(together[k].W, alone.W, atol=2e-3)


@pytest.mark.parametrize("ratio", [(0.2, 0.1), (0.0, 0.1)])
def test_bad_ratios_are_refused_before_anything_is_trained(ratio):
    with pytest.raises(Grip2Error, match="GRIP2: gradient_ratio must satisfy 0 < r_min < r_max"):
        GRIP2("gradient_ratio", gradient_ratio=ratio).sized(100)
