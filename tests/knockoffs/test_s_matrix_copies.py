"""Solvers for several copies drawn together: the constraint is (m + 1)/m Sigma - S >= 0, and one copy changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix import RIDGE, SOLVERS, ceiling_of, choose_s, equicorrelated, maxent, mvr, sdp
from grip2.knockoffs.s_matrix._scale import interior_start
from grip2.knockoffs.s_matrix._sdp import solve
from tests.knockoffs.cases import ar1, blocks, duplicated, low_rank, scaled, uneven

EVERY = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
COPIES = pytest.mark.parametrize("copies", [1, 2, 5, 10])
FAMILIES = {
    "independent": np.eye(8),
    "ar1": ar1(30, 0.8),
    "near one": ar1(20, 0.99),
    "blocks": blocks(20),
    "uneven": uneven(20),
    "scaled": scaled(uneven(15)),
    "duplicated": duplicated(15),
    "low rank": low_rank(15, 6),
}

# s of uneven(4) from the version without copies; agreement to the last bit was checked when copies came in.
ONE_COPY = {
    "equi": [0.9356267059964576, 0.9356267059964578, 0.9356267059964576, 0.935626705996458],
    "sdp": [0.9999987738870971, 0.8796778090586361, 0.9999996508642582, 0.9999996984597562],
    "mvr": [0.5748605466850438, 0.5185523361568797, 0.609722010189156, 0.7165806528892934],
    "maxent": [0.6198691976329903, 0.5587875914979993, 0.6483503981488443, 0.7560987795914419],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_one_copy_is_what_it_was(name):
    solver = SOLVERS[name]
    np.testing.assert_allclose(solver(uneven(4)), ONE_COPY[name], rtol=1e-12)
    for Sigma in FAMILIES.values():
        np.testing.assert_array_equal(solver(Sigma, copies=1), solver(Sigma))


@EVERY
@COPIES
@pytest.mark.parametrize("name", FAMILIES)
def test_feasible(solver, copies, name):
    Sigma = FAMILIES[name]
    root = np.sqrt(np.diag(Sigma))
    R, s = Sigma / np.outer(root, root), solver(Sigma, copies=copies) / root**2
    c = (copies + 1) / copies
    assert s.min() >= 0
    # Newton's method stops at a squared decrement of 1e-13 times the objective: an error of s of about its root, 1e-6.
    assert s.max() <= 1 + 1e-6
    assert np.linalg.eigvalsh(c * R - np.diag(s))[0] >= -1.01 * c * RIDGE


@COPIES
@pytest.mark.parametrize("name", ["ar1", "near one", "blocks", "uneven"])
def test_smooth_objectives_are_stationary(name, copies):
    """Convex with an interior optimum: a zero gradient is a proof. Relative to its two terms."""
    R, c = FAMILIES[name], (copies + 1) / copies
    s = mvr(R, copies=copies)
    inverse = np.linalg.inv(c * R - np.diag(s))
    np.testing.assert_allclose(np.diag(inverse @ inverse) * s**2 / copies**2, 1.0, atol=1e-5)
    s = maxent(R, copies=copies)
    inverse = np.linalg.inv(c * R - np.diag(s))
    np.testing.assert_allclose(np.diag(inverse) * s / copies, 1.0, atol=1e-5)


def covariance_of_members(Sigma: np.ndarray, s: np.ndarray, copies: int) -> np.ndarray:
    """Sigma for every member, Sigma - S between any two."""
    S = np.diag(s)
    return np.kron(np.ones((copies + 1, copies + 1)), Sigma - S) + np.kron(np.eye(copies + 1), S)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("name", ["mvr", "maxent"])
def test_naive_twin_on_the_covariance_of_all_members(name, copies):
    """Nelder-Mead on log s, straight from the definition: trace of the inverse, log-determinant."""
    R = uneven(3)

    def loss(log_s: np.ndarray) -> float:
        G = covariance_of_members(R, np.exp(log_s), copies)
        values = np.linalg.eigvalsh(G)
        if values[0] <= 1e-12:
            return float("inf")
        return float(np.sum(1 / values) if name == "mvr" else -np.sum(np.log(values)))

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    with np.errstate(invalid="ignore"):
        found = minimize(loss, np.log(interior_start(R, ceiling_of(copies))), method="Nelder-Mead", options=options)
    s = SOLVERS[name](R, copies=copies)
    np.testing.assert_allclose(s, np.exp(found.x), rtol=1e-4)
    assert loss(np.log(s)) <= found.fun + 1e-9


@COPIES
def test_sdp_is_proven_by_a_dual_point(copies):
    R, c = uneven(15), ceiling_of(copies)
    state = solve(R, 1e-6, c)
    assert np.linalg.eigvalsh(state.Z)[0] >= -1e-12
    assert min(state.lower.min(), state.upper.min()) >= 0
    np.testing.assert_allclose(np.diag(state.Z) + state.upper - state.lower, 1.0, atol=1e-8)
    bound = c * np.trace(R @ state.Z) + state.upper.sum()
    assert 0 <= bound - sdp(R, copies=copies).sum() <= 1e-6 * max(bound, len(R) / 1000) * 1.01


@COPIES
def test_equicorrelated_in_closed_form(copies):
    c = (copies + 1) / copies
    np.testing.assert_allclose(equicorrelated(blocks(20, 0.8), copies=copies), c * 0.2, rtol=1e-7)
    np.testing.assert_allclose(equicorrelated(ar1(2, 0.01), copies=copies), min(1.0, c * 0.99), rtol=1e-7)


@EVERY
def test_more_copies_cost_s(solver):
    sums = [solver(uneven(12), copies=copies).sum() for copies in (1, 2, 5, 20)]
    assert np.all(np.diff(sums) < 0)


@EVERY
@pytest.mark.parametrize("copies", [0, -1, 1.5, True, "2"])
def test_copies_must_be_a_whole_number(solver, copies):
    with pytest.raises(Grip2Error, match="copies: must be a whole number of at least 1"):
        solver(np.eye(3), copies=copies)


def test_values_given_are_checked_for_the_number_of_copies():
    Sigma = blocks(10, 0.8)
    s = np.full(10, 0.39)
    np.testing.assert_array_equal(choose_s(s, Sigma, who="T"), s)
    with pytest.raises(
        Grip2Error, match=r"T: 1.5 Sigma - S must be positive semidefinite for copies=2.*draw fewer copies"
    ):
        choose_s(s, Sigma, who="T", copies=2)
    np.testing.assert_array_equal(choose_s("mvr", Sigma, who="T", copies=3), mvr(Sigma, copies=3))
