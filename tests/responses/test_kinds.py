"""Kinds of response: each against formulas by hand, and that a new kind is one class."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from grip2 import responses
from grip2.errors import Grip2Error
from grip2.responses import (
    Counts,
    Measurement,
    OrderedClasses,
    Response,
    SeveralClasses,
    Survival,
    TwoClasses,
    recognition,
    response_from,
    times_and_events,
)
from grip2.standardise import standardise
from grip2.statistics import GRIP2, MALD, EffectPosterior, LassoCoefficient, Staged

RNG = np.random.default_rng


@dataclass(frozen=True, eq=False)
class Rates(Response):
    """Positive amounts with exponential noise; minus the log-likelihood ratio, 0 for a perfect prediction."""

    task = "rates"
    noun = "rates"
    explained_is = "deviance"
    estimator_type = "regressor"
    linear_model = "likelihood"
    leaves_residual = False
    gaussian_noise = False

    @classmethod
    def recognises(cls, values, *, asked):
        return asked

    @classmethod
    def encode(cls, values, who):
        if np.any(values <= 0):
            raise Grip2Error(f"{who}: rates must be positive, got {values.min()!r}.")
        return cls(values.astype(float))

    @property
    def n_outputs(self):
        return 1

    @staticmethod
    def loss(outputs, y, xp):
        ratio = xp.log(y) - outputs[:, 0]
        return xp.mean(xp.exp(ratio) - 1.0 - ratio)

    def constant_outputs(self, prior_rows=0.0):
        return np.log([(self.y.sum() + prior_rows) / (len(self.y) + prior_rows)])

    def mean_of(self, outputs):
        return np.exp(outputs)

    def working_residual(self, outputs):
        return self.y[:, None] * np.exp(-outputs) - 1.0

    def curvature(self, outputs):
        return self.y[:, None] * np.exp(-outputs)

    def indicators(self):
        return self.y[:, None]

    def describe(self):
        return self.noun


def row_loss(response, row, k):
    """The loss of row k by the formula of its kind."""
    kind, value = type(response), response.y[k]
    if kind is Measurement:
        return (row[0] - value) ** 2
    if kind is TwoClasses:
        chance = 1 / (1 + np.exp(-row[0]))
        return -np.log(chance if value == 1 else 1 - chance)
    if kind is SeveralClasses:
        return -np.log(np.exp(row[int(value)]) / np.exp(row).sum())
    if kind is Counts:
        perfect = minus_log_likelihood(value, value, response.dispersion) if value else 0.0
        return minus_log_likelihood(value, response.base * np.exp(row[0]), response.dispersion) - perfect
    if kind is OrderedClasses:
        up_to = [0.0, *(1 / (1 + np.exp(row[0] - t)) for t in response.thresholds[1:-1]), 1.0]
        return -np.log(up_to[int(value) + 1] - up_to[int(value)])
    return value / np.exp(row[0]) - 1 - np.log(value) + row[0]


def minus_log_likelihood(count, mean, a):
    """Of a negative binomial count, up to a constant in the mean."""
    return -count * np.log(a * mean / (1 + a * mean)) + np.log(1 + a * mean) / a


def cox_by_hand(response, outputs):
    """Minus the log partial likelihood above that of equal outputs, and half the deviance of the latter."""
    total = 0.0
    for time, event, hazard, row in zip(response.times, response.events, response.hazards, outputs, strict=True):
        at_risk = outputs[response.times >= time, 0]
        total += event * (np.log(np.exp(at_risk).sum()) - np.log(len(at_risk)) - row[0])
        total += hazard - event - (np.log(hazard) if event else 0.0)
    return total / len(response)


def by_hand(response, outputs):
    if type(response) is Survival:
        return cox_by_hand(response, outputs)
    return np.mean([row_loss(response, row, k) for k, row in enumerate(outputs)])


def an_example(kind, n=40):
    rng = RNG(0)
    if kind is Measurement:
        return kind.encode(3 + 2 * rng.standard_normal(n), "test")
    if kind is Counts:
        return kind.encode(rng.negative_binomial(2, 0.4, n), "test")
    if kind is Survival:
        return kind.encode(times_and_events(np.ceil(5 * rng.exponential(size=n)), rng.random(n) < 0.7), "test")
    if kind is Rates:
        return kind.encode(rng.exponential(size=n), "test")
    if kind is OrderedClasses:
        return kind.encode(np.repeat([1, 2, 5], [n - n // 2, n // 4, n // 2 - n // 4])[rng.permutation(n)], "test")
    return kind.encode(
        np.array(["no", "perhaps", "yes"][:: 2 if kind is TwoClasses else 1])[
            np.arange(n) % (2 if kind is TwoClasses else 3)
        ][rng.permutation(n)],
        "test",
    )


# Every kind that there is, and the one that this file adds.
@pytest.mark.parametrize("kind", [*responses.KINDS, Rates])
class TestEveryKind:
    def test_loss_in_numpy_and_in_jax_is_the_formula(self, kind):
        response = an_example(kind)
        outputs = RNG(1).standard_normal((40, response.n_outputs))
        expected = by_hand(response, outputs)
        assert float(kind.loss(outputs, response.loss_input, np)) == pytest.approx(expected, rel=1e-12)
        with jax.enable_x64(True):
            assert float(kind.loss(jnp.asarray(outputs), jnp.asarray(response.loss_input), jnp)) == pytest.approx(
                expected, rel=1e-12
            )
        assert response.mean_loss(outputs) == pytest.approx(expected, rel=1e-12)
        single = kind.loss(jnp.asarray(outputs, jnp.float32), jnp.asarray(response.loss_input, jnp.float32), jnp)
        assert float(single) == pytest.approx(expected, rel=1e-5)

    def test_known_logits_are_added(self, kind):
        response = an_example(kind)
        outputs, logits = RNG(1).standard_normal((2, 40, response.n_outputs))
        found = response.target(logits).mean_loss(outputs)
        assert found == pytest.approx(by_hand(response, outputs + logits))
        some = np.array([3, 1, 30])
        found = response.target(logits).take(some).mean_loss(outputs[some])
        assert found == pytest.approx(by_hand(response.take(some), (outputs + logits)[some]))

    def test_the_constant_has_the_least_loss(self, kind):
        response = an_example(kind)
        constant = response.constant_outputs()
        assert constant.shape == (response.n_outputs,)
        best = minimize(lambda outputs: response.mean_loss(outputs), np.full(response.n_outputs, 0.3), tol=1e-12)
        assert response.mean_loss(constant) == pytest.approx(best.fun, rel=1e-9)
        for k in range(response.n_outputs):
            for step in (-0.01, 0.01):
                moved = constant.copy()
                moved[k] += step
                if kind is Survival:  # hazard ratios say nothing of a constant
                    assert response.mean_loss(moved) == pytest.approx(response.mean_loss(constant), rel=1e-12)
                else:
                    assert response.mean_loss(moved) > response.mean_loss(constant)

    def test_a_prior_of_rows_keeps_the_constant_finite(self, kind):
        response = an_example(kind)
        y = response.indicators()[:, 0]
        least = response.take(np.flatnonzero(y == y.min()))  # one class only, or no event
        assert np.isfinite(least.constant_outputs(prior_rows=1.0)).all()

    def test_working_residuals_are_minus_the_gradient_of_the_loss(self, kind):
        """By central differences; up to one positive factor for all rows and outputs."""
        response = an_example(kind, n=24)
        outputs, step = RNG(1).standard_normal((24, response.n_outputs)), 1e-5
        gradient = np.empty_like(outputs)
        for place in np.ndindex(*outputs.shape):
            up, down = outputs.copy(), outputs.copy()
            up[place] += step
            down[place] -= step
            gradient[place] = (response.mean_loss(up) - response.mean_loss(down)) / (2 * step)
        residual = response.working_residual(outputs)
        factor = -float((residual * gradient).sum() / (residual**2).sum())
        assert factor > 0
        np.testing.assert_allclose(-gradient, factor * residual, atol=1e-8)

    def test_curvatures_are_second_derivatives_of_the_loss(self, kind):
        """By central differences; up to the factor that working residuals have, for all rows and outputs."""
        response = an_example(kind, n=24)
        outputs, step = RNG(1).standard_normal((24, response.n_outputs)), 1e-3
        second = np.empty_like(outputs)
        for place in np.ndindex(*outputs.shape):
            up, down = outputs.copy(), outputs.copy()
            up[place] += step
            down[place] -= step
            middle = response.mean_loss(outputs)
            second[place] = (response.mean_loss(up) - 2 * middle + response.mean_loss(down)) / step**2
        curvature = response.curvature(outputs)
        factor = float((curvature * second).sum() / (curvature**2).sum())
        np.testing.assert_allclose(second, factor * curvature, rtol=1e-3, atol=1e-6)
        assert factor * len(response) == pytest.approx(2.0 if kind is Measurement else 1.0, rel=1e-3)

    def test_some_rows_stay_in_the_same_units(self, kind):
        response, some = an_example(kind), np.array([7, 7, 0])
        part = response.take(some)
        assert type(part) is kind
        assert (len(part), part.n_outputs) == (3, response.n_outputs)
        np.testing.assert_array_equal(part.y, response.y[some])
        np.testing.assert_array_equal(part.indicators(), response.indicators()[some])

    def test_one_contrast_for_each_output(self, kind):
        response = an_example(kind)
        assert np.shape(response.contrasts) == (response.n_outputs, 40)
        assert np.shape(response.working_responses(np.zeros((40, response.n_outputs)))) == (response.n_outputs, 40)
        assert len(response.labels) == 40

    def test_words_for_people(self, kind):
        assert an_example(kind).describe().startswith(kind.noun)
        assert kind.estimator_type in ("regressor", "classifier")
        assert kind.linear_model in ("least squares", "logistic", "likelihood")


def test_contrasts_by_hand():
    assert [list(c) for c in response_from([5, 9] * 5, "classification").contrasts] == [[0, 1] * 5]
    several = response_from(np.repeat(["a", "b", "c"], 5), "classification")
    for k, contrast in enumerate(several.contrasts):
        np.testing.assert_array_equal(contrast, np.repeat(np.arange(3) == k, 5))
    np.testing.assert_array_equal(several.labels, np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(several.strata, several.y)
    measured = response_from(np.array([1.0, 2.0, 6.0]), "regression")
    np.testing.assert_array_equal(measured.contrasts[0], measured.y)
    assert measured.strata is None


def test_shares_of_classes_as_logits():
    y = np.repeat([0.0, 1.0, 2.0], [10, 60, 30])
    np.testing.assert_allclose(np.exp(response_from(y, "classification").constant_outputs()), [0.1, 0.6, 0.3])
    two = response_from((y > 0).astype(float), "classification")
    np.testing.assert_allclose(two.constant_outputs(), [np.log(9)])
    np.testing.assert_allclose(two.constant_outputs(prior_rows=5.0), [np.log(95 / 15)])


def test_large_logits_do_not_overflow():
    outputs = np.array([[1000.0, -1000.0, 0.0], [0.0, 0.0, 1000.0]])
    assert SeveralClasses.loss(outputs, np.array([0.0, 1.0]), np) == pytest.approx(500)
    assert TwoClasses.loss(np.array([[1000.0], [-1000.0]]), np.array([1.0, 1.0]), np) == pytest.approx(500)


def test_a_measurement_remembers_its_units():
    values = np.array([10.0, 12.0, 17.0, 1.0])
    response = Measurement.encode(values, "test")
    np.testing.assert_allclose(response.y * response.scale + response.centre, values)
    assert response.y.std() == pytest.approx(1)
    assert not Measurement.encode(np.full(3, 7.0), "test").y.any()


def test_standardise():
    Z = standardise(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_allclose(Z, [[-1, 0], [1, 0]])
    far = standardise((1e4 + RNG(0).standard_normal(100_000)).astype(np.float32))
    assert far.dtype == np.float32
    assert abs(far.mean(dtype=float)) < 1e-3


@pytest.mark.parametrize(
    "statistic",
    [
        GRIP2(hidden=16, steps=600),
        EffectPosterior(sweeps=200),
        MALD(hidden=16, steps=600),
        LassoCoefficient(),
        Staged(EffectPosterior(sweeps=200), GRIP2(hidden=16, steps=600)),
    ],
)
def test_a_new_kind_is_one_class(monkeypatch, statistic):
    """Rates, registered by one entry of KINDS: statistics find the features on which they depend."""
    monkeypatch.setattr(recognition, "KINDS", (*responses.KINDS, Rates))
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, 500, 6))
    y = rng.exponential(np.exp(0.5 * X[:, 0] + 0.5 * X[:, 1]))
    W = statistic.importance(X, Xk, y, rng=RNG(0), task="rates").W
    assert set(np.argsort(-W)[:2]) == {0, 1}
    with pytest.raises(Grip2Error, match="rates must be positive"):
        statistic.importance(X, Xk, -y, rng=RNG(0), task="rates")


def test_a_task_that_no_kind_has_is_refused_with_the_new_kind_named(monkeypatch):
    X = RNG(0).standard_normal((20, 2))
    with pytest.raises(Grip2Error, match=r"task must be one of regression, classification, .*, got 'rates'"):
        LassoCoefficient().importance(X, X[::-1], X[:, 0], rng=RNG(0), task="rates")
    monkeypatch.setattr(recognition, "KINDS", (*responses.KINDS, Rates))
    with pytest.raises(Grip2Error, match="got 'rank'") as refused:
        LassoCoefficient().importance(X, X[::-1], X[:, 0], rng=RNG(0), task="rank")
    assert "rates" in str(refused.value)


def test_residuals_are_in_units_of_the_rows_fitted():
    """Rows that were held out take no part in centre and scale."""
    values, fitted = np.array([1.0, 3.0, 100.0]), np.array([0, 1])
    left = Measurement.residual(values, fitted)
    np.testing.assert_allclose(left.y, [-1.0, 1.0, 98.0])
    assert (left.centre, left.scale) == (2.0, 1.0)
    whole = Measurement.residual(values)
    assert whole.y.mean() == pytest.approx(0)
    assert whole.y.std() == pytest.approx(1)
    assert (Measurement.residual(np.ones(3)).y == 0).all()
