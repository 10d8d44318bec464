"""The compiled lasso against scikit-learn's, and against the conditions of its optimum."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from sklearn.linear_model import lasso_path

from grip2.engine.lasso_descent import _working_set, descend
from grip2.statistics.lasso_table import _columns_at_work  # the same choice in NumPy


def problem(n: int, p: int, *, noise: float, correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised columns that share one factor, and a centred response of five of them."""
    rng = np.random.default_rng(seed)
    Z = np.sqrt(1 - correlation) * rng.standard_normal((n, p)) + np.sqrt(correlation) * rng.standard_normal((n, 1))
    Z = (Z - Z.mean(0)) / Z.std(0)
    y = Z[:, :5] @ rng.standard_normal(5) + noise * rng.standard_normal(n)
    return Z, y - y.mean()


def moments(Z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    return Z.T @ Z / len(Z), Z.T @ y / len(Z), float(y @ y) / len(Z)


CASES = {
    "more rows than columns": (200, 20, 1.0, 0.0),
    "correlated": (200, 40, 1.0, 0.9),
    "fewer rows than columns": (30, 100, 0.5, 0.3),
    "hardly any noise": (100, 60, 0.01, 0.95),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_penalty_has_the_solution_of_the_naive_twin(case):
    n, p, noise, correlation = case
    Z, y = problem(n, p, noise=noise, correlation=correlation, seed=0)
    gram, cross, response = moments(Z, y)
    lambdas = np.geomspace(np.abs(cross).max(), 0.02 * np.abs(cross).max(), 30)
    path, converged = descend(gram, cross, response, lambdas, np.zeros(p), 1e-12, 100_000)
    assert converged
    expected = lasso_path(Z, y, alphas=lambdas, tol=1e-12, max_iter=100_000)[1]
    np.testing.assert_allclose(path, expected, atol=2e-5)
    # Without reference to another program: zero where the correlation with the residual is below lambda, else equal to it.
    left = cross[:, None] - gram @ path
    assert np.all(np.abs(left) <= lambdas * (1 + 1e-4))
    acting = np.abs(path) > 1e-4
    np.testing.assert_allclose(left[acting], (np.sign(path) * lambdas)[acting], rtol=1e-3)


def test_the_order_of_columns_does_not_matter():
    Z, y = problem(100, 30, noise=0.3, correlation=0.5, seed=1)
    gram, cross, response = moments(Z, y)
    order = np.random.default_rng(2).permutation(30)
    lambdas = np.array([0.3, 0.1, 0.03])
    found, _ = descend(gram, cross, response, lambdas, np.zeros(30), 1e-13, 10_000)
    permuted, _ = descend(gram[np.ix_(order, order)], cross[order], response, lambdas, np.zeros(30), 1e-13, 10_000)
    np.testing.assert_allclose(permuted, found[order], atol=1e-6)


def test_a_start_elsewhere_ends_at_the_same_place():
    Z, y = problem(100, 30, noise=0.3, correlation=0.5, seed=3)
    gram, cross, response = moments(Z, y)
    penalty = np.array([0.05])
    from_zero, _ = descend(gram, cross, response, penalty, np.zeros(30), 1e-13, 10_000)
    start = np.random.default_rng(4).standard_normal(30)
    kept = start.copy()
    from_elsewhere, _ = descend(gram, cross, response, penalty, start, 1e-13, 10_000)
    np.testing.assert_allclose(from_elsewhere, from_zero, atol=1e-6)
    np.testing.assert_array_equal(start, kept)


def test_too_few_sweeps_are_told():
    Z, y = problem(100, 60, noise=0.01, correlation=0.99, seed=5)
    gram, cross, response = moments(Z, y)
    _, converged = descend(gram, cross, response, np.array([1e-4]), np.zeros(60), 1e-10, 3)
    assert not converged


def test_constant_columns_and_a_constant_response():
    gram, cross = np.diag([1.0, 0.0, 1.0]), np.array([0.5, 0.0, -0.2])
    path, converged = descend(gram, cross, 1.0, np.array([0.1]), np.zeros(3), 1e-10, 100)
    assert converged
    np.testing.assert_allclose(path[:, 0], [0.4, 0.0, -0.1])
    path, converged = descend(np.eye(3), np.zeros(3), 0.0, np.array([1e-300]), np.zeros(3), 1e-4, 100)
    assert converged
    assert not path.any()


@njit  # helpers can be called from compiled functions only
def working_set(gradient: np.ndarray, b: np.ndarray, penalty: float) -> np.ndarray:
    return _working_set(gradient, b, penalty)


@pytest.mark.parametrize("seed", range(200))
def test_the_columns_at_work_are_those_of_the_naive_twin(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 80))
    # Whole numbers: many columns violate their condition by the same amount.
    gradient = rng.integers(-6, 7, p).astype(float) if seed % 2 else rng.standard_normal(p)
    b = rng.standard_normal(p) * (rng.random(p) < rng.random())
    penalty = float(rng.integers(0, 4)) / 2
    np.testing.assert_array_equal(working_set(gradient, b, penalty), _columns_at_work(gradient, b, penalty))
