"""Losses, residuals and fits of counts, times to an event and ordered classes against lifelines and statsmodels.

Their values are stored in ``tests/golden/likelihoods.json``, made by ``make_likelihood_golden.py``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from grip2.responses import Counts, OrderedClasses, Survival, response_from, times_and_events
from grip2.responses.survival import LEAST_HAZARD, cumulative_hazard
from grip2.statistics.penalised_path import PenalisedPath, ResponseLikelihood

STORED = json.loads((Path(__file__).parents[1] / "golden" / "likelihoods.json").read_text(encoding="utf-8"))


def stored(name):
    return SimpleNamespace(**{key: np.array(value) for key, value in STORED[name].items()})


def unpenalised(X, response):
    """(intercept, coefficients) by the penalised path at a penalty of next to nothing."""
    path = PenalisedPath(X, ResponseLikelihood(response), tolerance=1e-14)
    coefficients = path.advance(1e-9)
    return [path.intercept, *coefficients]


def test_counts():
    known = stored("counts")
    response = Counts(known.y.astype(float), float(known.dispersion))
    outputs = known.log_mean[:, None]
    assert response.mean_loss(outputs) == pytest.approx(known.negative_binomial, rel=1e-10)
    poisson = replace(response, dispersion=0.0)
    # Dispersions below 1e-4 are taken for 1e-4.
    assert poisson.mean_loss(outputs) == pytest.approx(known.poisson, rel=1e-3)
    found = unpenalised(known.X, response)
    np.testing.assert_allclose(found, known.fit, rtol=1e-4)
    assert response.mean_loss((known.X @ found[1:] + found[0])[:, None]) == pytest.approx(known.fit_loss, rel=1e-8)


def test_counts_without_features_have_output_0():
    response = Counts.encode(stored("counts").y, "test")
    np.testing.assert_allclose(response.constant_outputs(), [0.0], atol=1e-12)
    assert response.base == pytest.approx(stored("counts").y.mean())


def test_dispersion_is_found_by_moments():
    rng = np.random.default_rng(0)
    assert Counts.encode(rng.negative_binomial(2, 0.3, 50_000), "test").dispersion == pytest.approx(0.5, rel=0.05)
    assert Counts.encode(rng.poisson(3.0, 50_000), "test").dispersion < 0.01
    assert Counts.encode(rng.binomial(5, 0.5, 50_000), "test").dispersion == 0


def test_times_with_ties():
    known = stored("times")
    assert len(np.unique(known.time)) < len(known.time)
    response = response_from(times_and_events(known.time, known.event))
    np.testing.assert_allclose(response.hazards, np.maximum(known.hazard, LEAST_HAZARD), rtol=1e-9)
    assert response.y.sum() == pytest.approx(0, abs=1e-6)
    # The gradient at 0 is that of Breslow's partial likelihood.
    residual = response.working_residual(np.zeros((len(response), 1)))[:, 0]
    np.testing.assert_allclose(known.X.T @ residual, known.score_at_0, rtol=1e-6)
    np.testing.assert_allclose(residual, response.y)


def test_martingale_residuals_of_a_fit():
    known = stored("times")
    hazard = cumulative_hazard(known.time, known.event, known.log_ratio)
    np.testing.assert_allclose(known.event - hazard, known.martingale, rtol=1e-6, atol=1e-8)
    response = response_from(times_and_events(known.time, known.event))
    np.testing.assert_allclose(response.working_residual(known.log_ratio[:, None])[:, 0], known.martingale, atol=1e-6)


def test_the_loss_and_the_fit_are_those_of_the_partial_likelihood():
    known = stored("times")
    response = response_from(times_and_events(known.time, known.event))
    gain = response.mean_loss(np.zeros(1)) - response.mean_loss((known.X @ known.beta)[:, None])
    assert gain * len(response) == pytest.approx(known.log_likelihood - known.log_likelihood_at_0, rel=1e-9)
    np.testing.assert_allclose(unpenalised(known.X, response)[1:], known.fit, rtol=1e-4)


def test_losses_of_parts_compare_with_those_of_all_rows():
    """Without features the loss of all rows is the mean over parts, whatever risk sets they have."""
    known = stored("times")
    response = response_from(times_and_events(known.time, known.event))
    parts = np.array_split(np.random.default_rng(0).permutation(len(response)), 3)
    of_parts = [response.take(part).mean_loss(np.ones(1)) for part in parts]
    assert np.mean(of_parts) == pytest.approx(response.mean_loss(np.zeros(1)), rel=1e-9)


def test_large_log_ratios_stay_finite():
    response = response_from(times_and_events(np.arange(1.0, 21.0), np.ones(20)))
    outputs = np.linspace(500, -500, 20)[:, None]
    for some in (outputs, -outputs):
        assert np.isfinite(response.mean_loss(some))
        assert np.isfinite(response.working_residual(some)).all()
        assert np.isfinite(response.curvature(some)).all()
        gradient = jax.grad(lambda f: Survival.loss(f, jnp.asarray(response.loss_input), jnp))(jnp.asarray(some))
        assert np.isfinite(np.asarray(gradient)).all()


def test_cumulative_hazards_by_hand():
    """Two rows at time 1, one event; three at time 2, two events; one censored at 3."""
    times, events = np.array([2.0, 1.0, 2.0, 3.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    at_1, at_2 = 1 / 6, 1 / 6 + 2 / 4
    expected = np.array([at_2, at_1, at_2, at_2, at_1, at_2])
    np.testing.assert_allclose(cumulative_hazard(times, events, np.zeros(6)), expected)
    ratios = np.array([2.0, 1, 1, 1, 1, 1])
    doubled = cumulative_hazard(times, events, np.log(ratios))
    np.testing.assert_allclose(doubled, ratios * np.where(times == 1, 1 / 7, 1 / 7 + 2 / 5))


def test_ordered_classes():
    known = stored("ordered")
    response = OrderedClasses.encode(known.y, "test")
    assert response.constant_outputs()[0] == pytest.approx(0, abs=1e-9)
    assert response.mean_loss(np.zeros(1)) == pytest.approx(known.loss_at_0, rel=1e-10)
    assert response.mean_loss((known.X @ known.beta)[:, None]) == pytest.approx(known.loss, rel=1e-10)
    # At 0 the working residual is the share of rows in lower classes minus that in higher ones.
    y = known.y
    ridit = [np.mean(y < value) - np.mean(y > value) for value in y]
    np.testing.assert_allclose(response.working_residual(np.zeros((len(y), 1)))[:, 0], ridit, atol=1e-12)
    assert response.mean_of(np.zeros((len(y), 1)))[0, 0] == pytest.approx(y.mean())


def test_two_ordered_classes_are_a_logistic_model():
    y = np.repeat([0.0, 1.0], [12, 8])
    outputs = np.random.default_rng(0).standard_normal((20, 1))
    two = response_from(y, "classification")
    expected = two.mean_loss(outputs + two.constant_outputs())
    assert response_from(y, "ordered").mean_loss(outputs) == pytest.approx(expected, rel=1e-12)


def test_penalised_solutions_satisfy_the_optimality_conditions():
    """At every penalty of a path: |gradient| is the penalty where a coefficient is not zero, and at most that elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    signal = X[:, 0] - 0.5 * X[:, 1]
    for y, task in (
        (rng.poisson(np.exp(signal)), "counts"),
        (times_and_events(rng.exponential(np.exp(-signal)), rng.random(200) < 0.7), "survival"),
        (np.digitize(signal + rng.logistic(size=200), [-1, 1]), "ordered"),
    ):
        response = response_from(y, task)
        path = PenalisedPath(X, ResponseLikelihood(response), tolerance=1e-12)
        for penalty in path.lambda_max * np.array([1.0, 0.5, 0.2, 0.05]):
            b = path.advance(penalty)
            slope = response.working_residual((X @ b + path.intercept)[:, None])[:, 0]
            gradient = X.T @ slope / 200
            assert abs(slope.mean()) < 1e-4 * penalty + 1e-6
            assert np.abs(gradient).max() <= penalty * 1.002
            np.testing.assert_allclose(gradient[b != 0], np.sign(b[b != 0]) * penalty, rtol=2e-3)
        assert (b[:2] != 0).all()
