"""The fast cross-validated lasso against naive twins, its optimality conditions and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LassoCV

from grip2.statistics.lasso_cv import (
    draw_folds,
    gram_path,
    has_turned,
    lambda_grid,
    lasso_cv,
    moments,
    moments_by_fold,
    table_path,
)


def table(n: int, columns: int, *, correlation: float = 0.0, signals: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    Z = np.sqrt(1 - correlation) * rng.standard_normal((n, columns)) + np.sqrt(correlation) * common
    Z = Z * rng.uniform(0.5, 2.0, columns) + rng.uniform(-3, 3, columns)
    signals = min(signals, columns)
    y = 4.0 + Z[:, :signals] @ np.linspace(0.3, 1.0, signals) + rng.standard_normal(n)
    return Z, y


def naive_lasso(Z: np.ndarray, y: np.ndarray, lambda_: float, sweeps: int = 3000) -> np.ndarray:
    """Cyclic coordinate descent, line by line: b_j <- soft(z_j'r_j / n, lambda) / (z_j'z_j / n)."""
    Z, y, n = Z - Z.mean(axis=0), y - y.mean(), len(y)
    b = np.zeros(Z.shape[1])
    for _ in range(sweeps):
        for j in range(len(b)):
            without_j = y - Z @ b + Z[:, j] * b[j]
            rho = Z[:, j] @ without_j / n
            b[j] = np.sign(rho) * max(abs(rho) - lambda_, 0.0) / (Z[:, j] @ Z[:, j] / n)
    return b


def sklearn_choice(Z, y, folds, **settings) -> LassoCV:
    splits = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in folds]
    return LassoCV(**{"cv": splits, "max_iter": 1_000_000, "tol": 1e-9, **settings}).fit(Z, y)


def test_gram_path_agrees_with_naive_coordinate_descent():
    Z, y = table(60, 6, correlation=0.5)
    problem = moments(Z, y)
    lambdas = lambda_grid(np.max(np.abs(problem.cross)), 5, 0.05)
    path = gram_path(problem, lambdas, tolerance=1e-12)
    for k, lambda_ in enumerate(lambdas):
        np.testing.assert_allclose(path[:, k], naive_lasso(Z, y, lambda_, 400), atol=1e-6)


def test_path_without_a_gram_matrix_is_the_same():
    Z, y = table(60, 20, correlation=0.5)
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    problem, start = moments(Z, y), np.linspace(-1, 1, 20)
    lambdas = lambda_grid(np.max(np.abs(problem.cross)), 10, 0.01)
    for settings in ({"tolerance": 1e-13}, {"start": start, "tolerance": 1e-13}):
        expected = gram_path(problem, lambdas, **settings)
        np.testing.assert_allclose(table_path(Z, y, lambdas, **settings), expected, atol=1e-6)
    np.testing.assert_array_equal(start, np.linspace(-1, 1, 20))  # neither writes into it


def test_path_satisfies_the_optimality_conditions():
    Z, y = table(200, 40, correlation=0.3)
    problem = moments(Z, y)
    lambdas = lambda_grid(np.max(np.abs(problem.cross)), 20, 1e-2)
    path = gram_path(problem, lambdas, tolerance=1e-14)
    correlation = problem.cross[:, None] - problem.gram @ path
    assert (np.abs(correlation) <= lambdas * (1 + 1e-4) + 1e-8).all()
    active = path != 0
    assert active[:, -1].sum() > 10
    expected = (np.sign(path) * lambdas)[active]
    np.testing.assert_allclose(correlation[active], expected, rtol=1e-3, atol=1e-6)


def test_down_dated_moments_are_those_of_the_training_rows():
    Z, y = table(53, 7)
    Z += 1e4  # a large mean is where sums of squares lose their digits
    folds = draw_folds(53, 5, np.random.default_rng(1))
    _, parts = moments_by_fold(Z, y, folds)
    for rows, part in zip(folds, parts, strict=True):
        training = np.setdiff1d(np.arange(53), rows)
        A = Z[training] - Z[training].mean(axis=0)
        c = y[training] - y[training].mean()
        np.testing.assert_allclose(part.training.gram, A.T @ A / len(c), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(part.training.cross, A.T @ c / len(c), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(part.mean, Z[training].mean(axis=0))


@pytest.mark.parametrize(
    ("n", "columns", "correlation", "seed"),
    [(300, 40, 0.0, 0), (300, 40, 0.8, 1), (1000, 100, 0.5, 2), (80, 120, 0.2, 3), (500, 10, 0.0, 4)],
)
def test_same_lambda_and_coefficients_as_scikit_learn(n, columns, correlation, seed):
    Z, y = table(n, columns, correlation=correlation, seed=seed)
    folds = draw_folds(n, 5, np.random.default_rng(seed))
    theirs = sklearn_choice(Z, y, folds)
    ours = lasso_cv(Z, y, folds=folds)
    assert ours.lambda_ == pytest.approx(theirs.alpha_, rel=1e-9)
    np.testing.assert_allclose(ours.coefficients, theirs.coef_, atol=0.01 * np.abs(theirs.coef_).max())
    assert ours.intercept == pytest.approx(theirs.intercept_, rel=0.02)
    exact = lasso_cv(Z, y, folds=folds, tolerance=1e-9, max_iterations=1_000_000)
    assert exact.converged
    seen = len(exact.lambdas)
    np.testing.assert_allclose(exact.errors, theirs.mse_path_[:seen], rtol=2e-3)


def test_leaving_the_path_does_not_change_the_choice():
    visited = []
    for seed in range(10):
        Z, y = table(200, 60, correlation=0.5, seed=seed)
        folds = draw_folds(200, 5, np.random.default_rng(seed))
        early, whole = lasso_cv(Z, y, folds=folds), lasso_cv(Z, y, folds=folds, whole_path=True)
        assert early.lambda_ == whole.lambda_
        assert len(whole.lambdas) == 100
        visited.append(len(early.lambdas))
    assert np.mean(visited) < 95


def test_the_path_is_left_only_when_the_error_has_risen_beyond_doubt():
    falling = np.linspace(2, 1, 30)[:, None] + np.zeros(5)
    assert not has_turned(falling)
    rising = np.concatenate([falling, np.linspace(1, 1.5, 9)[:, None] + np.zeros(5)])
    assert not has_turned(rising)  # too near to the minimum
    rising = np.concatenate([rising, 1.6 + 0.01 * np.arange(5)[None, :]])
    assert has_turned(rising)
    noisy = rising.copy()
    noisy[-1] = [0.2, 3.0, 0.2, 3.0, 1.5]
    assert not has_turned(noisy)
    # Of a grid of 100 ten points are enough, of one of 200 they are not.
    assert has_turned(rising, 100)
    assert not has_turned(rising, 200)


def test_a_constant_response_gives_zero_coefficients():
    Z, _ = table(50, 4)
    fit = lasso_cv(Z, np.full(50, 3.0), folds=draw_folds(50, 5, np.random.default_rng(0)))
    assert not fit.coefficients.any()
    assert fit.intercept == pytest.approx(3.0)
    assert fit.r2 == 0.0


def test_r2_is_that_of_held_out_rows():
    Z, y = table(400, 10)
    fit = lasso_cv(Z, y, folds=draw_folds(400, 5, np.random.default_rng(0)))
    best = fit.errors.mean(axis=1).min()
    assert fit.r2 == pytest.approx(1 - best / y.var())
    assert 0.5 < fit.r2 < 1


def test_folds_are_a_random_partition():
    folds = draw_folds(23, 5, np.random.default_rng(0))
    assert sorted(np.concatenate(folds)) == list(range(23))
    assert any(
        not np.array_equal(a, b) for a, b in zip(folds, draw_folds(23, 5, np.random.default_rng(1)), strict=True)
    )
    with pytest.raises(ValueError, match="folds must be a whole number between 2 and the number of rows, 3, got 5"):
        draw_folds(3, 5, np.random.default_rng(0))


def test_a_wide_table_without_convergence_is_told_in_the_fit(monkeypatch):
    """Warnings are errors in these tests: one that reached the user would fail here."""
    monkeypatch.setattr("grip2.statistics.lasso_cv.GRAM_COLUMNS_MAX", 5)
    Z, y = table(60, 80, correlation=0.3)
    folds = draw_folds(60, 5, np.random.default_rng(0))
    assert lasso_cv(Z, y, folds=folds).converged
    assert not lasso_cv(Z, y, folds=folds, max_iterations=2).converged
