"""Solvers for s: certificates first (feasibility, optimality), then naive twins and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from grip2.knockoffs.s_matrix import RIDGE, SOLVERS, choose_s, equicorrelated, maxent, mvr, sdp
from grip2.knockoffs.s_matrix._scale import interior_start, lift
from grip2.knockoffs.s_matrix._sdp import solve
from tests.knockoffs.cases import ar1, blocks, duplicated, low_rank, scaled, uneven

REGULAR = {
    "independent": np.eye(12),
    "ar1": ar1(40, 0.8),
    "near one": ar1(30, 0.99),
    "blocks": blocks(30),
    "uneven": uneven(25),
    "negative": np.array([[1.0, -0.9], [-0.9, 1.0]]),
    "single": np.eye(1),
}
SINGULAR = {"duplicated": duplicated(20), "low rank": low_rank(20, 8), "ill conditioned": ar1(20, 1 - 1e-10)}
EVERY = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())


def correlation(Sigma: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.diag(Sigma))
    return Sigma / np.outer(root, root)


def assert_feasible(s: np.ndarray, Sigma: np.ndarray, tolerance: float) -> None:
    relative = s / np.diag(Sigma)
    assert np.all(relative >= 0)
    assert np.all(relative <= 1 + 1e-12)
    assert np.linalg.eigvalsh(2 * correlation(Sigma) - np.diag(relative))[0] >= -tolerance


@EVERY
@pytest.mark.parametrize("name", REGULAR)
def test_feasible(solver, name):
    assert_feasible(solver(REGULAR[name]), REGULAR[name], tolerance=1e-12)


@EVERY
@pytest.mark.parametrize("name", SINGULAR)
def test_feasible_where_sigma_is_singular(solver, name):
    assert_feasible(solver(SINGULAR[name]), SINGULAR[name], tolerance=2.01 * RIDGE)


def test_a_duplicated_column_costs_the_others_nothing():
    """Only the two equal columns lose their power, except with one s for all."""
    for solver in (sdp, mvr, maxent):
        s = solver(duplicated(20))
        assert s[:2].max() < 1e-7
        assert s[3:].min() > 0.1
    assert equicorrelated(duplicated(20)).max() < 1e-7


@EVERY
def test_units_of_columns_change_only_the_units_of_s(solver):
    Sigma = uneven(15)
    large = scaled(Sigma)
    np.testing.assert_allclose(solver(large) / np.diag(large), solver(Sigma), rtol=1e-5)


@EVERY
def test_order_of_columns_does_not_matter(solver):
    Sigma = uneven(12)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(solver(Sigma[np.ix_(order, order)]), solver(Sigma)[order], atol=1e-5)


@EVERY
def test_independent_features_get_one(solver):
    np.testing.assert_allclose(solver(np.eye(8)), 1.0, atol=1e-6)


@EVERY
def test_deterministic_and_pure(solver):
    Sigma = uneven(10)
    before = Sigma.copy()
    first, second = solver(Sigma), solver(Sigma)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(Sigma, before)


def mvr_value(s: np.ndarray, R: np.ndarray) -> float:
    return float(np.sum(1 / s) + np.trace(np.linalg.inv(2 * R - np.diag(s))))


def maxent_value(s: np.ndarray, R: np.ndarray) -> float:
    return float(-np.linalg.slogdet(2 * R - np.diag(s))[1] - np.sum(np.log(s)))


@pytest.mark.parametrize("name", REGULAR)
def test_mvr_is_stationary(name):
    """Convex with an interior optimum: a zero gradient is a proof. Relative to its two terms."""
    s = mvr(REGULAR[name])
    inverse = np.linalg.inv(2 * REGULAR[name] - np.diag(s))
    np.testing.assert_allclose(np.diag(inverse @ inverse) * s**2, 1.0, atol=1e-5)


@pytest.mark.parametrize("name", REGULAR)
def test_maxent_is_stationary(name):
    s = maxent(REGULAR[name])
    inverse = np.linalg.inv(2 * REGULAR[name] - np.diag(s))
    np.testing.assert_allclose(np.diag(inverse) * s, 1.0, atol=1e-5)


@pytest.mark.parametrize("name", REGULAR)
def test_sdp_is_proven_by_a_dual_point(name):
    """Z >= 0, diag(Z) + upper - lower = 1 bounds sum(s) from above by trace(2RZ) + sum(upper)."""
    R = REGULAR[name]
    state = solve(R, 1e-6, 2.0)
    assert np.linalg.eigvalsh(state.Z)[0] >= -1e-12
    assert min(state.lower.min(), state.upper.min()) >= 0
    np.testing.assert_allclose(np.diag(state.Z) + state.upper - state.lower, 1.0, atol=1e-8)
    bound = 2 * np.trace(R @ state.Z) + state.upper.sum()
    assert 0 <= bound - sdp(R).sum() <= 1e-6 * max(bound, len(R) / 1000) * 1.01


@pytest.mark.parametrize("objective", [mvr_value, maxent_value], ids=["mvr", "maxent"])
@pytest.mark.parametrize("R", [uneven(4), blocks(4, 0.7, 2), ar1(5, 0.8)], ids=["uneven", "blocks", "ar1"])
def test_naive_twin_of_the_smooth_objectives(objective, R):
    """Nelder-Mead on log s, no derivative, from the same start."""
    solver = mvr if objective is mvr_value else maxent

    def penalised(log_s: np.ndarray) -> float:
        s = np.exp(log_s)
        inside = np.linalg.eigvalsh(2 * R - np.diag(s))[0] > 0
        return objective(s, R) if inside else np.inf

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    # Infinite values outside the domain make Nelder-Mead compare infinities; it copes, NumPy would warn.
    with np.errstate(invalid="ignore"):
        found = minimize(penalised, np.log(interior_start(R, 2.0)), method="Nelder-Mead", options=options)
    np.testing.assert_allclose(solver(R), np.exp(found.x), rtol=1e-4)
    assert objective(solver(R), R) <= found.fun + 1e-9


@pytest.mark.parametrize("R", [uneven(3), np.array([[1, 0.6, 0.1], [0.6, 1, -0.3], [0.1, -0.3, 1]])])
def test_naive_twin_of_the_sdp(R):
    """A grid over (s_1, s_2); the largest feasible s_3 by a Schur complement."""
    best = 0.0
    for s1 in np.linspace(0, 1, 201):
        for s2 in np.linspace(0, 1, 201):
            B = 2 * R[:2, :2] - np.diag([s1, s2])
            if B[0, 0] <= 0 or np.linalg.det(B) <= 1e-12:
                continue
            s3 = min(1.0, 2 - 4 * R[2, :2] @ np.linalg.solve(B, R[:2, 2]))
            if s3 >= 0:
                best = max(best, s1 + s2 + s3)
    assert best * (1 - 1e-6) <= sdp(R).sum() <= best + 0.02


def test_closed_form_of_equicorrelated():
    Sigma = blocks(30, 0.8)
    np.testing.assert_allclose(equicorrelated(Sigma), 2 * 0.2, rtol=1e-7)
    np.testing.assert_allclose(equicorrelated(ar1(2, 0.2)), 1.0)
    np.testing.assert_allclose(equicorrelated(9 * Sigma), 9 * 2 * 0.2, rtol=1e-7)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.95])
def test_closed_forms_under_equicorrelation(rho):
    """One s for all by symmetry; eigenvalues of 2R - sI are 2(1 - rho) - s and 2(1 + (p - 1) rho) - s."""
    p = 6
    R = np.full((p, p), rho) + (1 - rho) * np.eye(p)
    small, large = 2 * (1 - rho), 2 * (1 + (p - 1) * rho)
    np.testing.assert_allclose(sdp(R).sum(), p * min(1.0, small), rtol=2e-6)
    grid = np.linspace(1e-4, min(small, 1.0) - 1e-4, 400_001)
    traces = p / grid + (p - 1) / (small - grid) + 1 / (large - grid)
    np.testing.assert_allclose(mvr(R), grid[np.argmin(traces)], atol=1e-5)
    entropy = p * np.log(grid) + (p - 1) * np.log(small - grid) + np.log(large - grid)
    np.testing.assert_allclose(maxent(R), grid[np.argmax(entropy)], atol=1e-5)


def test_two_features_in_closed_form():
    """mvr with p = 2: minimise 2/s + 1/(2 - 2r - s) + 1/(2 + 2r - s); sdp: s = min(1, 2(1 - r))."""
    r = 0.7
    s = np.linspace(1e-3, 2 - 2 * r - 1e-3, 1_000_001)
    best = s[np.argmin(2 / s + 1 / (2 - 2 * r - s) + 1 / (2 + 2 * r - s))]
    np.testing.assert_allclose(mvr(ar1(2, r)), best, atol=1e-5)
    np.testing.assert_allclose(sdp(ar1(2, r)), 2 * (1 - r), atol=1e-5)


def test_each_solver_is_best_at_its_own_objective():
    R = uneven(20)
    found = {name: solver(R) for name, solver in SOLVERS.items()}
    assert min(found, key=lambda name: mvr_value(found[name], R)) == "mvr"
    assert min(found, key=lambda name: maxent_value(found[name], R)) == "maxent"
    assert max(found, key=lambda name: found[name].sum()) == "sdp"


def test_lift_says_what_it_added():
    R, ridge = lift(ar1(5, 0.5))
    assert ridge == 0.0
    R, ridge = lift(duplicated(5))
    assert RIDGE <= ridge < 1.1 * RIDGE
    assert np.linalg.eigvalsh(R)[0] >= RIDGE * 0.99


@EVERY
@pytest.mark.parametrize(
    ("Sigma", "message"),
    [
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semidefinite"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "symmetric"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "variances must be positive"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.ones((2, 3)), "square"),
    ],
)
def test_not_a_covariance(solver, Sigma, message):
    with pytest.raises(ValueError, match=message):
        solver(Sigma)


def test_choose_s():
    Sigma = uneven(5)
    np.testing.assert_array_equal(choose_s("mvr", Sigma, who="T"), mvr(Sigma))
    np.testing.assert_array_equal(choose_s([0.0] * 5, Sigma, who="T"), np.zeros(5))
    with pytest.raises(ValueError, match=r"T: s must be one of .*mvr.*got 'best'"):
        choose_s("best", Sigma, who="T")
    with pytest.raises(ValueError, match="positive semidefinite"):
        choose_s(np.ones(5), Sigma, who="T")
    with pytest.raises(ValueError, match="hold 5 values"):
        choose_s(np.ones(4), Sigma, who="T")
