"""LassoCoefficient: classes, rare classes, many columns, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.members import members_of

from grip2.responses import response_from
from grip2.statistics import LassoCoefficient
from grip2.symmetry import draw_order, shuffled, unshuffled
from grip2.units import Units

RNG = np.random.default_rng


def pairs(n: int, p: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X, Xk = rng.standard_normal((2, n, p))
    y = X[:, :3] @ [1.0, 0.6, -0.4] + rng.standard_normal(n)
    return X, Xk, y


def test_more_columns_than_rows():
    X, Xk, y = pairs(40, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = LassoCoefficient().importance(X, Xk, y, rng=np.random.default_rng(0))
    assert found.W[0] > 0


def test_constant_response():
    X, Xk, _ = pairs(50, 4)
    assert not LassoCoefficient().importance(X, Xk, np.ones(50), rng=np.random.default_rng(0)).W.any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    X, Xk, y = pairs(400, 8)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    names = np.array(["red", "green", "blue"])[labels]
    statistic = LassoCoefficient(n_lambdas=40)
    found = statistic.importance(X, Xk, names, rng=np.random.default_rng(0), task="classification")
    assert (found.W[:3] > np.abs(found.W[3:]).max()).all()


def test_many_columns_go_without_a_gram_matrix(monkeypatch):
    X, Xk, y = pairs(150, 10)
    fast = LassoCoefficient().importance(X, Xk, y, rng=np.random.default_rng(0))
    monkeypatch.setattr("grip2.statistics.lasso_cv.GRAM_COLUMNS_MAX", 5)
    slow = LassoCoefficient().importance(X, Xk, y, rng=np.random.default_rng(0))
    assert slow.facts.details["lambda"] == pytest.approx(fast.facts.details["lambda"])
    np.testing.assert_allclose(slow.W, fast.W, atol=1e-3)  # both have a duality gap of at most a millionth


# At 5 nearly every step goes without a Gram matrix, at 25 those with many working columns.
@pytest.mark.parametrize("limit", [5, 25])
def test_classes_of_many_columns_go_without_a_gram_matrix(monkeypatch, limit):
    X, Xk, y = pairs(120, 20)
    labels = np.digitize(y, np.quantile(y, [0.4, 0.7]))
    statistic = LassoCoefficient(n_lambdas=40)
    expected = statistic.importance(X, Xk, labels, rng=np.random.default_rng(0), task="classification")
    monkeypatch.setattr("grip2.statistics.lasso_cv.GRAM_COLUMNS_MAX", limit)
    monkeypatch.setattr(
        "grip2.statistics.logistic_path.moments_by_fold", lambda *_, **__: pytest.fail("a Gram matrix was formed")
    )
    found = statistic.importance(X, Xk, labels, rng=np.random.default_rng(0), task="classification")
    # Two algorithms, each exact up to a millionth of the deviance.
    np.testing.assert_allclose(found.original, expected.original, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.knockoff, expected.knockoff, rtol=1e-4, atol=1e-5)


def test_one_class_is_refused():
    X, Xk, _ = pairs(30, 3)
    with pytest.raises(ValueError, match="one class only"):
        LassoCoefficient().importance(X, Xk, np.zeros(30), rng=np.random.default_rng(0), task="classification")


def test_a_rare_class_is_spread_over_the_folds():
    """100 rows, 2 of a third class: every training fold holds one of them, whatever the seed."""
    rng = np.random.default_rng(0)
    X, Xk = rng.standard_normal((2, 100, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(100) > 0).astype(float)
    y[[3, 50]] = 2.0
    for third in (y, np.where(np.arange(100) == 50, 1.0, y)):  # a class of one row is left out
        for seed in range(4):
            with pytest.warns(UserWarning, match=r"'2.0' \([12] row"):
                found = LassoCoefficient().importance(
                    X, Xk, third, rng=np.random.default_rng(seed), task="classification"
                )
            assert np.argmax(found.W) == 0
    with (
        pytest.warns(UserWarning, match=r"'True' \(1 row\)"),
        pytest.raises(ValueError, match="needs a class with at least 2 rows"),
    ):
        LassoCoefficient().importance(X, Xk, np.arange(100) == 3, rng=rng, task="classification")


@pytest.mark.parametrize("statistic", [LassoCoefficient(n_lambdas=0), LassoCoefficient(ratio=2.0)])
def test_bad_grids_are_refused(statistic):
    X, Xk = np.random.default_rng(0).standard_normal((2, 30, 3))
    with pytest.raises(ValueError, match="must be"):
        statistic.importance(X, Xk, X[:, 0], rng=np.random.default_rng(0))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_units_are_scored_by_the_norm_of_their_coefficients(task):
    tables = RNG(3).standard_normal((4, 200, 9))
    y = tables[0, :, 0] + tables[0, :, 1] + RNG(4).standard_normal(200)
    response = response_from((y > 0).astype(float) if task == "classification" else y, task)
    units = Units(np.array([0, 0, 1, 1, 1, 0, 2, 3, 3]))
    columns, found = (
        LassoCoefficient()._importance(members_of(*tables, units=of), response, rng=RNG(0), progress=None).scores
        for of in (None, units)
    )
    assert found.shape == (4, 4)
    for member, unit in np.ndindex(4, 4):
        expected = np.sqrt(sum(columns[member, j] ** 2 for j in range(9) if units.of_column[j] == unit))
        assert found[member, unit] == pytest.approx(expected)


def test_permuted_members_permute_their_scores():
    tables = tuple(RNG(3).standard_normal((4, 300, 9)))
    response = response_from(tables[0][:, 0] + tables[0][:, 4] + RNG(4).standard_normal(300), "regression")
    units = Units(np.arange(9) // 3)
    order = draw_order(3, 4, RNG(5))
    one, other = (
        LassoCoefficient()._importance(members, response, rng=RNG(0), progress=None).scores
        for members in (members_of(*tables, units=units), shuffled(tables, units, order))
    )
    np.testing.assert_allclose(unshuffled(other, order), one, atol=1e-3)
