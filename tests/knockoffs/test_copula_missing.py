"""Copula knockoffs of tables with missing values: what is drawn, its moments, and exchangeability of the completed members."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs
from grip2.knockoffs import missing as missing_module
from grip2.knockoffs.missing import MissingScores
from tests.knockoffs.cases import ar1, normal_rows, uneven
from tests.knockoffs.exchange import largest_difference

RNG = np.random.default_rng


def with_holes(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape) < share, np.nan, X)


def median_imputed(X: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def correlation_error(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.abs(np.corrcoef(A.T) - np.corrcoef(B.T)).max())


@pytest.mark.parametrize("together", [64, 2])
def test_missing_scores_have_the_conditional_distribution(monkeypatch, together):
    """One row with three of five scores missing, 40,000 draws, against the formulas for a conditional normal.

    Mean and covariance within 5.5 standard errors, false-alarm rate 1e-6 for 9 moments. In parts of at most two, after 30
    sweeps. A draw with the noise ``Q_MM^-1 e``, the broken twin, has another covariance.
    """
    monkeypatch.setattr(missing_module, "_TOGETHER", together)
    Sigma, n = uneven(5), 40_000
    M, seen = np.array([0, 2, 3]), np.array([1, 4])
    mask = np.zeros((n, 5), dtype=bool)
    mask[:, M] = True
    Z = np.tile([0.0, 1.5, 0.0, 0.0, -1.0], (n, 1))
    step, rng = MissingScores.of(mask), RNG(0)
    for _ in range(1 if together == 64 else 30):
        step.sweep(Z, np.linalg.inv(Sigma), rng)
    np.testing.assert_array_equal(Z[:, seen], np.tile([1.5, -1.0], (n, 1)))
    A = Sigma[np.ix_(M, seen)] @ np.linalg.inv(Sigma[np.ix_(seen, seen)])
    covariance = Sigma[np.ix_(M, M)] - A @ Sigma[np.ix_(seen, M)]
    variance = np.diag(covariance)
    assert np.all(np.abs(Z[:, M].mean(axis=0) - A @ [1.5, -1.0]) < 5.5 * np.sqrt(variance / n))
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / n)
    assert np.all(np.abs(np.cov(Z[:, M].T) - covariance) < 5.5 * error)
    twin = np.linalg.inv(covariance) @ np.linalg.inv(covariance)
    assert np.any(np.abs(np.linalg.inv(twin) - covariance) > 11 * error)


def test_entries_are_grouped_by_their_number():
    mask = RNG(0).random((200, 7)) < 0.4
    step = MissingScores.of(mask)
    found = np.zeros_like(mask)
    for rows, columns in step.batches:
        assert not found[rows[:, None], columns].any()
        found[rows[:, None], columns] = True
    np.testing.assert_array_equal(found, mask)
    np.testing.assert_array_equal(step.columns, np.flatnonzero(mask.any(axis=0)))


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_completed_tables_have_the_right_moments(share):
    """Log-normal columns from scores of correlation 0.8, 10,000 rows, 10 or 30 % missing at random.

    Correlations of the logarithms against those of the table before holes: the standard error of one from 49 % of the rows is
    0.014 at most, bound 0.07, false-alarm rate below 1e-5 for 10 pairs. Median imputation fails. Observed entries stay.
    """
    X = np.exp(normal_rows(10_000, ar1(5, 0.8), RNG(0)))
    holed = with_holes(X, share, RNG(1))
    sampler = CopulaKnockoffs().fit(holed)
    completed = sampler.complete(holed, rng=RNG(2))
    seen = ~np.isnan(holed)
    np.testing.assert_array_equal(completed[seen], X[seen])
    assert correlation_error(np.log(completed), np.log(X)) < 0.07
    np.testing.assert_allclose(sampler.covariance_, ar1(5, 0.8), atol=0.07)
    assert correlation_error(np.log(median_imputed(holed)), np.log(X)) > 0.08
    # The draws must also vary as they should: a conditional mean would give too much correlation.
    both = np.isnan(holed[:, 0]) & np.isnan(holed[:, 1])
    if both.sum() > 500:
        assert np.corrcoef(np.log(completed[both][:, :2]).T)[0, 1] == pytest.approx(0.8, abs=0.09)


def mixed(n: int, rng: np.random.Generator) -> tuple[np.ndarray, list[object], list[list[int]]]:
    """Two continuous columns, a count, a spiked and a 0/1 column, and a category of four levels."""
    Z = normal_rows(n, ar1(7, 0.7), rng)
    utility = 1.5 * Z[:, [4]] * np.array([-1.0, 0.0, 1.0, 0.5]) + Z[:, [0]] * np.array([0, 1.0, 0, 0])
    level = (utility + rng.standard_normal((n, 4))).argmax(axis=1)
    X = np.column_stack(
        [
            Z[:, 0],
            np.exp(Z[:, 1] / 3),
            np.floor(3 * np.exp(Z[:, 2] / 2)),
            np.maximum(Z[:, 3] - ndtri(0.4), 0),
            Z[:, 5] > 0.5,
            level[:, None] == np.arange(1, 4),
        ]
    ).astype(float)
    return X, [0, 1, 2, 3, 4, "c", "c", "c"], [[5, 6, 7]]


def test_knockoffs_of_completed_tables_are_exchangeable():
    """10,000 rows, six variables of all kinds, 30 % missing, two copies: means and second moments of all members.

    Largest difference, times sqrt(n): 3.6 to 5.6 in ten data sets (mean 4.4, standard deviation 0.65). Bound 10, more than 8
    standard deviations above. Median imputation (a level that is missing becomes the reference), the broken twin: 26 to 31.
    Correlations of the completed table miss those without holes by 0.02 to 0.03: bound 0.09; median imputation 0.2.
    """
    X, groups, categories = mixed(10_000, RNG(0))
    hole = RNG(1).random(X.shape) < 0.3
    hole[:, 5:] = hole[:, 5:6]
    holed = np.where(hole, np.nan, X)
    sampler = CopulaKnockoffs().fit(holed, groups=groups, categories=categories)
    completed = sampler.complete(holed, rng=RNG(2))
    np.testing.assert_array_equal(completed[~hole], X[~hole])
    assert set(np.unique(completed[:, 5:])) == {0.0, 1.0}
    assert completed[:, 5:].sum(axis=1).max() == 1.0
    assert set(np.unique(completed[:, 2])) <= set(np.unique(X[:, 2]))
    assert correlation_error(completed, X) < 0.09
    assert largest_difference([completed, *sampler.sample(completed, rng=RNG(3), copies=2)], sampler.units_) < 10
    imputed = median_imputed(holed)
    assert correlation_error(imputed, X) > 0.12
    assert largest_difference([imputed, *sampler.sample(imputed, rng=RNG(3), copies=2)], sampler.units_) > 20


def test_a_complete_table_is_returned_as_it_is():
    X, groups, categories = mixed(200, RNG(0))
    sampler = CopulaKnockoffs().fit(X, groups=groups, categories=categories)
    rng = RNG(1)
    assert sampler.complete(X, rng=rng) is X
    assert rng.random() == RNG(1).random()


def test_seeds_new_rows_and_empty_rows():
    """Holes in rows that ``fit`` did not see, in columns where it saw none, and a row without any value."""
    X = np.exp(normal_rows(600, ar1(4, 0.8), RNG(0))).astype(np.float32)
    sampler = CopulaKnockoffs().fit(X[:500])
    new = X[500:].copy()
    new[0], new[1:, 2] = np.nan, np.nan
    first, second, other = (sampler.complete(new, rng=RNG(seed)) for seed in (1, 1, 2))
    assert np.isfinite(first).all()
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, second)
    assert (first[:, 2] != other[:, 2]).mean() > 0.9
    assert np.isnan(new[0]).all()


def test_gaussian_knockoffs_complete_too():
    """Normal columns in different units, 10,000 rows, 30 % missing; eight data sets gave the figures.

    Correlations miss those without holes by 0.014 to 0.025 (bound 0.07), after median imputation by 0.22. The largest
    difference between members, times sqrt(n): 3.3 to 4.1 (standard deviation 0.26, bound 8), after median imputation 22 to 25.
    """
    X = 5 + normal_rows(10_000, uneven(6), RNG(0)) * 10.0 ** np.arange(-2, 4)
    holed = with_holes(X, 0.3, RNG(1))
    sampler = GaussianKnockoffs().fit(holed)
    completed = sampler.complete(holed, rng=RNG(2))
    seen = ~np.isnan(holed)
    np.testing.assert_array_equal(completed[seen], X[seen])
    assert correlation_error(completed, X) < 0.07
    assert largest_difference([completed, *sampler.sample(completed, rng=RNG(3), copies=2)], sampler.units_) < 8
    imputed = median_imputed(holed)
    assert correlation_error(imputed, X) > 0.15
    assert largest_difference([imputed, *sampler.sample(imputed, rng=RNG(3), copies=2)], sampler.units_) > 16
    known = GaussianKnockoffs(np.zeros(6), uneven(6)).fit(holed)
    assert np.isfinite(known.complete(holed, rng=RNG(0))).all()
    assert sampler.complete(X, rng=RNG(0)) is X
    with pytest.raises(Grip2Error, match="fitted on 6 columns"):
        sampler.complete(holed[:, :3], rng=RNG(0))
    holed[:, 2] = np.nan
    with pytest.raises(Grip2Error, match="every column must vary, got a constant column 2"):
        GaussianKnockoffs().fit(holed)


def test_ranks_and_interpolation_complete_too():
    X, groups, categories = mixed(300, RNG(0))
    hole = RNG(1).random(X.shape) < 0.1
    hole[:, 5:] = hole[:, 5:6]
    holed = np.where(hole, np.nan, X)
    for discrete in ("ranks", "interpolate"):
        sampler = CopulaKnockoffs(discrete=discrete).fit(holed, groups=groups, categories=categories)
        completed = sampler.complete(holed, rng=RNG(2))
        assert np.isfinite(sampler.sample(completed, rng=RNG(3))).all()


def test_errors_say_what_to_do():
    X = with_holes(normal_rows(50, ar1(3, 0.5), RNG(0)), 0.2, RNG(1))
    with pytest.raises(Grip2Error, match="must be finite"):
        CopulaKnockoffs().fit(X).sample(X, rng=RNG(0))
    with pytest.raises(Grip2Error, match="fitted on 3 columns"):
        CopulaKnockoffs().fit(X).complete(X[:, :2], rng=RNG(0))
    X[1:, 1] = np.nan
    with pytest.raises(Grip2Error, match="every column must vary, got a constant column 1"):
        CopulaKnockoffs().fit(X)
    X[:, 1] = np.nan
    with pytest.raises(Grip2Error, match="every column must vary, got a constant column 1"):
        CopulaKnockoffs().fit(X)
    with pytest.raises(Grip2Error, match="must be finite"):
        CopulaKnockoffs().fit(np.where(np.isnan(X), np.inf, X))
