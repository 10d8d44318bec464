"""Maximum entropy: the s for which the joint Gaussian distribution of (X, Xk) has the largest entropy."""

from __future__ import annotations

from functools import partial

import numpy as np

from grip2.knockoffs.s_matrix._group_newton import Derivatives, Point, Solution, minimise_blocks
from grip2.knockoffs.s_matrix._groups import Groups
from grip2.knockoffs.s_matrix._smooth import smooth_s
from grip2.units import Units


def maxent(Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None) -> np.ndarray:
    """The s that maximises ``log det(cR - diag(s)) + m sum(log s)``, R the correlation matrix, c = (m + 1) / m.

    Up to a constant this is the log-determinant of the covariance of all members.

    The objective is self-concordant, so Newton's method converges from any interior point. The result is exact to rounding
    error if R is positive definite; to a singular R a ridge is added first (``RIDGE``). With ``D = cR - diag(s)``, ``s <= 1``
    holds at the optimum as it does for ``mvr``: ``m/s_j = (D^-1)_jj >= 1/(c - s_j)``. With groups the same objective
    is maximised over block-diagonal S (``solve_blocks``).
    """
    return smooth_s(Sigma, copies, groups, value=_value, derivatives=_derivatives, solve_blocks=solve_blocks)


def _value(m: int, s: np.ndarray, factor: np.ndarray, inverse: np.ndarray) -> float:
    return -float(2 * np.sum(np.log(np.diag(factor))) + m * np.sum(np.log(s)))


def _derivatives(m: int, s: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ``diag(D^-1) - m/s``; Hessian ``D^-1 o D^-1 + diag(m/s^2)``, o entrywise."""
    gradient = np.diag(inverse) - m / s
    hessian = inverse * inverse
    hessian[np.diag_indices_from(hessian)] += m / s**2
    return gradient, hessian


def solve_blocks(R: np.ndarray, units: Units, copies: int, *, tolerance: float = 1e-18) -> Solution:
    """The block-diagonal S that maximises ``log det(cR - S) + m log det S``, for a positive definite correlation matrix."""
    value, derivatives = partial(_block_value, copies), partial(_block_derivatives, copies)
    return minimise_blocks(R, units, value, derivatives, copies=copies, tolerance=tolerance)


def _block_value(m: int, point: Point) -> float:
    return -point.log_det + m * float(np.sum(np.log(point.kappa)))


def _block_derivatives(m: int, point: Point) -> Derivatives:
    """Gradient ``D^-1 - m S^-1``; Hessian ``V -> D^-1 V D^-1 + m S^-1 V S^-1``."""
    gradient = point.inverse.copy()
    gradient[np.diag_indices_from(gradient)] -= m
    return Derivatives(gradient, point.inverse / 2, np.full(len(gradient), m / 2))
