"""Block-diagonal S: feasibility and certificates first, then a naive twin (exact moves along one direction at a time)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix import RIDGE, SOLVERS, _maxent, _mvr, choose_s, equicorrelated, maxent, mvr, sdp
from grip2.units import Units
from tests.knockoffs.cases import ar1, blocks, duplicated, low_rank, scaled, uneven

SOLVE = {"mvr": _mvr.solve_blocks, "maxent": _maxent.solve_blocks}
SMOOTH = pytest.mark.parametrize("name", ["mvr", "maxent"])
BLOCKWISE = pytest.mark.parametrize("name", ["equi", "mvr", "maxent"])
COPIES = pytest.mark.parametrize("copies", [1, 2, 5])


def spectrum(p: int, smallest: float, seed: int = 0) -> np.ndarray:
    """A correlation matrix with random eigenvectors and eigenvalues over many orders of magnitude."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))[0]
    Sigma = (Q * np.geomspace(smallest, 1, p)) @ Q.T
    root = np.sqrt(np.diag(Sigma))
    return (Sigma + Sigma.T) / np.outer(root, root) / 2


FAMILIES = {
    "independent": np.eye(24),
    "ar1": ar1(24, 0.8),
    "blocks": blocks(24, 0.9, 4),
    "equicorrelated": blocks(24, 0.99, 24),
    "spectrum": spectrum(24, 1e-3),
    "nearly singular": spectrum(24, 1e-7),
    "uneven": uneven(24),
    "scaled": scaled(uneven(24)),
    "duplicated": duplicated(24),
    "low rank": low_rank(24, 9),
    "ill conditioned": ar1(24, 1 - 1e-10),
}
PARTITIONS = {
    "side by side": np.arange(24) // 4,
    "unequal and interleaved": np.random.default_rng(0).permutation(np.repeat(np.arange(6), [1, 11, 1, 2, 5, 4])),
}

CERTIFIED = np.array([0, 1, 1, 0, 2, 2, 2, 3])


def correlation(Sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    root = np.sqrt(np.diag(Sigma))
    return Sigma / np.outer(root, root), root


def objective(name: str, S: np.ndarray, R: np.ndarray, copies: int) -> float:
    """What is minimised, from its definition."""
    D = (copies + 1) / copies * R - S
    if name == "mvr":
        return float(np.trace(np.linalg.inv(D)) + copies**2 * np.trace(np.linalg.inv(S)))
    return -float(np.linalg.slogdet(D)[1] + copies * np.linalg.slogdet(S)[1])


def twin(name: str, R: np.ndarray, labels: np.ndarray, m: int, *, sweeps: int, refresh: bool = True) -> np.ndarray:
    """Moves ``S += delta v v'`` with the exact best delta, v in an orthonormal basis of each group.

    The basis is that of the eigenvectors of R_gg in the first sweep, and a random one in every later sweep (``refresh``),
    so that moves in all directions are made. From S_g = gamma R_gg.
    """
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    S = np.zeros_like(R)
    for g in groups:
        S[np.ix_(g, g)] = R[np.ix_(g, g)]
    while np.linalg.eigvalsh((m + 1) / m * R - S)[0] <= 0:
        S /= 2
    S /= 2
    for sweep in range(sweeps):
        for g in groups:
            basis = np.linalg.eigh(R[np.ix_(g, g)])[1]
            if refresh and sweep:
                basis = np.linalg.qr(rng.standard_normal(basis.shape))[0]
            for direction in basis.T:
                v = np.zeros(len(R))
                v[g] = direction
                to_D, to_S = np.linalg.solve((m + 1) / m * R - S, v), np.linalg.solve(S, v)
                a, b = v @ to_D, v @ to_S
                if name == "maxent":
                    delta = (m * b - a) / ((m + 1) * a * b)
                else:  # the root of r / (1 - delta a)^2 = m^2 q / (1 + delta b)^2
                    r, q = np.linalg.norm(to_D), m * np.linalg.norm(to_S)
                    delta = (q - r) / (b * r + a * q)
                S = S + delta * np.outer(v, v)
    return S


@BLOCKWISE
@pytest.mark.parametrize("copies", [1, 5])
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_feasible(name, copies, partition, family):
    Sigma, labels = FAMILIES[family], PARTITIONS[partition]
    R, root = correlation(Sigma)
    S = SOLVERS[name](Sigma, copies=copies, groups=labels) / np.outer(root, root)
    c = (copies + 1) / copies
    np.testing.assert_allclose(S, S.T, rtol=1e-12, atol=0)
    assert np.all(S[np.not_equal.outer(labels, labels)] == 0)
    assert np.linalg.eigvalsh(S)[0] > 0
    smallest = np.linalg.eigvalsh(c * R - S)[0]
    # A ridge is added only to matrices with eigenvalues below RIDGE.
    if np.linalg.eigvalsh(R)[0] > RIDGE:
        assert smallest > 0
    assert smallest >= -1.01 * c * RIDGE
    # S_g <= R_gg holds at the optimum without being imposed.
    for label in np.unique(labels):
        g = np.flatnonzero(labels == label)
        inside = R[np.ix_(g, g)] - S[np.ix_(g, g)]
        assert np.linalg.eigvalsh(inside)[0] >= -1e-6


@SMOOTH
@COPIES
@pytest.mark.parametrize("seed", range(2))
def test_not_worse_than_the_naive_twin(name, copies, seed):
    """A few sweeps leave the twin slightly above the optimum, many bring it there."""
    rng = np.random.default_rng(seed)
    R = correlation(np.cov(rng.standard_normal((8, 40)) + 0.7 * rng.standard_normal(40)))[0]
    labels = rng.integers(0, 4, 8)
    found = SOLVERS[name](R, copies=copies, groups=labels)
    value = objective(name, found, R, copies)
    for refresh in (False, True):
        early = objective(name, twin(name, R, labels, copies, sweeps=3, refresh=refresh), R, copies)
        assert value <= early + 1e-9 * abs(early)
    late = twin(name, R, labels, copies, sweeps=120)
    assert abs(value - objective(name, late, R, copies)) <= 1e-9 * abs(value)
    np.testing.assert_allclose(found, late, atol=1e-4)


def test_moves_along_fixed_eigenvectors_do_not_reach_the_optimum():
    """The comparison with the twin is sensitive: S restricted to the eigenvectors of R_gg is measurably worse."""
    R, labels = uneven(9), np.arange(9) % 3
    fixed = objective("mvr", twin("mvr", R, labels, 1, sweeps=100, refresh=False), R, 1)
    assert objective("mvr", mvr(R, groups=labels), R, 1) < fixed - 1e-4


def certificate(name: str, S: np.ndarray, R: np.ndarray, labels: np.ndarray, m: int) -> float:
    """Naive twin of ``gap``: the largest ``trace(G (S - T))`` over ``0 <= T_g <= C_g``, without whitening."""
    D = (m + 1) / m * R - S
    to_D, to_S = np.linalg.inv(D), np.linalg.inv(S)
    gradient = to_D @ to_D - m**2 * to_S @ to_S if name == "mvr" else to_D - m * to_S
    precision, total = np.linalg.inv(R), 0.0
    for label in np.unique(labels):
        g = np.ix_(*[np.flatnonzero(labels == label)] * 2)
        half = np.linalg.cholesky(np.linalg.inv(precision[g]))
        worst = np.linalg.eigvalsh(-half.T @ gradient[g] @ half)
        total += np.trace(gradient[g] @ S[g]) + worst[worst > 0].sum()
    return float(total)


@cache
def optimum(name: str, copies: int) -> float:
    return objective(name, twin(name, uneven(8), CERTIFIED, copies, sweeps=150), uneven(8), copies)


@SMOOTH
@COPIES
@pytest.mark.parametrize("tolerance", [1e9, 0.1, 1e-4, 1e-18])
def test_gap_bounds_the_distance_from_the_optimum(name, copies, tolerance):
    """Also far from the optimum: a tolerance of 1e9 stops at the starting point."""
    R, labels = uneven(8), CERTIFIED
    solution = SOLVE[name](R, Units.from_labels(labels.tolist()), copies, tolerance=tolerance)
    assert solution.value == pytest.approx(objective(name, solution.S, R, copies), rel=1e-10)
    assert solution.gap == pytest.approx(certificate(name, solution.S, R, labels, copies), rel=1e-4, abs=1e-8)
    excess = solution.value - optimum(name, copies)
    assert excess <= solution.gap + 1e-9 * abs(solution.value)
    if tolerance == 1e9:
        assert solution.steps == 0
        assert excess > 1
    if tolerance == 1e-18:
        assert solution.gap <= 1e-8 * max(1.0, abs(solution.value))


@SMOOTH
@COPIES
@pytest.mark.parametrize("family", ["ar1", "blocks", "equicorrelated", "spectrum", "uneven"])
@pytest.mark.parametrize("partition", PARTITIONS)
def test_stationary(name, copies, family, partition):
    """Convex with an interior optimum: a zero gradient is a proof. Relative to its two terms."""
    R, labels = FAMILIES[family], PARTITIONS[partition]
    S = SOLVERS[name](R, copies=copies, groups=labels)
    inverse = np.linalg.inv((copies + 1) / copies * R - S)
    for label in np.unique(labels):
        g = np.ix_(*[np.flatnonzero(labels == label)] * 2)
        pull = S[g] @ (inverse @ inverse)[g] @ S[g] / copies**2 if name == "mvr" else S[g] @ inverse[g] / copies
        np.testing.assert_allclose(pull, np.eye(len(pull)), atol=1e-6)


@SMOOTH
@COPIES
def test_maximal_blocks_in_closed_form(name, copies):
    """Independent groups: S_g = Sigma_gg, the knockoffs of a group are independent of it."""
    Sigma = blocks(12, 0.9, 4)
    np.testing.assert_allclose(SOLVERS[name](Sigma, copies=copies, groups=np.arange(12) // 4), Sigma, atol=1e-6)
    np.testing.assert_allclose(equicorrelated(Sigma, copies=copies, groups=np.arange(12) // 4), Sigma, atol=1e-12)


@COPIES
@pytest.mark.parametrize("family", ["ar1", "equicorrelated", "uneven", "spectrum"])
def test_equal_shares_are_the_largest(copies, family):
    R, labels = FAMILIES[family], np.arange(24) % 5
    S = equicorrelated(R, copies=copies, groups=labels)
    gamma = S[0, 0]
    np.testing.assert_allclose(S, np.where(np.equal.outer(labels, labels), gamma * R, 0.0), rtol=1e-9)
    larger = (copies + 1) / copies * R - (1 + 1e-6) * S
    assert gamma == 1 or np.linalg.eigvalsh(larger)[0] < 0


@SMOOTH
@COPIES
def test_groups_allow_more_than_single_columns(name, copies):
    """Every diagonal S is also block-diagonal, so the objective with groups is at least as good."""
    R, labels = FAMILIES["ar1"], PARTITIONS["side by side"]
    with_groups = objective(name, SOLVERS[name](R, copies=copies, groups=labels), R, copies)
    assert with_groups < objective(name, np.diag(SOLVERS[name](R, copies=copies)), R, copies) - 0.1
    assert with_groups < objective(name, equicorrelated(R, copies=copies, groups=labels), R, copies) - 0.1


@pytest.mark.parametrize("name", SOLVERS)
@COPIES
def test_single_columns_get_the_plain_answer(name, copies):
    Sigma = scaled(uneven(10))
    plain = np.diag(SOLVERS[name](Sigma, copies=copies))
    for groups in (list("abcdefghij"), Units.single(10), np.arange(10)[::-1]):
        np.testing.assert_array_equal(SOLVERS[name](Sigma, copies=copies, groups=groups), plain)


@SMOOTH
@COPIES
def test_both_newton_methods_agree(name, copies):
    R = uneven(15)
    S = SOLVE[name](R, Units.single(15), copies).S
    np.testing.assert_allclose(np.diag(S), SOLVERS[name](R, copies=copies), rtol=1e-5)


@BLOCKWISE
def test_order_of_columns_does_not_matter(name):
    R, labels = uneven(12), np.array([0, 1, 1, 2, 0, 3, 3, 3, 2, 2, 4, 0])
    order = np.random.default_rng(0).permutation(12)
    S = SOLVERS[name](R, copies=2, groups=labels)
    moved = SOLVERS[name](R[np.ix_(order, order)], copies=2, groups=labels[order])
    np.testing.assert_allclose(moved, S[np.ix_(order, order)], atol=1e-6)


@BLOCKWISE
def test_units_of_columns_change_only_the_units_of_s(name):
    R, labels = uneven(12), np.arange(12) % 4
    large = scaled(R)
    root = np.sqrt(np.diag(large))
    found = SOLVERS[name](large, groups=labels) / np.outer(root, root)
    np.testing.assert_allclose(found, SOLVERS[name](R, groups=labels), atol=1e-6)


@BLOCKWISE
def test_names_of_groups_do_not_matter(name):
    R, labels = uneven(9), [2, 2, 0, 0, 1, 2, 1, 1, 0]
    first = SOLVERS[name](R, groups=labels)
    for same in (["xyz"[label] for label in labels], Units.from_labels(labels), np.array(labels)):
        np.testing.assert_array_equal(SOLVERS[name](R, groups=same), first)


@SMOOTH
@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_duplicated_column_costs_the_other_groups_nothing(name, partition):
    """Columns 0 and 1 are equal. In one group they cost nothing at all; in two, only the directions of these columns."""
    labels = PARTITIONS[partition]
    S = SOLVERS[name](duplicated(24), groups=labels)
    others = ~np.isin(labels, labels[:2])
    assert np.linalg.eigvalsh(S[np.ix_(others, others)])[0] > 0.2
    v = np.array([1.0, 1.0]) / np.sqrt(2)
    if partition == "side by side":
        assert v @ S[:2, :2] @ v > 0.2
    else:
        assert S[[0, 1], [0, 1]].max() < 1e-6


@BLOCKWISE
def test_deterministic_and_pure(name):
    Sigma, labels = uneven(10), np.arange(10) % 3
    before = Sigma.copy()
    np.testing.assert_array_equal(SOLVERS[name](Sigma, groups=labels), SOLVERS[name](Sigma, groups=labels))
    np.testing.assert_array_equal(Sigma, before)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("groups", [[0, 0, 1], Units.single(6), [0] * 7])
def test_wrong_number_of_labels(name, groups):
    with pytest.raises(Grip2Error, match=r"groups: must hold one label for each of the 5 columns, got \d labels"):
        SOLVERS[name](np.eye(5), groups=groups)
    with pytest.raises(Grip2Error, match="groups: must hold one label for each of the 5 columns"):
        choose_s(np.ones(5), np.eye(5), who="T", groups=groups)


@pytest.mark.parametrize("groups", [[[0], [1]], 3])
def test_labels_must_be_labels(groups):
    with pytest.raises(Grip2Error, match="groups: must hold one label"):
        mvr(np.eye(2), groups=groups)


def test_sdp_names_the_solvers_that_have_groups():
    with pytest.raises(Grip2Error, match=r"sdp: .*'mvr', s='maxent' or s='equi'"):
        sdp(np.eye(4), groups=[0, 0, 1, 1])


def test_a_matrix_given_is_checked():
    Sigma, labels = scaled(blocks(6, 0.9, 3)), [0, 0, 0, 1, 1, 1]

    def choose(S: np.ndarray, copies: int = 1) -> np.ndarray:
        return choose_s(S, Sigma, who="T", copies=copies, groups=labels)

    S = maxent(Sigma, groups=labels)
    np.testing.assert_allclose(choose(S), S, rtol=1e-14)
    np.testing.assert_array_equal(choose(np.zeros(6)), np.zeros((6, 6)))
    vector = 0.1 * np.diag(Sigma)
    np.testing.assert_array_equal(choose(vector), np.diag(vector))
    np.testing.assert_array_equal(
        choose_s("mvr", Sigma, who="T", copies=2, groups=labels), mvr(Sigma, copies=2, groups=labels)
    )
    np.testing.assert_allclose(choose(1.9 * S), 1.9 * S, rtol=1e-14)
    with pytest.raises(Grip2Error, match=r"T: 1.2 Sigma - S must be positive semidefinite for copies=5"):
        choose(1.9 * S, copies=5)
    with pytest.raises(Grip2Error, match="2 Sigma - S must be positive semidefinite"):
        choose(2.1 * S)
    with pytest.raises(Grip2Error, match="2 Sigma - S must be positive semidefinite"):
        choose(3 * vector)
    with pytest.raises(Grip2Error, match=r"zero between columns of different groups, got .* at \[0, 3\]"):
        choose(0.1 * (S + 1e-9 * np.sqrt(np.outer(np.diag(Sigma), np.diag(Sigma)))))
    with pytest.raises(Grip2Error, match="finite and symmetric"):
        choose(np.triu(S))
    with pytest.raises(Grip2Error, match="finite and symmetric"):
        choose(S * np.nan)
    with pytest.raises(Grip2Error, match=r"every block of s must be positive semidefinite, .* columns \[0, 1, 2\]"):
        choose(-0.1 * S)
    with pytest.raises(
        Grip2Error, match=r"T: s must hold 6 values, .* or be a block-diagonal matrix of shape \(6, 6\)"
    ):
        choose(np.ones((6, 5)))
    with pytest.raises(Grip2Error, match=r"T: s must hold 6 values, all nonnegative, got an array of shape \(6, 6\)"):
        choose_s(S, Sigma, who="T")


@SMOOTH
@pytest.mark.parametrize("copies", [1, 5])
def test_large_groups_of_a_nearly_singular_matrix(name, copies):
    """Two groups of 50 columns with eigenvalues down to 1e-7: the gap proves the optimum to one part in ten million."""
    R = spectrum(100, 1e-7)
    solution = SOLVE[name](R, Units.from_labels((np.arange(100) // 50).tolist()), copies)
    assert solution.gap <= 1e-7 * abs(solution.value)
    assert solution.steps < 40
