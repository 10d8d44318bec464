"""Maximum entropy: the s for which the joint Gaussian distribution of (X, Xk) has the largest entropy."""

from __future__ import annotations

import numpy as np

from grip2.knockoffs.s_matrix._newton import minimise
from grip2.knockoffs.s_matrix._scale import correlation_scale, lift


def maxent(Sigma: np.ndarray) -> np.ndarray:
    """The s that maximises ``log det(2R - diag(s)) + sum(log s)``, the log-determinant of the joint covariance.

    The objective is self-concordant, so Newton's method converges from any interior point. The result is exact to rounding
    error if R is positive definite; to a singular R a ridge is added first (``RIDGE``). With ``M = 2R - diag(s)``, ``s <= 1``
    holds at the optimum as it does for ``mvr``: ``1/s_j = (M^-1)_jj >= 1/(2 - s_j)``.
    """
    R, scale = correlation_scale(Sigma)
    R, _ = lift(R)
    return np.asarray(minimise(R, _value, _derivatives, tolerance=1e-13) * scale)


def _value(s: np.ndarray, factor: np.ndarray, inverse: np.ndarray) -> float:
    return -float(2 * np.sum(np.log(np.diag(factor))) + np.sum(np.log(s)))


def _derivatives(s: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient ``diag(M^-1) - 1/s``; Hessian ``M^-1 o M^-1 + diag(1/s^2)``."""
    gradient = np.diag(inverse) - 1 / s
    hessian = inverse * inverse
    hessian[np.diag_indices_from(hessian)] += 1 / s**2
    return gradient, hessian
