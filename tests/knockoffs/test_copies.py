"""Copies drawn together, of single columns and of groups: the joint distribution of all members."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import norm, rankdata

from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs
from grip2.knockoffs.conditional import ConditionalGaussian, KnockoffLaws
from grip2.units import Layout, Units
from tests.knockoffs.cases import ar1, joint, largest_z, law_of, members, normal_rows, scaled, uneven, z_bound

RNG = np.random.default_rng
P, N = 6, 20_000
# Columns of a group need not be neighbours.
GROUPS = ("a", "b", "a", "c", "b", "a")
SINGLE = [(s, None) for s in ("equi", "sdp", "mvr", "maxent")]
GROUPED = [(s, GROUPS) for s in ("equi", "mvr", "maxent")]
CASES = pytest.mark.parametrize(
    ("s", "groups"), SINGLE + GROUPED, ids=[s for s, _ in SINGLE] + [f"{s}-groups" for s, _ in GROUPED]
)
COPIES = pytest.mark.parametrize("copies", [1, 2, 3, 5])


def known(Sigma: np.ndarray, s: str, groups: tuple[str, ...] | None) -> GaussianKnockoffs:
    p = len(Sigma)
    return GaussianKnockoffs(np.zeros(p), Sigma, s=s).fit(np.zeros((2, p)), groups=groups)


def bound(copies: int) -> float:
    """Largest error of all second moments, in standard errors: exceeded by exact copies with probability 1e-5."""
    return z_bound((1 + copies) * P)


class BasisVectors:
    """Stands in for a generator: its "random" numbers are the rows of an identity matrix, or zeros."""

    def __init__(self, noise: np.ndarray) -> None:
        self.noise = noise

    def standard_normal(self, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        return self.noise.reshape(shape).astype(dtype)


def implied_covariance(law: ConditionalGaussian, Sigma: np.ndarray) -> np.ndarray:
    """The exact covariance of all members. ``draw`` is linear in X and in its noise: basis vectors reveal its matrix."""
    p = len(Sigma)
    n_noise = p * (1 if law.copies == 1 else 1 + law.copies)
    X = np.vstack([np.eye(p), np.zeros((n_noise, p))])
    noise = np.vstack([np.zeros((p, n_noise)), np.eye(n_noise)])
    table = members(X, law.draw(X, BasisVectors(noise)))  # type: ignore[arg-type]
    of_X, of_noise = table[:p], table[p:]
    return of_X.T @ Sigma @ of_X + of_noise.T @ of_noise


def relative_error(found: np.ndarray, target: np.ndarray) -> float:
    root = np.sqrt(np.diag(target))
    return float(np.abs((found - target) / np.outer(root, root)).max())


@COPIES
@CASES
def test_the_implied_covariance_is_exact(s, groups, copies):
    Sigma = scaled(uneven(P))
    sampler = known(Sigma, s, groups)
    found = implied_covariance(law_of(sampler, copies), Sigma)
    assert relative_error(found, joint(Sigma, sampler.s_for(copies), copies)) < 1e-8


@COPIES
@CASES
def test_moments_of_all_members(s, groups, copies):
    """One draw of 20,000 rows, all second moments of the (1 + m) p columns; false-alarm rate 1e-5 each, 28 cases."""
    rng = RNG([copies, 1])
    Sigma = scaled(uneven(P))
    X = normal_rows(N, Sigma, rng)
    sampler = known(Sigma, s, groups)
    Xk = sampler.sample(X, rng=rng, copies=copies)
    assert Xk.shape == ((N, P) if copies == 1 else (copies, N, P))
    assert largest_z(members(X, Xk), joint(Sigma, sampler.s_for(copies), copies)) < bound(copies)


def permuted(covariance: np.ndarray, units: Units, copies: int, rng: np.random.Generator) -> np.ndarray:
    """The covariance of all members after a random permutation of the members of every unit."""
    layout = Layout(1 + copies, units)
    columns = np.arange(layout.n_columns).reshape(1 + copies, -1)
    for of_unit in units.columns:
        columns[:, of_unit] = columns[rng.permutation(1 + copies)][:, of_unit]
    order = columns.reshape(-1)
    return covariance[np.ix_(order, order)]


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_permuting_the_members_of_units_changes_nothing(groups):
    """The definition itself, on the exact covariance; columns of one unit cannot be permuted separately."""
    Sigma, copies = uneven(P), 3
    sampler = known(Sigma, "mvr", groups)
    found = implied_covariance(law_of(sampler, copies), Sigma)
    for seed in range(20):
        assert relative_error(permuted(found, sampler.units_, copies, RNG(seed)), found) < 1e-8
    if groups is not None:
        assert relative_error(permuted(found, Units.single(P), copies, RNG(0)), found) > 0.01


def clipped(law: ConditionalGaussian, Sigma: np.ndarray, S: np.ndarray) -> ConditionalGaussian:
    """``law`` made for another S, with the negative part of its conditional covariance ignored."""
    twin = law.astype(np.dtype(float))
    twin.A, twin.L = np.linalg.solve(Sigma, np.diag(S)), np.sqrt(S)
    M = (law.copies + 1) / law.copies * np.diag(S) - S[:, None] * twin.A
    values, vectors = eigh((M + M.T) / 2)
    twin.C = vectors * np.sqrt(np.maximum(values, 0.0))
    return twin


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_broken_twins_fail_the_moment_test(groups):
    rng, copies = RNG(1), 5
    Sigma = uneven(P)
    X = normal_rows(N, Sigma, rng)
    sampler = known(Sigma, "equi", groups)
    law, S = law_of(sampler, copies), sampler.s_for(copies)
    target = joint(Sigma, S, copies)

    def error(Xk: np.ndarray) -> float:
        return largest_z(members(X, Xk), target)

    assert error(law.draw(X, rng)) < bound(copies)
    # The factor of the common noise transposed.
    transposed = law.astype(np.dtype(float))
    transposed.C = law.C.T
    assert error(transposed.draw(X, rng)) > 2 * bound(copies)
    # Copies drawn independently given X: each is a valid knockoff, and they are not jointly exchangeable with X.
    alone = ConditionalGaussian(np.zeros(P), Sigma, S, who="twin")
    independent = np.concatenate([alone.draw(X, rng) for _ in range(copies)])
    for copy in independent:
        assert largest_z(members(X, copy), joint(Sigma, S)) < bound(1)
    assert error(independent) > 2 * bound(copies)
    # Identical copies: all noise is shared.
    assert error(np.repeat(alone.draw(X, rng), copies, axis=0)) > 2 * bound(copies)


def test_s_of_one_copy_is_too_large_for_five():
    rng, copies = RNG(1), 5
    Sigma = ar1(P, 0.7)
    X = normal_rows(N, Sigma, rng)
    sampler = known(Sigma, "equi", None)
    s = sampler.s_for(1)
    with pytest.raises(
        Grip2Error, match="twin: the conditional covariance of the knockoffs must be positive semidefinite"
    ):
        ConditionalGaussian(np.zeros(P), Sigma, s, copies=copies, who="twin")
    twin = clipped(law_of(sampler, copies), Sigma, s).draw(X, rng)
    assert largest_z(members(X, twin), joint(Sigma, s, copies)) > 2 * bound(copies)
    assert largest_z(members(X, twin), joint(Sigma, sampler.s_for(copies), copies)) > 2 * bound(copies)
    with pytest.raises(Grip2Error, match="copies=5"):  # the same s given as values
        GaussianKnockoffs(np.zeros(P), Sigma, s=s).fit(X).sample(X, rng=rng, copies=copies)


def test_own_correlation_grows_with_copies():
    sampler = known(scaled(uneven(P)), "mvr", None)
    one, five = sampler.own_correlation(), sampler.own_correlation(5)
    np.testing.assert_array_equal(one, 1 - sampler.s_ / np.diag(sampler.covariance_))
    assert one.shape == (P,)
    assert np.all(five > one)
    grouped = known(scaled(uneven(P)), "mvr", GROUPS)
    assert grouped.s_for(5).shape == (P, P)
    np.testing.assert_array_equal(
        grouped.own_correlation(5), 1 - np.diag(grouped.s_for(5)) / np.diag(grouped.covariance_)
    )


def test_groups_leave_more_room_than_single_columns():
    """Two nearly equal columns have no good knockoffs by themselves; as a unit they have."""
    Sigma = np.eye(4)
    Sigma[0, 1] = Sigma[1, 0] = 0.99
    single, grouped = known(Sigma, "mvr", None), known(Sigma, "mvr", ("a", "a", "b", "c"))
    assert single.own_correlation()[:2].min() > 0.9
    assert grouped.own_correlation()[:2].max() < 0.3


def test_solvers_run_only_for_the_copies_asked_for(monkeypatch):
    asked: list[int] = []
    original = KnockoffLaws.for_copies
    monkeypatch.setattr(KnockoffLaws, "for_copies", lambda self, m: asked.append(m) or original(self, m))
    X = normal_rows(50, ar1(4, 0.5), RNG(0))
    sampler = GaussianKnockoffs().fit(X)
    assert not asked
    sampler.sample(X, rng=RNG(0), copies=5)
    assert set(asked) == {5}
    assert set(sampler._laws._made) == {5}


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_copula_moments_of_the_normal_scores(groups):
    """8,000 rows of exp(z), 3 copies: scores recovered with the marginal distributions learned from X; false-alarm rate 1e-5."""
    rng, copies = RNG(2), 3
    X = np.exp(normal_rows(8000, uneven(P), rng))
    sampler = CopulaKnockoffs().fit(X, groups=groups)
    target = joint(sampler.covariance_, sampler.s_for(copies), copies)

    def error(copy: np.ndarray) -> float:
        return largest_z(np.hstack([sampler.scores(member, rng=rng) for member in (X, *copy)]), target)

    assert error(sampler.sample(X, rng=rng, copies=copies)) < bound(copies)
    # Each copy valid, drawn by itself with the same S.
    single = CopulaKnockoffs(s=sampler.s_for(copies)).fit(X, groups=groups)
    assert error(np.stack([single.sample(X, rng=rng) for _ in range(copies)])) > 2 * bound(copies)


def mixed(n: int, Sigma: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """0/1, counts, log-normal, heavy-tailed, spiked and normal columns that share a Gaussian copula."""
    Z = normal_rows(n, Sigma, rng)
    spiked = np.maximum(Z[:, 4] + 1, 0)
    counts = np.floor(3 * np.exp(0.5 * Z[:, 1]))
    return np.column_stack([Z[:, 0] > 0.5, counts, np.exp(Z[:, 2]), Z[:, 3] ** 3, spiked, Z[:, 5]])


def largest_rank_contrast(tables: list[np.ndarray]) -> tuple[float, int]:
    """Largest difference, in standard errors, between rank covariances that a permutation of members makes equal.

    For columns j and l, all covariances of column j of one member with column l of another are equal, and those within one
    member are equal. Each is compared with the first of its kind.
    """
    ranks = [(rankdata(table, axis=0) / len(table)) - 0.5 for table in tables]
    n, p = ranks[0].shape
    kinds = [
        [(a, a) for a in range(len(ranks))],
        [(a, b) for a in range(len(ranks)) for b in range(len(ranks)) if a != b],
    ]
    worst, count = 0.0, 0
    for within, kind in zip((True, False), kinds, strict=True):
        first = np.einsum("ij,il->ijl", ranks[kind[0][0]], ranks[kind[0][1]]).reshape(n, -1)
        for a, b in kind[1:]:
            d = np.einsum("ij,il->ijl", ranks[a], ranks[b]).reshape(n, -1) - first
            keep = d.std(axis=0) > 0  # a product of two columns does not depend on their order
            if within:
                keep &= ~np.eye(p, dtype=bool).reshape(-1)
            z = np.abs(d.mean(axis=0))[keep] / (d.std(axis=0)[keep] / np.sqrt(n))
            worst, count = max(worst, float(z.max())), count + z.size
    return worst, count


def test_copula_copies_of_mixed_columns_are_exchangeable_in_ranks():
    """Columns that are not normal: contrasts of rank covariances between members, 8,000 rows, 3 copies, known correlations.

    The largest of 480 contrasts exceeds the bound with probability 1e-5 (union bound, normal limit). Copies with latent
    scores and noise of their own, each a valid knockoff, fail.
    """
    rng, copies = RNG(3), 3
    Sigma = ar1(P, 0.6)
    X = mixed(8000, Sigma, rng)
    sampler = CopulaKnockoffs().fit(X)
    assert sampler.discrete_columns_.sum() == 2
    assert sampler.spiked_columns_.sum() == 1
    sampler._covariance, sampler._precision = Sigma, np.linalg.inv(Sigma)
    sampler._laws = KnockoffLaws(np.zeros(P), Sigma, "mvr", sampler.units_, who="test")
    worst, count = largest_rank_contrast([X, *sampler.sample(X, rng=rng, copies=copies)])
    limit = float(norm.isf(1e-5 / (2 * count)))
    assert worst < limit
    s = sampler.s_for(copies)
    sampler._laws = KnockoffLaws(np.zeros(P), Sigma, s, sampler.units_, who="test")
    alone = [sampler.sample(X, rng=rng) for _ in range(copies)]
    assert largest_rank_contrast([X, alone[0]])[0] < limit
    assert largest_rank_contrast([X, *alone])[0] > 2 * limit
