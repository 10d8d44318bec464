"""Sequential knockoffs: second moments of all members on tables of every kind, broken twins, groups, categories, control."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

import grip2.knockoffs.sequential.chain as chain
import grip2.knockoffs.sequential.learning as learning
from grip2.errors import Grip2Error
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs, SequentialKnockoffs
from grip2.knockoffs.sequential.boosted import RowHalves
from tests.knockoffs.cases import ar1, normal_rows, uneven

RNG = np.random.default_rng
ROWS = 6_000


def gaussian(rng: np.random.Generator) -> tuple[np.ndarray, list[int], list[list[int]]]:
    return normal_rows(ROWS, uneven(5), rng), list(range(5)), []


def ordinal(rng: np.random.Generator) -> tuple[np.ndarray, list[int], list[list[int]]]:
    return np.digitize(normal_rows(ROWS, uneven(5), rng), [-0.5, 0.2, 1.5]).astype(float), list(range(5)), []


def zero_inflated(rng: np.random.Generator) -> tuple[np.ndarray, list[int], list[list[int]]]:
    """Spiked continuous columns, a count with many values, a rare 0/1 column, a lognormal one."""
    Z = normal_rows(ROWS, uneven(5), rng)
    X = np.maximum(Z, 0.3)
    X[:, 1] = np.maximum(Z[:, 1] + 1, 0)
    X[:, 2] = np.floor(20 * np.exp(0.6 * Z[:, 2]))
    X[:, 3] = Z[:, 3] > 1.6
    X[:, 4] = np.exp(0.5 * Z[:, 4])
    return X, list(range(5)), []


def categorical(rng: np.random.Generator) -> tuple[np.ndarray, list[int], list[list[int]]]:
    """A category of four levels, one of three levels, two numbers, and a group of two numbers."""
    Z = normal_rows(ROWS, uneven(6), rng)
    noisy = Z[:, :2] + 0.5 * rng.standard_normal((ROWS, 2))
    first, second = np.digitize(noisy[:, 0], [-0.8, 0.3, 1.2]), np.digitize(-noisy[:, 1], [0.0, 1.0])
    X = np.column_stack([*(first == level for level in (1, 2, 3)), *(second == level for level in (1, 2)), Z[:, 2:]])
    return X.astype(float), [0, 0, 0, 1, 1, 2, 3, 4, 4], [[0, 1, 2], [3, 4]]


TABLES = {table.__name__: table for table in (gaussian, ordinal, zero_inflated, categorical)}


def largest_contrast(X: np.ndarray, Xk: np.ndarray, labels: list[int]) -> tuple[float, float]:
    """The largest error of a second moment, in standard errors, and the bound that it exceeds with probability 1e-5.

    Contrasts of products that exchangeable members make zero in expectation, each standardised by its own standard error.
    Estimated models and 6,000 rows: the moments of the models are fitted to the same rows, which only makes errors smaller.
    """
    scale = X.std(axis=0)
    members = [(member - X.mean(axis=0)) / scale for member in (X, *(Xk[None] if Xk.ndim == 2 else Xk))]
    contrasts = []
    p = X.shape[1]
    for j, k in combinations(range(p), 2):
        if labels[j] == labels[k]:
            contrasts += [members[0][:, j] * members[0][:, k] - other[:, j] * other[:, k] for other in members[1:]]
            continue
        product = members[0][:, j] * members[0][:, k]
        contrasts += [
            product - a[:, j] * b[:, k] for a in members for b in members if a is not b or a is not members[0]
        ]
    for j in range(p):
        contrasts += [members[0][:, j] ** 2 - other[:, j] ** 2 for other in members[1:]]
        own = [a[:, j] * b[:, j] for a, b in combinations(members, 2)]
        contrasts += [own[0] - other for other in own[1:]]
    z = max(abs(c.mean()) / (c.std() / np.sqrt(len(c)) + 1e-300) for c in contrasts if c.std() > 0)
    return float(z), float(norm.isf(1e-5 / (2 * len(contrasts))))


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("name", TABLES)
def test_second_moments_of_all_members(name, copies):
    rng = RNG(5)
    X, labels, categories = TABLES[name](rng)
    sampler = SequentialKnockoffs().fit(X, groups=labels, categories=categories)
    Xk = sampler.sample(X, rng=rng, copies=copies)
    z, bound = largest_contrast(X, Xk, labels)
    assert z < bound
    found = np.mean([np.mean((X - X.mean(0)) * (copy - copy.mean(0)), 0) for copy in np.atleast_3d(Xk.T).T], axis=0)
    np.testing.assert_allclose(found / X.var(axis=0), sampler.own_correlation(copies), atol=0.06)
    assert sampler.own_correlation(copies).max() < 0.97
    # Broken twins: other rows, and other columns.
    assert largest_contrast(X, np.roll(Xk, 1, axis=-2), labels)[0] > 2 * bound
    assert largest_contrast(X, np.roll(Xk, 1, axis=-1), labels)[0] > 2 * bound


def test_a_twin_that_ignores_the_knockoffs_drawn_before(monkeypatch):
    """Predictors X_-j only: knockoffs are then too weakly correlated with each other."""
    honest = chain.draw_unit

    def forgetful(models, X, M, noise, scale, halves, drawn):
        columns = chain.columns_of([model.part for model in models])
        before = M[:, columns].copy()
        members = honest(models, X, M, noise, scale, halves, drawn)
        M[:, columns] = before
        return members

    rng = RNG(5)
    X = normal_rows(2 * ROWS, uneven(5), rng)
    monkeypatch.setattr(chain, "draw_unit", forgetful)
    monkeypatch.setattr(learning, "draw_unit", forgetful)
    z, bound = largest_contrast(X, SequentialKnockoffs().fit(X).sample(X, rng=rng), list(range(5)))
    assert z > 2 * bound


def test_a_twin_whose_copies_share_their_noise(monkeypatch):
    honest = chain.copied_quantiles

    def shared(u, normal, rho, copies):
        return np.repeat(honest(u, normal[:, :1], max(rho, -1.0), 1), copies, axis=0)

    rng = RNG(5)
    X, labels, _ = gaussian(rng)
    monkeypatch.setattr(chain, "copied_quantiles", shared)
    monkeypatch.setattr(learning, "copied_quantiles", shared)
    z, bound = largest_contrast(X, SequentialKnockoffs().fit(X).sample(X, rng=rng, copies=3), labels)
    assert z > 2 * bound


@pytest.mark.parametrize("copies", [1, 3])
def test_normal_columns_get_the_s_of_gaussian_knockoffs(copies, monkeypatch):
    """The naive twin: Gaussian knockoffs with the same S. 20,000 rows, standard error of S / variance below 0.007.

    Bound 0.04 for each of 5 columns; false-alarm rate below 1e-7. The broken twin lets a column predict its own knockoff.
    """
    X = normal_rows(20_000, uneven(5), RNG(3))
    wanted = GaussianKnockoffs().fit(X).s_for(copies)
    np.testing.assert_allclose(SequentialKnockoffs().fit(X).s_for(copies), wanted, atol=0.04)
    honest = learning.learn_part

    def peeking(part, M, values, allowed, *rest):
        return honest(part, M, values, np.union1d(allowed, part.columns), *rest)

    monkeypatch.setattr(learning, "learn_part", peeking)
    assert np.abs(SequentialKnockoffs().fit(X).s_for(copies) - wanted).min() > 0.1


def test_knockoffs_keep_observed_values_where_that_leaves_power():
    X, labels, categories = categorical(RNG(0))
    Xk = SequentialKnockoffs().fit(X, groups=labels, categories=categories).sample(X, rng=RNG(1), copies=2)
    for columns in categories:
        assert set(np.unique(Xk[:, :, columns])) == {0.0, 1.0}
        assert Xk[:, :, columns].sum(axis=-1).max() == 1
    X = ordinal(RNG(0))[0]
    assert set(np.unique(SequentialKnockoffs().fit(X).sample(X, rng=RNG(1)))) == set(np.unique(X))


def test_columns_that_determine_each_other():
    """A count that is 0 exactly where another is: observed values leave no power, other values do; ``keep_values`` decides."""
    rng = RNG(2)
    count = (rng.random(3_000) < 0.05) * rng.integers(1, 6, 3_000)
    X = np.column_stack([count, count > 0, rng.integers(0, 3, 3_000)]).astype(float)
    free, kept = SequentialKnockoffs().fit(X), SequentialKnockoffs(keep_values=True).fit(X)
    assert free.own_correlation()[:2].max() < 0.97
    assert kept.own_correlation()[1] > free.own_correlation()[1]
    assert set(np.unique(kept.sample(X, rng=rng)[:, 1])) == {0.0, 1.0}


def test_rows_in_blocks_and_alone_have_one_distribution():
    X = ordinal(RNG(0))[0]
    sampler = SequentialKnockoffs().fit(X[:2_000])
    few = np.vstack([sampler.sample(X[:500], rng=RNG(seed)) for seed in range(4)])
    many = sampler.sample(np.tile(X[:500], (4, 1)), rng=RNG(9))
    error = np.sqrt((few.var(axis=0) + many.var(axis=0)) / 2_000)
    assert np.abs((few.mean(axis=0) - many.mean(axis=0)) / error).max() < 5.2  # 5 columns: false-alarm rate 1e-6


def test_more_columns_than_rows():
    X = normal_rows(80, ar1(120, 0.6), RNG(0))
    sampler = SequentialKnockoffs().fit(X)
    Xk = sampler.sample(X, rng=RNG(1))
    assert np.isfinite(Xk).all()
    assert 0.7 < (Xk.std(axis=0) / X.std(axis=0)).mean() < 1.3


def test_trees_follow_dependence_that_is_not_linear():
    rng = RNG(1)
    Z = rng.standard_normal((1_500, 3))
    X = np.column_stack([Z[:, 0], Z[:, 0] ** 2 + 0.5 * Z[:, 1], Z[:, 2]])

    def quadratic_correlation(model: str) -> float:
        Xk = SequentialKnockoffs(model=model).fit(X).sample(X, rng=RNG(2))
        return float(np.corrcoef(X[:, 0] ** 2, Xk[:, 1])[0, 1])

    assert quadratic_correlation("trees") > 0.5 > 0.3 > abs(quadratic_correlation("linear"))


def test_halves_of_rows_do_not_depend_on_the_unit_itself():
    X = RNG(0).standard_normal((1_000, 4))
    changed = X.copy()
    changed[:, 1] = 7.0
    own = np.array([1])
    halves = RowHalves.of(X).without(own)
    np.testing.assert_array_equal(RowHalves.of(changed).without(own), halves)
    assert abs(halves.mean() - 0.5) < 0.07  # false-alarm rate 1e-5
    assert np.any(RowHalves.of(changed).without(np.array([0])) != RowHalves.of(X).without(np.array([0])))


def test_bad_input_is_refused_in_words():
    X = RNG(0).standard_normal((50, 4))
    with pytest.raises(
        Grip2Error, match=r"SequentialKnockoffs: model must be one of .*got 'tree'. Did you mean 'trees'?"
    ):
        SequentialKnockoffs(model="tree").fit(X)
    with pytest.raises(Grip2Error, match="columns of a category must lie in one unit, got category 0 in several"):
        SequentialKnockoffs().fit(X, categories=[[0, 1]])
    with pytest.raises(Grip2Error, match="each at most once, got 9 in category 0"):
        SequentialKnockoffs().fit(X, categories=[[9]])


def ridge_difference(X: np.ndarray, Xk: np.ndarray, y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """|coefficient| of the original less that of the knockoff in a ridge regression; norms over the columns of a unit."""
    Z = np.hstack([X, Xk])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    b = np.linalg.solve(Z.T @ Z + 0.05 * len(Z) * np.eye(Z.shape[1]), Z.T @ (y - y.mean()))
    p = X.shape[1]
    original, copy = (np.sqrt(np.bincount(labels, part**2)) for part in (b[:p], b[p:]))
    return original - copy


def test_false_discovery_rate_on_a_mixed_table():
    """200 replicates of y and of the knockoffs on one table of 24 units (7 true), SNR 1, level 0.2.

    If the level is kept, the mean FDP exceeds 0.2 by 3.8 standard errors with probability below 1e-4. A twin whose knockoffs
    ignore the other columns exceeds it.
    """
    rng = RNG(4)
    n = 500
    Z = normal_rows(n, ar1(24, 0.7), rng)
    Z[:, 6:12] = np.digitize(Z[:, 6:12], [-0.5, 0.5, 1.5])
    Z[:, 12:18] = np.maximum(Z[:, 12:18], 0.0)
    level = np.digitize(Z[:, 18], [-0.5, 0.6])
    X = np.column_stack([Z[:, :18], level == 1, level == 2, Z[:, 19:]])
    labels = np.array([*range(18), 18, 18, *range(19, 24)])
    sampler = SequentialKnockoffs().fit(X, groups=labels, categories=[[18, 19]])
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    false, twin, power = [], [], []
    for _ in range(200):
        true = rng.choice(24, 7, replace=False)
        signal = standard[:, np.isin(labels, true)].sum(axis=1)
        y = signal + signal.std() * rng.standard_normal(n)
        for Xk, found in ((sampler.sample(X, rng=rng), false), (rng.permuted(X, axis=0), twin)):
            W = ridge_difference(X, Xk, y, labels)
            selected = np.flatnonzero(W >= knockoff_threshold(W, 0.2))
            found.append(np.mean(~np.isin(selected, true)) if len(selected) else 0.0)
            if found is false:
                power.append(np.isin(true, selected).mean())
    bound = 0.2 + 3.8 * np.std(false) / np.sqrt(len(false))
    assert np.mean(false) < bound < np.mean(twin)
    assert np.mean(power) > 0.4
