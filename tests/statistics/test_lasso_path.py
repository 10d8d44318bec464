"""LassoPath: entry penalties against naive ones, ties, classes, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.members import members_of

from grip2.responses import response_from
from grip2.statistics import LassoPath
from grip2.statistics.lasso_cv import gram_path, moments
from grip2.statistics.lasso_path import LARS_VIOLATION_MAX, first_nonzero, lars_entry
from grip2.units import Units


def pairs(n: int, p: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X, Xk = rng.standard_normal((2, n, p))
    y = X[:, :3] @ [1.0, 0.6, -0.4] + rng.standard_normal(n)
    return X, Xk, y


def naive_entry(problem, steps: int = 4000, ratio: float = 1e-2) -> np.ndarray:
    """Walk the penalty down in tiny steps and note when each coefficient first moves."""
    lambdas = np.geomspace(np.max(np.abs(problem.cross)), np.max(np.abs(problem.cross)) * ratio, steps)
    path = gram_path(problem, lambdas, tolerance=1e-13)
    entry = np.zeros(len(problem.cross))
    for k, lambda_ in enumerate(lambdas):
        entry[(entry == 0) & (path[:, k] != 0)] = lambda_
    return entry


def test_least_angle_entries_are_those_of_a_tiny_walk_down():
    X, Xk, y = pairs(80, 5)
    problem = moments(members_of(X, Xk).standardised(), y)
    entry, violation = lars_entry(problem, 1e-2)
    assert violation < 1e-12
    naive = naive_entry(problem)
    assert (naive > 0).sum() >= 8
    # The walk sees an entry at most one step of log(100) / 4000 late.
    np.testing.assert_allclose(naive[naive > 0], entry[naive > 0], rtol=2e-3)


def test_first_entry_is_the_largest_correlation():
    X, Xk, y = pairs(80, 5)
    problem = moments(members_of(X, Xk).standardised(), y)
    entry, _ = lars_entry(problem, 1e-3)
    assert entry.max() == pytest.approx(np.abs(problem.cross).max())
    assert np.argmax(entry) == np.argmax(np.abs(problem.cross))


def test_grid_rounds_the_exact_entries_down():
    X, Xk, y = pairs(200, 10)
    exact = LassoPath("lars").importance(X, Xk, y, rng=np.random.default_rng(0))
    grid = LassoPath("grid", n_lambdas=200).importance(X, Xk, y, rng=np.random.default_rng(0))
    assert (exact.facts.details["method"], grid.facts.details["method"]) == ("lars", "grid")
    both = np.concatenate([exact.original, exact.knockoff]), np.concatenate([grid.original, grid.knockoff])
    np.testing.assert_allclose(both[1], both[0], rtol=0.05)


def test_collinear_columns_fall_back_to_the_grid():
    X, _, y = pairs(100, 6)
    X[:, 5] = X[:, 0] + X[:, 1] - X[:, 2]
    Xk = X[:, ::-1].copy()  # the same columns in another order: as collinear as can be
    found = LassoPath().importance(X, Xk, y, rng=np.random.default_rng(0))
    assert found.facts.details["method"] == "grid"
    assert found.facts.details["violation"] > LARS_VIOLATION_MAX
    assert np.isfinite(found.W).all()
    with pytest.warns(UserWarning, match="left the lasso path"):
        LassoPath("lars").importance(X, Xk, y, rng=np.random.default_rng(0))


def test_more_columns_than_rows():
    X, Xk, y = pairs(40, 60)
    for statistic in (LassoPath(), LassoPath("grid")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = statistic.importance(X, Xk, y, rng=np.random.default_rng(0))
        assert found.W[0] > 0


def test_ties_and_late_columns_get_zero():
    coefficients = np.array([[0.0, 0.1, 0.2], [0.0, 0.3, 0.4], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(first_nonzero(coefficients, np.array([3.0, 2.0, 1.0])), [2.0, 2.0, 0.0])


def test_constant_response():
    X, Xk, _ = pairs(50, 4)
    for statistic in (LassoPath(), LassoPath("grid")):
        assert not statistic.importance(X, Xk, np.ones(50), rng=np.random.default_rng(0)).W.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    statistic = LassoPath(n_lambdas=40, ratio=0.05)
    X, Xk, y = pairs(400, 8)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    names = np.array(["red", "green", "blue"])[labels]
    found = statistic.importance(X, Xk, names, rng=np.random.default_rng(0), task="classification")
    assert (found.W[:3] > np.abs(found.W[3:]).max()).all()


def no_gram_matrix(monkeypatch, limit: int) -> None:
    """Lower the limit, and fail where all columns are multiplied with each other all the same."""
    monkeypatch.setattr("grip2.statistics.lasso_cv.GRAM_COLUMNS_MAX", limit)
    for place in ("lasso_path.moments", "lasso_path.lars_path_gram"):
        monkeypatch.setattr(f"grip2.statistics.{place}", lambda *_, **__: pytest.fail("a Gram matrix was formed"))


@pytest.mark.parametrize(("n", "p"), [(150, 10), (40, 60)])
@pytest.mark.parametrize("method", ["auto", "grid"])
def test_lasso_path_of_many_columns_is_the_grid_without_a_gram_matrix(monkeypatch, n, p, method):
    # Two algorithms enter columns at the same penalty where both converged.
    monkeypatch.setattr("grip2.statistics.lasso_cv.TOLERANCE", 1e-13)
    X, Xk, y = pairs(n, p)
    expected = LassoPath("grid").importance(X, Xk, y, rng=np.random.default_rng(0))
    constant = LassoPath("grid").importance(X, Xk, np.ones(n), rng=np.random.default_rng(0))
    no_gram_matrix(monkeypatch, 5)
    found = LassoPath(method).importance(X, Xk, y, rng=np.random.default_rng(0))
    assert found.facts.details["method"] == "grid"
    np.testing.assert_allclose(found.original, expected.original, rtol=1e-9)
    np.testing.assert_allclose(found.knockoff, expected.knockoff, rtol=1e-9)
    alone = LassoPath(method).importance(X, Xk, np.ones(n), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(alone.W, constant.W)


# At 5 nearly every step goes without a Gram matrix, at 25 those with many working columns.
@pytest.mark.parametrize("limit", [5, 25])
def test_classes_of_many_columns_go_without_a_gram_matrix(monkeypatch, limit):
    statistic = LassoPath(n_lambdas=40, ratio=0.02)
    X, Xk, y = pairs(120, 20)
    labels = np.digitize(y, np.quantile(y, [0.4, 0.7]))
    expected = statistic.importance(X, Xk, labels, rng=np.random.default_rng(0), task="classification")
    no_gram_matrix(monkeypatch, limit)
    found = statistic.importance(X, Xk, labels, rng=np.random.default_rng(0), task="classification")
    np.testing.assert_allclose(found.original, expected.original, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.knockoff, expected.knockoff, rtol=1e-6, atol=1e-9)


def test_least_angle_regression_of_many_columns_is_refused(monkeypatch):
    X, Xk, y = pairs(30, 10)
    no_gram_matrix(monkeypatch, 19)
    with pytest.raises(ValueError, match=r"method must be 'auto' or 'grid' for more than .*, got 'lars' with 20"):
        LassoPath("lars").importance(X, Xk, y, rng=np.random.default_rng(0))


def test_errors_say_what_to_do():
    X, Xk, y = pairs(30, 3)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="method must be 'auto', 'lars' or 'grid', got 'omp'"):
        LassoPath("omp").importance(X, Xk, y, rng=rng)
    with pytest.raises(ValueError, match="method='lars' is for measurements"):
        LassoPath("lars").importance(X, Xk, y > 0, rng=rng, task="classification")
    with pytest.raises(ValueError, match="one class only"):
        LassoPath().importance(X, Xk, np.zeros(30), rng=rng, task="classification")


@pytest.mark.parametrize("statistic", [LassoPath(n_lambdas=0), LassoPath(ratio=2.0), LassoPath(ratio=0)])
def test_bad_grids_are_refused(statistic):
    X, Xk = np.random.default_rng(0).standard_normal((2, 30, 3))
    with pytest.raises(ValueError, match="must be"):
        statistic.importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


def test_units_enter_with_the_first_of_their_columns():
    rng = np.random.default_rng(3)
    X, *Xks = rng.standard_normal((3, 200, 6))
    response = response_from(X[:, 0] + 0.5 * X[:, 3] + rng.standard_normal(200), "regression")
    units = Units(np.array([0, 0, 1, 1, 2, 0]))
    columns, found = (
        LassoPath()._importance(members_of(X, *Xks, units=of), response, rng=rng, progress=None).scores
        for of in (None, units)
    )
    for member, unit in np.ndindex(3, 3):
        assert found[member, unit] == max(columns[member, j] for j in range(6) if units.of_column[j] == unit)
