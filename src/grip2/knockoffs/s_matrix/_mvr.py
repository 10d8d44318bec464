"""Minimum variance-based reconstructability: the s that makes features hardest to reconstruct from the others and Xk."""

from __future__ import annotations

from functools import partial

import numpy as np

from grip2.knockoffs.s_matrix._group_newton import Derivatives, Point, Solution, minimise_blocks
from grip2.knockoffs.s_matrix._groups import Groups
from grip2.knockoffs.s_matrix._smooth import smooth_s
from grip2.units import Units


def mvr(Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None) -> np.ndarray:
    """The s that minimises ``m^2 sum(1/s) + trace((cR - diag(s))^-1)`` (Spector and Janson, 2022).

    R is the correlation matrix and c = (m + 1) / m for m copies. Divided by m this is the trace of the inverse covariance of
    all members: a sum of reciprocal conditional variances. It is convex and smooth; Newton's method needs 4 to 20
    factorisations. The result is exact to rounding error if R is positive definite. To a singular R a ridge is added first
    (``RIDGE``): features that are linear combinations of others then get an s of that order, so they have no power but cause
    no error.

    ``s <= 1`` needs no constraint: with ``D = cR - diag(s)``, ``m^2/s_j^2 = (D^-2)_jj >= 1/D_jj^2 = 1/(c - s_j)^2`` at the
    optimum, so ``s_j <= m (c - s_j)``. With groups the same objective is minimised over block-diagonal S (``solve_blocks``).
    """
    return smooth_s(Sigma, copies, groups, value=_value, derivatives=_derivatives, solve_blocks=solve_blocks)


def _value(m: int, s: np.ndarray, factor: np.ndarray, inverse: np.ndarray) -> float:
    return float(m**2 * np.sum(1 / s) + np.trace(inverse))


def _derivatives(m: int, s: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ``-m^2/s^2 + diag(D^-2)``; Hessian ``diag(2m^2/s^3) + 2 (D^-1 o D^-2)``, o entrywise."""
    square = inverse @ inverse
    gradient = np.diag(square) - m**2 / s**2
    square *= inverse
    square *= 2
    square[np.diag_indices_from(square)] += 2 * m**2 / s**3
    return gradient, square


def solve_blocks(R: np.ndarray, units: Units, copies: int, *, tolerance: float = 1e-18) -> Solution:
    """The block-diagonal S that minimises ``trace((cR - S)^-1) + m^2 trace(S^-1)``, for a positive definite R."""
    value, derivatives = partial(_block_value, copies), partial(_block_derivatives, copies)
    return minimise_blocks(R, units, value, derivatives, copies=copies, tolerance=tolerance)


def _block_value(m: int, point: Point) -> float:
    return float(point.kappa @ (np.diag(point.inverse) + m**2))


def _block_derivatives(m: int, point: Point) -> Derivatives:
    """Gradient ``D^-2 - m^2 S^-2``; Hessian ``V -> D^-1 V D^-2 + D^-2 V D^-1 + m^2 (S^-1 V S^-2 + S^-2 V S^-1)``."""
    # In whitened coordinates D^-2 is A diag(kappa) A and S^-2 is diag(kappa).
    half = point.inverse * np.sqrt(point.kappa)
    square = half @ half.T
    gradient = square.copy()
    gradient[np.diag_indices_from(gradient)] -= m**2 * point.kappa
    return Derivatives(gradient, square, m**2 * point.kappa)
