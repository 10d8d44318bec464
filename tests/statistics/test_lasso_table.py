"""The lasso without a Gram matrix of all columns: against scikit-learn's, and against that on moments."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from grip2.statistics import lasso_table
from grip2.statistics.lasso_cv import moments
from grip2.statistics.lasso_table import TableLasso

RNG = np.random.default_rng


def table(n=60, p=150, seed=0):
    """Correlated columns, not centred, and a response of five of them."""
    rng = RNG(seed)
    Z = rng.standard_normal((n, p)) + 0.8 * rng.standard_normal((n, 1)) + rng.normal(0, 2, p)
    return Z, Z[:, :5] @ rng.standard_normal(5) + rng.standard_normal(n) + 3


def penalties(problem, n=12, ratio=0.02):
    largest = np.abs(problem.cross).max()
    return np.geomspace(largest, ratio * largest, n)


@pytest.mark.parametrize("intercept", [True, False])
def test_solutions_are_those_of_the_naive_twin(intercept):
    Z, y = table()
    found = TableLasso(Z, y, intercept=intercept)
    lambdas = penalties(found)
    path, converged = found.path(lambdas, np.zeros(150), 1e-12, 100_000)
    assert converged
    for k in (3, 7, 11):
        twin = Lasso(alpha=lambdas[k], fit_intercept=intercept, tol=1e-12, max_iter=1_000_000).fit(Z, y)
        np.testing.assert_allclose(path[:, k], twin.coef_, atol=2e-5)


def test_rows_that_are_masked_do_not_count():
    Z, y = table()
    kept = RNG(1).random(60) < 0.7
    masked, alone = TableLasso(Z, y, kept), TableLasso(Z[kept], y[kept])
    lambdas = penalties(alone)
    found, expected = (one.path(lambdas, np.zeros(150), 1e-12, 100_000)[0] for one in (masked, alone))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(masked.mean, Z[kept].mean(axis=0))
    whole = TableLasso(Z, y).path(lambdas, np.zeros(150), 1e-12, 100_000)[0]
    assert np.abs(whole - expected).max() > 0.01


@pytest.mark.parametrize("remembered", [4000, 20])
def test_it_is_the_lasso_on_moments_however_little_is_remembered(monkeypatch, remembered):
    monkeypatch.setattr(lasso_table, "_REMEMBERED", remembered)
    Z, y = table()
    before = Z.copy()
    found, problem = TableLasso(Z, y), moments(Z, y)
    lambdas, start = penalties(found), RNG(2).standard_normal(150)
    path, _ = found.path(lambdas, start, 1e-12, 100_000)
    np.testing.assert_allclose(path, problem.path(lambdas, start, 1e-12, 100_000)[0], atol=1e-6)
    # Zero where the correlation with the residual is below lambda, else equal to it.
    left = problem.cross[:, None] - problem.gram @ path
    assert np.all(np.abs(left) <= lambdas * (1 + 1e-4))
    acting = np.abs(path) > 1e-4
    np.testing.assert_allclose(left[acting], (np.sign(path) * lambdas)[acting], rtol=1e-3)
    np.testing.assert_array_equal(Z, before)


def test_what_is_known_is_not_computed_again(monkeypatch):
    monkeypatch.setattr(lasso_table, "_REMEMBERED", 20)
    Z, y = table()
    found, columns = TableLasso(Z, y), np.arange(30)
    expected = np.cov(Z[:, columns].T, bias=True)
    np.testing.assert_allclose(found._gram_of(columns), expected, atol=1e-9)
    known = found._gram
    np.testing.assert_allclose(found._gram_of(columns[::3]), expected[::3, ::3], atol=1e-9)
    assert found._gram is known
    np.testing.assert_allclose(found._gram_of(np.array([40, 3])), np.cov(Z[:, [40, 3]].T, bias=True), atol=1e-9)
    assert found._gram is not known


def test_too_few_sweeps_are_told():
    Z, y = table()
    found = TableLasso(Z, y)
    assert not found.path(penalties(found), np.zeros(150), 1e-10, 2)[1]


def test_a_constant_response_and_constant_columns():
    Z, y = table(30, 10)
    Z[:, 0] = 4.0
    path, converged = TableLasso(Z, np.ones(30)).path(np.array([1e-300]), np.zeros(10), 1e-6, 10)
    assert converged
    assert not path.any()
    assert TableLasso(Z, y).path(np.array([0.01]), np.zeros(10), 1e-9, 10_000)[0][0, 0] == pytest.approx(0, abs=1e-9)
