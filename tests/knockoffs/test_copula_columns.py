"""Correlations of the columns themselves under a Gaussian copula: Mehler's formula, and matching where the copula misfits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from grip2.knockoffs import CopulaKnockoffs
from grip2.knockoffs import column_moments as module
from grip2.knockoffs.column_moments import ColumnCorrelations, column_correlations, match_columns
from grip2.knockoffs.covariance import with_block
from grip2.knockoffs.marginals import learn_marginal
from tests.knockoffs.cases import ar1, normal_rows, uneven

RNG = np.random.default_rng


def correlations(X: np.ndarray) -> ColumnCorrelations:
    marginals = [learn_marginal(column, discrete=True) for column in X.T]
    return column_correlations(X, X, marginals, np.ones(X.shape[1], dtype=bool))


@pytest.mark.parametrize("r", [-0.6, 0.3, 0.9])
def test_two_binary_columns_against_the_bivariate_normal(r):
    """0/1 columns of frequencies 0.3 and 0.1: the implied correlation from a bivariate normal probability."""
    X = np.array([[1.0, 0], [1, 0], [1, 1], *[[0, 0]] * 7])
    found = correlations(X).implied(np.array([[1, r], [r, 1]]))[0, 1]
    both = multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([ndtri(0.3), ndtri(0.1)])
    assert found == pytest.approx((both - 0.03) / np.sqrt(0.21 * 0.09), abs=2e-3)


def test_ordinal_and_spiked_columns_against_simulation():
    """1,000,000 rows, standard error 0.001: within 0.008, the error of the series included; false-alarm rate below 1e-10."""
    Z = normal_rows(1_000_000, ar1(2, 0.7), RNG(0))
    X = np.column_stack([np.floor(3 * np.exp(Z[:, 0] / 2)), np.maximum(Z[:, 1] - 0.5, 0)])
    found = correlations(X[:20_000]).implied(ar1(2, 0.7))[0, 1]
    assert found == pytest.approx(np.corrcoef(X.T)[0, 1], abs=0.02)


def test_scores_of_continuous_columns_are_taken_as_they_are():
    Z = normal_rows(500, ar1(3, 0.5), RNG(0))
    columns = column_correlations(
        np.exp(Z), Z, [learn_marginal(c, discrete=True) for c in Z.T], np.zeros(3, dtype=bool)
    )
    np.testing.assert_allclose(columns.observed, np.corrcoef(Z.T))
    np.testing.assert_allclose(columns.implied(ar1(3, 0.4)), ar1(3, 0.4), atol=1e-12)


def test_missing_pairs_are_left_out():
    Z = normal_rows(300, ar1(2, 0.5), RNG(0))
    holed = Z.copy()
    holed[:100, 0] = np.nan
    both = column_correlations(holed, Z, [learn_marginal(c, discrete=True) for c in Z.T], np.zeros(2, dtype=bool))
    assert both.observed[0, 1] == pytest.approx(np.corrcoef(Z[100:].T)[0, 1], abs=0.03)


def test_the_gradient_of_the_search(monkeypatch):
    """The gradient handed to the optimiser, against finite differences."""
    columns = correlations(np.clip(np.round(normal_rows(300, uneven(4), RNG(0))), -1, 2))
    seen = {}

    def keep(loss, start, **_):
        seen["error"] = check_grad(
            lambda x: loss(x)[0], lambda x: loss(x)[1], start + 0.1 * RNG(1).standard_normal(len(start))
        )
        raise StopIteration

    monkeypatch.setattr(module, "minimize", keep)
    with pytest.raises(StopIteration):
        columns.matched(np.eye(4) * 0.5 + 0.5, 0.01, 0.1)
    assert seen["error"] < 1e-5


def test_correlations_are_recovered_and_eigenvalues_kept():
    """From any start, the correlations of scores that made 20,000 rows of ordinal columns; standard error 0.01, bound 0.06."""
    Z = normal_rows(20_000, ar1(5, 0.7), RNG(0))
    columns = correlations(np.clip(np.round(1.5 * Z), -2, 3))
    found = columns.matched(np.eye(5), 0.01, 1e-6)
    np.testing.assert_allclose(found, ar1(5, 0.7), atol=0.06)
    np.testing.assert_allclose(np.diag(found), 1.0)
    singular = correlations(np.repeat(np.round(Z[:, :2]), 2, axis=1)).matched(np.eye(4), 0.01, 1e-6)
    assert np.linalg.eigvalsh(singular)[0] >= 0.01 - 1e-10


def test_a_fitting_copula_is_left_alone():
    """In three data sets the error was 0.15 to 0.45 standard errors; R comes back itself."""
    X = (normal_rows(2000, ar1(10, 0.7), RNG(0)) > 0.5).astype(float)
    sampler = CopulaKnockoffs().fit(X)
    assert sampler.column_fit_ is not None
    assert not sampler.column_fit_.matched
    assert "does not fit" not in " ".join(sampler.assumptions())
    R = sampler.covariance_
    assert match_columns(R, correlations(X), 2000, 0.01)[0] is R


def misfit(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three blocks of three unrelated counts, all of which are large in the same 5 % of the rows: no Gaussian copula."""
    large = np.repeat(rng.random((n, 3)) < 0.05, 3, axis=1)
    return np.where(large, 8 + rng.integers(0, 4, (n, 9)), rng.integers(0, 4, (n, 9))).astype(float)


def moment_errors(X: np.ndarray, Xk: np.ndarray) -> tuple[float, float]:
    """Root mean square error of the correlations within Xk and between X and Xk, off the diagonal, times sqrt(n)."""
    p = X.shape[1]
    R = np.corrcoef(X.T, Xk.T)
    off = ~np.eye(p, dtype=bool)
    within, cross = R[p:, p:] - R[:p, :p], R[:p, p:] - R[:p, :p]
    return float(np.sqrt(len(X) * np.mean(within[off] ** 2))), float(np.sqrt(len(X) * np.mean(cross[off] ** 2)))


def test_a_copula_that_does_not_fit_is_matched(monkeypatch):
    """4,000 rows of counts that are large together: correlations of knockoffs, and of columns with knockoffs of others.

    Root mean square errors in five data sets, in units of 1 / sqrt(n): 0.8 to 0.9 matched (standard deviation 0.03 and
    0.07), bound 2; 13 to 16 without matching, the broken twin.
    """
    X = misfit(4000, RNG(0))
    sampler = CopulaKnockoffs().fit(X)
    fit = sampler.column_fit_
    assert fit is not None
    assert fit.matched
    assert fit.used < fit.standard_error < fit.likeliest
    assert "does not fit" in " ".join(sampler.assumptions())
    matched = moment_errors(X, sampler.sample(X, rng=RNG(1)))
    monkeypatch.setattr(module, "MOST_COLUMNS", 0)
    plain = CopulaKnockoffs().fit(X)
    assert "not mended" in " ".join(plain.assumptions())
    twin = moment_errors(X, plain.sample(X, rng=RNG(1)))
    assert max(matched) < 2
    assert min(twin) > 8


def test_a_changed_block_keeps_the_rest_given_it():
    Sigma, block = uneven(5), ar1(3, 0.2)
    columns, rest = np.array([0, 2, 3]), np.array([1, 4])
    found = with_block(Sigma, columns, block)
    np.testing.assert_allclose(found[np.ix_(columns, columns)], block)
    for M, S in ((found, block), (Sigma, Sigma[np.ix_(columns, columns)])):
        A = M[np.ix_(rest, columns)] @ np.linalg.inv(S)
        given = M[np.ix_(rest, rest)] - A @ S @ A.T
        np.testing.assert_allclose(A, Sigma[np.ix_(rest, columns)] @ np.linalg.inv(Sigma[np.ix_(columns, columns)]))
        np.testing.assert_allclose(given, np.linalg.inv(np.linalg.inv(Sigma)[np.ix_(rest, rest)]))
