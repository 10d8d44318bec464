"""Covariance estimates: agreement with scikit-learn, independence of units, repair of singular matrices."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, ledoit_wolf_shrinkage

from grip2.knockoffs import NumericalRepairWarning
from grip2.knockoffs.base import row_blocks
from grip2.knockoffs.covariance import (
    ledoit_wolf_coefficient,
    scatter,
    shrink,
    shrink_by,
    shrink_least,
    shrunk_covariance,
    stabilised,
)
from tests.knockoffs.cases import ar1, duplicated, normal_rows


@pytest.fixture
def X():
    return normal_rows(60, ar1(15, 0.6), np.random.default_rng(3))


def test_the_coefficient_is_scikit_learns(X):
    centred = X - X.mean(axis=0)
    assert ledoit_wolf_coefficient(scatter([centred])) == pytest.approx(ledoit_wolf_shrinkage(X), rel=1e-12)


def test_the_estimate_is_scikit_learns_up_to_the_divisor(X):
    centred = X - X.mean(axis=0)
    shrunk, weight = shrink(scatter([centred]))
    expected, coefficient = ledoit_wolf(X)
    np.testing.assert_allclose(shrunk * (len(X) - 1) / len(X), expected, rtol=1e-12)
    assert weight == pytest.approx(coefficient)


def test_blocks_of_rows_do_not_matter(X):
    centred = X - X.mean(axis=0)
    whole, parts = scatter([centred]), scatter([centred[:7], centred[7:50], centred[50:]])
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-12)
    assert parts.fourth == pytest.approx(whole.fourth)


def test_extra_shrinkage_is_added_and_clipped(X):
    moments = scatter([X - X.mean(axis=0)])
    base = shrink(moments)[1]
    assert shrink(moments, 0.05)[1] == pytest.approx(base + 0.05)
    full, weight = shrink(moments, 1.0)
    assert weight == 1.0
    np.testing.assert_allclose(full, np.trace(moments.covariance) / 15 * np.eye(15), atol=1e-14)


def test_least_shrinkage_is_none_or_reaches_the_floor(X):
    estimate = shrunk_covariance(X)
    assert estimate.shrinkage == 0.0
    np.testing.assert_allclose(estimate.covariance, np.cov(X.T), rtol=1e-10)
    X[:, 1] = X[:, 0]
    estimate = shrunk_covariance(X)
    assert 0 < estimate.shrinkage <= 0.01 + 1e-12
    root = np.sqrt(np.diag(estimate.covariance))
    np.testing.assert_allclose(root, X.std(axis=0, ddof=1), rtol=1e-12)
    assert np.linalg.eigvalsh(estimate.covariance / np.outer(root, root))[0] == pytest.approx(0.01, abs=1e-10)
    assert shrink_least(scatter([np.vstack([np.eye(3), -np.eye(3)])]))[1] == 0.0


def test_fewer_rows_than_twice_the_columns_are_left_to_ledoit_wolf(X):
    assert shrunk_covariance(X[:29]).shrinkage == shrunk_covariance(X[:29], shrinkage="ledoit_wolf").shrinkage > 0.01
    assert shrunk_covariance(X[:30]).shrinkage < 0.01 + 1e-12


def test_numerical_shrinkage_leaves_columns_that_nearly_determine_each_other(X):
    X[:, 1] = X[:, 0] + 1e-2 * X[:, 1]
    smallest = np.linalg.eigvalsh(np.corrcoef(X.T))[0]
    assert 1e-6 < smallest < 1e-3
    assert shrunk_covariance(X, shrinkage="numerical").shrinkage == 0.0 < shrunk_covariance(X).shrinkage
    X[:, 1] = X[:, 0]
    estimate = shrunk_covariance(X, shrinkage="numerical")
    root = np.sqrt(np.diag(estimate.covariance))
    assert np.linalg.eigvalsh(estimate.covariance / np.outer(root, root))[0] == pytest.approx(1e-6, abs=1e-12)
    # With few rows Ledoit-Wolf without what the paper adds to it.
    few = scatter([X[:29] - X[:29].mean(axis=0)])
    assert shrink_by("numerical", few, 0.01)[1] == ledoit_wolf_coefficient(few) < shrink_by("least", few, 0.01)[1]


@pytest.mark.parametrize("rule", ["least", "numerical", "ledoit_wolf"])
def test_units_do_not_matter(X, rule):
    units = 10.0 ** np.arange(-7, 8)
    plain = shrunk_covariance(X, shrinkage=rule)
    large = shrunk_covariance(X * units + 5 * units, shrinkage=rule)
    np.testing.assert_allclose(large.covariance, plain.covariance * np.outer(units, units), rtol=1e-9)
    np.testing.assert_allclose(large.mean, (plain.mean + 5) * units, rtol=1e-9)
    np.testing.assert_allclose(np.diag(plain.covariance), X.var(axis=0, ddof=1), rtol=1e-12)


def test_float32_is_accumulated_in_float64():
    X = (1000 + normal_rows(50_000, ar1(3, 0.8), np.random.default_rng(0))).astype(np.float32)
    estimate = shrunk_covariance(X)
    expected = shrunk_covariance(X.astype(float))
    np.testing.assert_allclose(estimate.mean, X.mean(axis=0, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(estimate.covariance, expected.covariance, rtol=1e-10)


def test_a_regular_matrix_is_not_touched():
    Sigma, ridge = stabilised(ar1(5, 0.9), who="T")
    assert ridge == 0.0
    np.testing.assert_array_equal(Sigma, ar1(5, 0.9))


def test_a_singular_matrix_is_repaired_with_a_warning():
    units = np.array([1.0, 1.0, 100.0, 1e-3, 1.0])
    with pytest.warns(NumericalRepairWarning, match=r"T: Sigma is singular.*ridge of 1e-08.*false discovery rate"):
        Sigma, ridge = stabilised(duplicated(5) * np.outer(units, units), who="T")
    np.testing.assert_allclose(np.diag(Sigma), units**2 * (1 + ridge), rtol=1e-12)


def test_row_blocks_cover_all_rows_once():
    X = np.empty((100_001, 500), dtype=np.int8)
    row_indices = np.concatenate([np.arange(block.start, block.stop) for block in row_blocks(X)])
    np.testing.assert_array_equal(row_indices, np.arange(100_001))
