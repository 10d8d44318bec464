"""Copula knockoffs of categories: frequencies of levels, the Gibbs sampler, moments and exchangeability of all members."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs
from grip2.knockoffs.category import MISSING, CategoryModel, CategoryScores, category_models, solve_means
from grip2.knockoffs.latent import with_fixed_blocks
from grip2.units import Units
from tests.knockoffs.cases import ar1, largest_z, normal_rows, uneven
from tests.knockoffs.exchange import largest_difference

RNG = np.random.default_rng
RARE = np.concatenate([[0.6, 0.2], np.full(10, 0.0199), [1e-3 - 1e-5, 1e-5]])
FIFTY = np.concatenate([[0.3], np.full(49, 0.7 / 49)])
FREQUENCIES = pytest.mark.parametrize(
    "frequencies", [np.array([0.9, 0.1]), np.array([0.3, 0.5, 0.2]), RARE / RARE.sum(), FIFTY]
)


def model_of(frequencies: np.ndarray) -> CategoryModel:
    return CategoryModel.alone(np.arange(len(frequencies) - 1), np.asarray(frequencies))


def level_frequencies(indicators: np.ndarray) -> np.ndarray:
    return np.concatenate([[1 - indicators.sum(axis=1).mean()], indicators.mean(axis=0)])


@FREQUENCIES
def test_levels_have_their_frequencies(frequencies):
    """200,000 rows: every level within 5.5 standard errors plus 1e-6; false-alarm rate below 50 x 4e-8 (rare levels: Poisson,
    two rows expected, more than 5.5 standard errors with probability 2e-5). Equal means, the broken twin, fail."""
    model = model_of(frequencies)
    Z = normal_rows(200_000, model.within, RNG(0))
    found = level_frequencies(model.indicators(Z))
    error = np.sqrt(frequencies * (1 - frequencies) / len(Z))
    assert np.all(np.abs(found - frequencies) < 5.5 * error + 1e-6)
    equal = level_frequencies(CategoryModel(model.columns, frequencies, np.zeros(len(model.a))).indicators(Z))
    assert np.any(np.abs(equal - frequencies) > 5.5 * error)


def test_frequencies_with_dependence_on_other_columns():
    """Scores of variances up to 5: 200,000 rows, within 2 % of each level (the accuracy of the quasi-random points) plus 5.5
    standard errors, false-alarm rate below 1e-6; the means of a category alone fail."""
    frequencies = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
    alone = model_of(frequencies)
    covariance = alone.within + np.diag([4.0, 0.5, 1.0, 2.0])
    Z = normal_rows(200_000, covariance, RNG(0))
    bound = 0.02 * frequencies + 5.5 * np.sqrt(frequencies / len(Z))
    assert np.all(np.abs(level_frequencies(alone.among(covariance).indicators(Z)) - frequencies) < bound)
    assert np.any(np.abs(level_frequencies(alone.indicators(Z)) - frequencies) > bound)


def test_two_levels_are_a_probit_model():
    explained = np.array([[-1.0], [0.5], [2.0]])
    a = solve_means(np.array([0.7, 0.3]), explained, np.zeros(1))
    assert norm.cdf(a[0] + explained[:, 0]).mean() == pytest.approx(0.3, rel=1e-5)


def test_means_of_many_levels_take_few_steps(monkeypatch):
    """Newton's method ends although the integral of the largest of fifty utilities is exact to some millionths only."""
    from grip2.knockoffs import category

    steps = []

    def counted(b: np.ndarray, explained: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        steps.append(b)
        return probabilities(b, explained)

    probabilities = category._level_probabilities
    monkeypatch.setattr(category, "_level_probabilities", counted)
    explained = RNG(0).standard_normal((64, 49))
    a = solve_means(FIFTY, explained, 0.6 * np.log(FIFTY[1:] / FIFTY[0]))
    assert len(steps) <= 10
    found = probabilities(np.sqrt(2) * a, np.sqrt(2) * explained)[0]
    np.testing.assert_allclose(found, FIFTY, rtol=1e-4)


def test_slopes_are_derivatives():
    """J against differences of probabilities, found by moving one mean a_k up and down."""
    model = model_of(np.array([0.4, 0.3, 0.2, 0.1]))
    J = model.slopes(model.within)
    from grip2.knockoffs.category import _level_probabilities

    root, zero = np.sqrt(2), np.zeros((1, 3))
    for k, step in enumerate(1e-4 * np.eye(3)):
        up, down = (_level_probabilities(root * (model.a + side * step), zero)[0][1:] for side in (1, -1))
        np.testing.assert_allclose(J[:, k], (up - down) / 2e-4, rtol=1e-4)


def test_levels_and_back():
    model = model_of(np.array([0.5, 0.3, 0.2]))
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]])
    level = model.levels(X)
    np.testing.assert_array_equal(level, [0, 1, 2, MISSING])
    start = model.start(np.tile(level, 50), RNG(0))
    np.testing.assert_array_equal(
        model.levels(model.indicators(start)).reshape(50, 4)[:, :3], np.tile(level[:3], (50, 1))
    )


def related(n: int, rng: np.random.Generator, levels: int = 5) -> tuple[np.ndarray, CategoryModel, np.ndarray]:
    """Two normal columns and the scores of a category that depends on both: rows, model, and the covariance of all."""
    k = levels - 1
    first = CategoryModel(np.arange(2, 2 + k), np.full(levels, 1 / levels), np.zeros(k))
    Sigma = np.eye(2 + k)
    Sigma[:2, :2] = ar1(2, 0.5)
    Sigma[2:, :2] = RNG(7).uniform(-1, 1, (k, 2))
    Sigma[:2, 2:] = Sigma[2:, :2].T
    Sigma[2:, 2:] = 10 * np.eye(k)
    Sigma = with_fixed_blocks(Sigma, [CategoryScores(first, np.empty(0, dtype=int))])
    model = first.among(Sigma[2:, 2:])
    return normal_rows(n, Sigma, rng), model, Sigma


def test_fixed_blocks():
    """The covariance given other columns is the fixed one in every block, and nothing else changes."""
    Sigma = uneven(8) + np.eye(8)
    steps = [
        CategoryScores(CategoryModel(np.array(columns), np.full(4, 0.25), np.zeros(3)), np.empty(0, dtype=int))
        for columns in ([0, 2, 5], [1, 3, 4])
    ]
    found = with_fixed_blocks(Sigma, steps)
    Q = np.linalg.inv(found)
    outside = np.ones((8, 8), dtype=bool)
    for step in steps:
        block = np.ix_(step.columns, step.columns)
        np.testing.assert_allclose(np.linalg.inv(Q[block]), step.model.within, atol=1e-5)
        outside[block] = False
    assert np.linalg.eigvalsh(found)[0] > 0
    np.testing.assert_allclose(found[outside], Sigma[outside])


def swept(Z: np.ndarray, model: CategoryModel, Sigma: np.ndarray, sweeps: int, rng: np.random.Generator) -> np.ndarray:
    Z = Z.copy()
    step = CategoryScores(model, model.levels(np.hstack([Z[:, :2], model.indicators(Z)])))
    for _ in range(sweeps):
        step.sweep(Z, np.linalg.inv(Sigma), rng)
    return Z


def test_the_gibbs_sampler_keeps_the_distribution():
    """Exact scores, five sweeps given their levels: second moments, 40,000 rows, bound 5.5 standard errors for 21 moments,
    false-alarm rate 1e-6; levels stay. A sampler with another covariance of utilities, the broken twin, fails."""
    Z, model, Sigma = related(40_000, RNG(0))
    after = swept(Z, model, Sigma, 5, RNG(1))
    np.testing.assert_array_equal(model.indicators(after), model.indicators(Z))
    assert np.abs(after - Z)[:, 2:].mean() > 0.1
    assert largest_z(after, Sigma) < 5.5
    wrong = Sigma.copy()
    wrong[2:, 2:] += np.eye(4)
    assert largest_z(swept(Z, model, wrong, 5, RNG(1)), Sigma) > 11


def test_the_gibbs_sampler_draws_the_right_scores_of_one_level():
    """Three levels, 20,000 rows of one level without other columns, 20 sweeps against draws accepted by their level:
    Kolmogorov-Smirnov, level 1e-6, two scores. The scores of the other level, the broken twin, fail."""
    model = model_of(np.array([0.5, 0.3, 0.2]))
    Z = normal_rows(400_000, model.within, RNG(0))
    exact = Z[model.levels(model.indicators(Z)) == 2]
    level = np.full(20_000, 2)
    drawn = model.start(level, RNG(1))
    step = CategoryScores(model, level)
    rng = RNG(2)
    for _ in range(20):
        step.sweep(drawn, np.linalg.inv(model.within), rng)
    for k in range(2):
        assert kstest(drawn[:, k], exact[:, k]).pvalue > 1e-6
    assert kstest(drawn[:, 0], exact[:, 1]).pvalue < 1e-6


def table(n: int, rng: np.random.Generator, levels: int = 5) -> tuple[np.ndarray, list[str], list[list[int]]]:
    """Four columns and a category that depend on two factors; groups and categories beside it."""
    F = rng.standard_normal((n, 2))
    numbers = F @ RNG(5).standard_normal((2, 4)) + rng.standard_normal((n, 4))
    numbers[:, 3] = np.clip(np.round(numbers[:, 3]), -2, 2)
    utility = F @ RNG(6).standard_normal((2, levels)) + np.linspace(1, 0, levels) + rng.standard_normal((n, levels))
    indicators = (utility.argmax(axis=1)[:, None] == np.arange(1, levels)).astype(float)
    places = list(range(4, 3 + levels))
    return np.hstack([numbers, indicators]), ["a", "b", "c", "d"] + ["level"] * (levels - 1), [places]


def test_moments_of_all_members():
    """20,000 rows, three copies: means and second moments of all members, originals included.

    The largest standard deviation of a difference, times sqrt(n), is that of the variance of the rarest level (5 % of the
    rows): 6.3. Bound 35, 5.5 of them, false-alarm rate below 1e-5 for about 100 moments; the largest was 4 to 11 in ten data
    sets. Twins, above 80: knockoffs of other rows, and knockoffs from a model of independent columns.
    """
    X, groups, categories = table(20_000, RNG(0))
    sampler = CopulaKnockoffs().fit(X, groups=groups, categories=categories)
    copies = sampler.sample(X, rng=RNG(1), copies=3)
    for copy in copies:
        assert set(np.unique(copy[:, 4:])) == {0.0, 1.0}
        assert copy[:, 4:].sum(axis=1).max() == 1.0
    units = sampler.units_
    assert largest_difference([X, *copies], units) < 35
    dummies = CopulaKnockoffs().fit(X, groups=groups).sample(X, rng=RNG(1), copies=3)
    assert dummies[0][:, 4:].sum(axis=1).max() > 1
    assert largest_difference([X, *RNG(2).permutation(copies, axis=1)], units) > 70
    alone = CopulaKnockoffs().fit(RNG(3).permuted(X, axis=0), groups=groups).sample(X, rng=RNG(1), copies=3)
    assert largest_difference([X, *alone], units) > 70


def test_dependence_of_categories_with_each_other():
    """Two categories of four levels with common factors, 5,000 rows: correlations of indicators of one with those of the
    other, in X, in Xk and between them. Standard error of a difference 0.02 at most: bound 0.11, false-alarm rate below
    1e-5. Knockoffs of other rows, the broken twin, fail."""
    rng = RNG(0)
    F = rng.standard_normal((5000, 2))
    parts = []
    for seed in (1, 2):
        utility = 1.5 * F @ RNG(seed).standard_normal((2, 4)) + rng.standard_normal((5000, 4))
        parts.append(utility.argmax(axis=1)[:, None] == np.arange(1, 4))
    X = np.hstack(parts).astype(float)
    categories = [[0, 1, 2], [3, 4, 5]]
    sampler = CopulaKnockoffs().fit(X, groups=list("aaabbb"), categories=categories)
    Xk = sampler.sample(X, rng=RNG(1))
    R = np.corrcoef(X.T, Xk.T)
    own, knockoff, cross, back = R[:3, 3:6], R[6:9, 9:12], R[:3, 9:12], R[6:9, 3:6].copy()
    assert np.abs(own).max() > 0.15
    for found in (knockoff, cross, back):
        assert np.abs(found - own).max() < 0.11
    assert np.abs(np.corrcoef(X.T, RNG(2).permutation(Xk).T)[:3, 9:12] - own).max() > 0.22


def test_many_levels():
    """20 levels, the rarest with a few rows: knockoffs are levels, correlations with numbers are kept.

    Root mean square difference of 76 correlations, standard error 0.024 each: below 0.04, independent levels above 0.08.
    """
    X, groups, categories = table(2000, RNG(0), levels=20)
    sampler = CopulaKnockoffs().fit(X, groups=groups, categories=categories)
    Xk = sampler.sample(X, rng=RNG(1))
    assert Xk[:, 4:].sum(axis=1).max() == 1.0
    present = np.flatnonzero(Xk.std(axis=0) > 0)
    levels = present[present >= 4]
    own, found = (np.corrcoef(M[:, [0, 1, 2, 3, *levels]].T)[:4, 4:] for M in (X, Xk))
    assert np.sqrt(np.mean((own - found) ** 2)) < 0.04
    assert np.sqrt(np.mean(own**2)) > 0.08


def test_a_category_of_two_levels_is_like_a_discrete_column():
    X = (normal_rows(5000, ar1(4, 0.6), RNG(0)) > 0.5).astype(float)
    sampler = CopulaKnockoffs().fit(X, categories=[[0]])
    plain = CopulaKnockoffs().fit(X)
    root = np.sqrt(np.diag(sampler.covariance_))
    np.testing.assert_allclose(sampler.covariance_ / root[:, None] / root, plain.covariance_, atol=0.08)
    own, found = (np.corrcoef(M.T) for M in (X, sampler.sample(X, rng=RNG(1))))
    np.testing.assert_allclose(own, found, atol=0.08)


@pytest.mark.parametrize("discrete", ["latent", "ranks", "interpolate"])
def test_categories_stay_categories_whatever_discrete_is(discrete):
    X, groups, categories = table(300, RNG(0))
    Xk = CopulaKnockoffs(discrete=discrete).fit(X, groups=groups, categories=categories).sample(X, rng=RNG(1))
    assert set(np.unique(Xk[:, 4:])) == {0.0, 1.0}
    assert Xk[:, 4:].sum(axis=1).max() == 1.0


def test_seeds_and_names():
    X, groups, categories = table(200, RNG(0))
    first, second = (CopulaKnockoffs().fit(X, groups=groups, categories=categories) for _ in range(2))
    np.testing.assert_array_equal(first.covariance_, second.covariance_)
    np.testing.assert_array_equal(first.sample(X, rng=RNG(1)), second.sample(X, rng=RNG(1)))
    assert "multinomial probit" in " ".join(first.assumptions())
    assert CopulaKnockoffs.draws_categories


def test_fewer_rows_than_columns():
    X, groups, categories = table(60, RNG(0), levels=4)
    X = np.hstack([X, RNG(1).standard_normal((60, 70))])
    Xk = CopulaKnockoffs().fit(X, groups=groups + list(range(70)), categories=categories).sample(X, rng=RNG(1))
    assert np.isfinite(Xk).all()
    assert Xk[:, 4:7].sum(axis=1).max() == 1.0


@pytest.mark.parametrize(
    ("columns", "change", "message"),
    [
        ([[0, 9]], None, "numbers of its columns"),
        ([[0.5]], None, "numbers of its columns"),
        ([[]], None, "numbers of its columns"),
        ([[0, 1], [1]], None, "one category only"),
        ([[0, 0]], None, "one category only"),
        ([[0, 2]], None, "must lie in one unit"),
        ([[0, 1]], (0, 0, 0.5), "hold 0 and 1"),
        ([[0, 1]], (slice(0, 1), slice(0, 2), 1.0), "hold 0 and 1"),
        ([[0, 1]], (0, 0, np.nan), "NaN in all its columns"),
        (
            [[0, 1]],
            (slice(None), slice(0, 2), np.tile([[1.0, 0], [0, 1]], (6, 1))),
            "every level of a category must occur",
        ),
    ],
)
def test_errors_say_what_to_do(columns, change, message):
    X = np.hstack([np.tile([[0.0, 0], [1, 0], [0, 1]], (4, 1)), np.arange(12.0)[:, None]])
    if change is not None:
        X[change[0], change[1]] = change[2]
    with pytest.raises(Grip2Error, match=f"CopulaKnockoffs: .*{message}"):
        CopulaKnockoffs().fit(X, groups=["a", "a", "b"], categories=columns)


def test_models_of_a_table():
    X = np.tile([[0.0, 0, 1.5], [1, 0, 2], [0, 1, 3], [np.nan, np.nan, 4], [0, 0, 5]], (2, 1))
    (model,) = category_models(X, [(0, 1)], Units(np.array([0, 0, 1])), X, "who")
    np.testing.assert_allclose(model.frequencies, [0.5, 0.25, 0.25])
