"""The l1-logistic path against a naive proximal gradient and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from grip2.statistics.lasso_cv import draw_folds, lambda_grid, moments
from grip2.statistics.logistic_path import LogisticPath, logistic_cv


def labels(n: int, columns: int, *, share: float = 0.5, seed: int = 0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, columns))
    Z[:, 1] = 0.7 * Z[:, 0] + 0.7 * Z[:, 1]
    eta = Z[:, :4] @ [1.0, -1.0, 0.7, 0.5] + np.log(share / (1 - share))
    return Z, (rng.random(n) < expit(eta)).astype(float)


def naive_logistic(Z, y, lambda_, iterations=20_000):
    """Proximal gradient with the step 1 / L, L = largest eigenvalue of [1, Z]'[1, Z] / (4 n)."""
    A = np.column_stack([np.ones(len(y)), Z])
    step = 1 / (np.linalg.eigvalsh(A.T @ A / len(y)).max() / 4)
    b = np.zeros(A.shape[1])
    for _ in range(iterations):
        b = b - step * A.T @ (expit(A @ b) - y) / len(y)
        b[1:] = np.sign(b[1:]) * np.maximum(np.abs(b[1:]) - step * lambda_, 0)
    return b[0], b[1:]


def test_agrees_with_naive_proximal_gradient():
    Z, y = labels(120, 6)
    path = LogisticPath(Z, y, tolerance=1e-12)
    for lambda_ in lambda_grid(path.lambda_max, 4, 0.05):
        coefficients = path.advance(lambda_)
        intercept, expected = naive_logistic(Z, y, lambda_)
        np.testing.assert_allclose(coefficients, expected, atol=1e-5)
        assert path.intercept == pytest.approx(intercept, abs=1e-5)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_every_solution_satisfies_the_optimality_conditions(share):
    Z, y = labels(400, 60, share=share)
    path = LogisticPath(Z, y)
    start = path.lambda_max
    for lambda_ in lambda_grid(start, 25, 0.02):
        b = path.advance(lambda_)
        gradient = Z.T @ (expit(Z @ b + path.intercept) - y) / len(y)
        assert np.abs(gradient).max() <= lambda_ * 1.01
        np.testing.assert_allclose(gradient[b != 0], -np.sign(b[b != 0]) * lambda_, rtol=0.05, atol=0.02 * lambda_)
    assert (b != 0).sum() > 20


@pytest.mark.parametrize(("share", "strength"), [(0.5, 1.0), (0.5, 4.0), (0.1, 1.0)])
def test_a_kept_second_derivative_leads_to_the_same_solutions(monkeypatch, share, strength):
    Z, y = labels(300, 30, share=share)
    y = (strength * Z[:, 0] + np.random.default_rng(1).logistic(size=300) > 1).astype(float) if strength > 1 else y
    exact = LogisticPath(Z, y)
    lambdas = lambda_grid(exact.lambda_max, 15, 0.02)
    expected = [exact.advance(lambda_) for lambda_ in lambdas]
    monkeypatch.setattr("grip2.statistics.penalised_path.EXACT_HESSIAN_BELOW", 0)
    kept = LogisticPath(Z, y, gram=moments(Z, y).gram)
    for lambda_, b in zip(lambdas, expected, strict=True):
        np.testing.assert_allclose(kept.advance(lambda_), b, atol=2e-3 * max(np.abs(b).max(), 0.1))


def test_masked_rows_take_no_part_but_are_predicted():
    Z, y = labels(200, 8)
    rows = np.arange(200) < 150
    masked, alone = LogisticPath(Z, y, rows), LogisticPath(Z[rows], y[rows])
    assert masked.lambda_max == pytest.approx(alone.lambda_max)
    for lambda_ in (0.1, 0.05, 0.02):
        b = masked.advance(lambda_)
        np.testing.assert_allclose(b, alone.advance(lambda_), atol=1e-8)
    np.testing.assert_allclose(masked.linear_predictor, Z @ b + masked.intercept, atol=1e-8)


def test_cross_validation_takes_the_penalty_of_least_held_out_deviance():
    Z, y = labels(300, 20)
    folds = draw_folds(300, 5, np.random.default_rng(0))
    fit = logistic_cv(Z, y, folds=folds, n_lambdas=30)
    best = int(np.argmin(fit.errors.mean(axis=1)))
    assert fit.lambda_ == fit.lambdas[best]
    assert 0 < best < len(fit.lambdas) - 1
    assert set(np.argsort(-np.abs(fit.coefficients))[:4]) == {0, 1, 2, 3}
    # The held-out deviance of one fold at the chosen penalty, by hand.
    rows = np.setdiff1d(np.arange(300), folds[0])
    b0, b = naive_logistic(Z[rows], y[rows], fit.lambda_, 3000)
    eta = Z[folds[0]] @ b + b0
    assert fit.errors[best, 0] == pytest.approx(np.mean(np.logaddexp(0, eta) - y[folds[0]] * eta), rel=1e-3)


def test_leaving_the_path_does_not_change_the_choice():
    """10 problems of every kind: nothing to find, few or many signals, strong and weak ones, correlated columns."""
    none = np.zeros(30)
    strengths = [none, none + 0.3, np.r_[2.0, none[1:]], np.r_[2.5, none[1:] + 0.2], np.r_[1.5, -1.5, none[2:]]]
    visited = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((60, 30)) + (seed % 2) * rng.standard_normal((60, 1))
        y = (rng.random(60) < expit(Z @ strengths[seed % 5])).astype(float)
        folds = draw_folds(60, (5, 3)[seed % 4 == 0], rng, labels=y)
        early = logistic_cv(Z, y, folds=folds)
        whole = logistic_cv(Z, y, folds=folds, whole_path=True)
        assert early.lambda_ == whole.lambda_
        assert len(whole.lambdas) == 50
        np.testing.assert_array_equal(early.errors, whole.errors[: len(early.errors)])
        np.testing.assert_array_equal(early.coefficients, whole.coefficients)
        visited.append(len(early.lambdas))
    assert np.mean(np.array(visited) < 50) > 0.25  # it was left often enough to be a test


def test_separable_classes_do_not_break_it():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 5))
    y = (Z[:, 0] > 0).astype(float)
    fit = logistic_cv(Z, y, folds=draw_folds(100, 5, rng), n_lambdas=20)
    assert np.isfinite(fit.coefficients).all()
    assert np.argmax(np.abs(fit.coefficients)) == 0


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="both classes must be present"):
        LogisticPath(np.zeros((4, 2)), np.ones(4))
