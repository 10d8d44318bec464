"""Minimum variance-based reconstructability: the s that makes features hardest to reconstruct from the others and Xk."""

from __future__ import annotations

import numpy as np

from grip2.knockoffs.s_matrix._newton import minimise
from grip2.knockoffs.s_matrix._scale import correlation_scale, lift


def mvr(Sigma: np.ndarray) -> np.ndarray:
    """The s that minimises ``sum(1/s) + trace((2R - diag(s))^-1)``, R the correlation matrix (Spector and Janson, 2022).

    This is the trace of the inverse joint covariance of (X, Xk): a sum of reciprocal conditional variances. It is convex and
    smooth; Newton's method needs 4 to 20 factorisations. The result is exact to rounding error if R is positive definite. To
    a singular R a ridge is added first (``RIDGE``): features that are linear combinations of others then get an s of that
    order, so they have no power but cause no error.

    ``s <= 1`` needs no constraint: with ``M = 2R - diag(s)``, ``1/s_j^2 = (M^-2)_jj >= 1/M_jj^2 = 1/(2 - s_j)^2`` at the
    optimum.
    """
    R, scale = correlation_scale(Sigma)
    R, _ = lift(R)
    return np.asarray(minimise(R, _value, _derivatives, tolerance=1e-13) * scale)


def _value(s: np.ndarray, factor: np.ndarray, inverse: np.ndarray) -> float:
    return float(np.sum(1 / s) + np.trace(inverse))


def _derivatives(s: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ``-1/s^2 + diag(M^-2)``; Hessian ``diag(2/s^3) + 2 (M^-1 o M^-2)``, o entrywise."""
    square = inverse @ inverse
    gradient = np.diag(square) - 1 / s**2
    square *= inverse
    square *= 2
    square[np.diag_indices_from(square)] += 2 / s**3
    return gradient, square
