"""The models of sequential knockoffs against naive twins, and the completion of missing values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest

from grip2.errors import Grip2Error
from grip2.knockoffs import SequentialKnockoffs
from grip2.knockoffs.sequential.chain import copied_quantiles
from grip2.knockoffs.sequential.multinomial import learn_category, levels_of
from grip2.knockoffs.sequential.residuals import learn_residuals
from grip2.knockoffs.sequential.tilt import learn_support, learn_tilt
from tests.knockoffs.cases import ar1, normal_rows

RNG = np.random.default_rng


def centred(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    Z = rng.standard_normal((n, d))
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def test_the_tilt_maximises_its_enumerated_likelihood():
    """The naive twin: the likelihood written out value by value, maximised by scipy without derivatives of ours."""
    rng = RNG(0)
    Z = centred(200, 2, rng)
    column = np.digitize(Z @ [1.0, -0.5] + rng.standard_normal(200), [-1.0, 0.5]).astype(float)
    support = learn_support(column)
    model = learn_tilt(Z, column, support, 1.0)

    def loss(parameters: np.ndarray) -> float:
        base, slopes = np.r_[0.0, parameters[:2]], parameters[2:]
        total = 0.5 * float(slopes @ slopes)
        for z, value in zip(Z, column, strict=True):
            scores = [base[k] + support.points[k] * float(z @ slopes) for k in range(3)]
            total -= scores[int(value)] - float(np.log(np.sum(np.exp(scores))))
        return total

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-4})
    np.testing.assert_allclose(model.slopes, found.x[2:], atol=2e-3)
    np.testing.assert_allclose(np.diff(model.log_base), np.diff(np.r_[0.0, found.x[:2]]), atol=4e-3)


@pytest.mark.parametrize("values", [4, 30, 400])
def test_the_tilt_matches_frequencies_and_covariances(values):
    """Also where the model is wrong: a sine, skewed noise. The rest is ridge and, with 400 values, bins."""
    rng = RNG(1)
    Z = centred(3_000, 4, rng)
    raw = np.sin(Z[:, 0]) + Z[:, 1] + rng.exponential(size=3_000)
    column = np.floor(values * (raw - raw.min()) / np.ptp(raw))
    support = learn_support(column)
    law = learn_tilt(Z, column, support, 1.0).given(Z)
    P = np.diff(law.cumulative, axis=1, prepend=0.0)
    frequency = np.bincount(support.codes(column)) / len(column)
    np.testing.assert_allclose(P.mean(axis=0), frequency, atol=1e-4)
    error = Z.T @ (column - law.mean[:, 0]) / len(Z) / column.std()
    assert np.abs(error).max() < 2e-3
    assert set(np.unique(law.draw(rng.random(3_000)))) <= set(column)


def test_categories_match_products_with_predictors():
    rng = RNG(2)
    Z = centred(2_000, 3, rng)
    level = np.argmax(np.c_[np.zeros(2_000), Z[:, :2] @ [[1.0, -1], [0.5, 1]]] + rng.gumbel(size=(2_000, 3)), axis=1)
    indicators = (level[:, None] == [1, 2]).astype(float)
    model = learn_category(Z, indicators, 1.0)
    law = model.given(Z)
    np.testing.assert_array_equal(levels_of(indicators), level)
    assert np.abs(np.c_[np.ones(2_000), Z].T @ (indicators - law.mean)).max() / 2_000 < 2e-3
    slopes = model.slopes[:, 1:] - model.slopes[:, :1]  # against the reference; standard error 0.08, bound of 5
    np.testing.assert_allclose(slopes, [[1.0, -1.0], [0.5, 1.0], [0.0, 0.0]], atol=0.4)


@pytest.mark.parametrize("continuous", [True, False])
def test_residuals_match_variance_and_covariances(continuous):
    """Spread and skewness depend on the fitted value, and the mean is not linear.

    100 draws of 4,000 rows: standard error of the ratio of variances 0.004, bound 0.02; false-alarm rate below 1e-5.
    """
    rng = RNG(3)
    Z = centred(4_000, 3, rng)
    column = Z[:, 0] + 0.3 * Z[:, 0] ** 2 + np.exp(0.3 * Z[:, 1]) * rng.exponential(size=4_000)
    law = learn_residuals(Z, column, 1e-3, continuous=continuous).given(Z)
    drawn = np.array([law.draw(rng.random(4_000))[:, 0] for _ in range(100)])
    error = Z.T @ (column - drawn.mean(axis=0)) / len(Z) / column.std()
    assert np.abs(error).max() < 0.01
    assert abs(drawn.var() / column.var() - 1) < 0.02


@pytest.mark.parametrize("kind", ["tilt", "bins", "category", "residuals"])
def test_quantiles_invert_draws_and_are_uniform(kind):
    """4,000 rows; Kolmogorov-Smirnov at 1e-5. The parameters are fitted to the same rows, which makes it conservative."""
    rng = RNG(4)
    Z = centred(4_000, 2, rng)
    raw = Z @ [1.0, 0.5] + rng.standard_normal(4_000)
    if kind == "category":
        values = (np.digitize(raw, [-0.5, 1.0])[:, None] == [1, 2]).astype(float)
        law = learn_category(Z, values, 1.0).given(Z)
    elif kind == "residuals":
        values = raw[:, None]
        law = learn_residuals(Z, raw, 1e-3, continuous=True).given(Z)
    else:
        values = np.floor(2 * raw if kind == "tilt" else 100 * raw)[:, None]
        law = learn_tilt(Z, values[:, 0], learn_support(values[:, 0]), 1.0).given(Z)
    u = law.quantiles(values, rng.random(4_000))
    assert kstest(u, "uniform").pvalue > 1e-5
    again = law.draw(u)
    if kind == "residuals":  # draws are scaled to the variance of the column, and tables end at the outermost residuals
        inside = (u > 0.001) & (u < 0.999)
        assert np.std(again[inside] - values[inside]) < 0.02
    else:
        np.testing.assert_array_equal(again, values)
    assert kstest(law.quantiles(values[::-1], rng.random(4_000)), "uniform").pvalue < 1e-5  # other rows


@pytest.mark.parametrize(("copies", "rho"), [(1, 0.6), (1, -0.9), (3, 0.5), (3, -0.3)])
def test_scores_of_all_members_have_one_correlation(copies, rho):
    """20,000 rows: standard errors below 0.008, bound 0.04; false-alarm rate below 1e-5."""
    from scipy.special import ndtri

    rng = RNG(5)
    u = rng.random(20_000)
    others = copied_quantiles(u, rng.standard_normal((20_000, 1 if copies == 1 else 4)), rho, copies)
    scores = ndtri(np.vstack([u, others]))
    expected = np.where(np.eye(1 + copies, dtype=bool), 1.0, rho)
    np.testing.assert_allclose(scores @ scores.T / 20_000, expected, atol=0.04)


def test_missing_values_are_completed():
    """20 % of three columns missing at random, completely so in none: missing depends on a column that is always observed.

    3,000 rows: correlations of the completed table have standard errors below 0.03; bound 0.12. The twin that draws missing
    values from the observed ones of their column alone misses it.
    """
    rng = RNG(6)
    full = normal_rows(3_000, ar1(5, 0.8), rng)
    full[:, 1] = np.digitize(full[:, 1], [-0.5, 0.5])
    level = np.digitize(full[:, 2], [-0.7, 0.7])
    full = np.column_stack([full[:, [0, 1, 3, 4]], level == 1, level == 2])
    X = full.copy()
    for columns in ([1], [2], [4, 5]):
        X[np.ix_(rng.random(3_000) < np.where(full[:, 0] > 0, 0.35, 0.05), columns)] = np.nan
    labels, categories = [0, 1, 2, 3, 4, 4], [[4, 5]]
    sampler = SequentialKnockoffs().fit(X, groups=labels, categories=categories)
    done, again = (sampler.complete(X, rng=RNG(seed)) for seed in (7, 8))
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(done[seen], X[seen])
    assert np.isfinite(done).all()
    assert np.any(done != again)
    assert done[:, 4:].sum(axis=1).max() == 1
    assert set(np.unique(done[:, 1])) == {0.0, 1.0, 2.0}
    truth = np.corrcoef(full.T)
    assert np.abs(np.corrcoef(done.T) - truth).max() < 0.12
    naive = X.copy()
    for j in (1, 2, 4, 5):
        naive[~seen[:, j], j] = rng.choice(X[seen[:, j], j], (~seen[:, j]).sum())
    assert np.abs(np.corrcoef(naive.T) - truth).max() > 0.12
    assert sampler.complete(full, rng=rng) is full
    assert sampler.sample(done, rng=rng, copies=2).shape == (2, *X.shape)
    assert any("missing at random" in text for text in sampler.assumptions())
    elsewhere = done.copy()
    elsewhere[0, 3] = np.nan
    with pytest.raises(
        Grip2Error, match=r"SequentialKnockoffs: values may be missing only .*got missing values in column 3"
    ):
        sampler.complete(elsewhere, rng=rng)


@pytest.mark.parametrize("n", [1500, 9000])
def test_many_levels_given_nearly_collinear_predictors_match_all_moments(n):
    """12 levels, some rare, that predictors nearly determine; predictors that differ by a millionth. Expected products of
    indicators and predictors equal the observed ones, less the ridge's part, within 0.4 standard errors. 9,000 rows: the search
    begins with some of them."""
    rng = np.random.default_rng(4)
    base = rng.standard_normal((n, 6))
    Z = np.column_stack([base, base[:, :3] + 1e-6 * rng.standard_normal((n, 3)), base[:, 0] > 1.5])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    levels = np.digitize(base[:, 0] + base[:, 1] + 0.3 * rng.standard_normal(n), np.linspace(-3, 3, 11))
    indicators = np.asarray(levels[:, None] == np.arange(1, 12), dtype=float)
    model = learn_category(Z, indicators, 1.0)
    P = model.given(Z).mean
    error = (P - indicators).T @ Z + (model.slopes[:, 1:]).T
    deviation = np.sqrt((P * (1 - P)).T @ Z**2)
    assert np.max(np.abs(error) / deviation) < 0.4
