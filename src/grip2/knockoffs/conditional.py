"""The distribution of Xk given X for jointly Gaussian (X, Xk): factorised once, sampled any number of times (appendix B.1)."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from grip2.errors import Grip2Error
from grip2.knockoffs.base import NumericalRepairWarning
from grip2.knockoffs.s_matrix._scale import cholesky_factor

# The first jitter tried and the largest one accepted, relative to the conditional variances.
_FIRST_JITTER, _LAST_JITTER = 1e-12, 1e-4


class ConditionalGaussian:
    """``Xk | X ~ N(X - (X - mean) A, C C^T)`` with ``A = Sigma^-1 S`` and ``C C^T = 2S - S Sigma^-1 S``.

    Then Cov(Xk) = Sigma and Cov(X, Xk) = Sigma - S whenever Cov(X) = Sigma: exact for normal X.
    """

    def __init__(self, mean: np.ndarray, Sigma: np.ndarray, s: np.ndarray, *, who: str) -> None:
        self.mean = mean
        # A = Solve(Sigma, S), solved on the correlation scale so that accuracy does not depend on the columns' units.
        root = np.sqrt(np.diag(Sigma))
        solved = cho_solve(cho_factor(Sigma / root[:, None] / root, lower=True), np.diag(s / root))
        self.A = solved / root[:, None]
        M = -s[:, None] * self.A
        M[np.diag_indices_from(M)] += 2 * s
        self.C, self.jitter = jittered_cholesky((M + M.T) / 2, who=who)

    def astype(self, dtype: np.dtype) -> ConditionalGaussian:
        """The same distribution with arrays of another precision, for one call of ``sample``."""
        copy = object.__new__(ConditionalGaussian)
        copy.mean, copy.A, copy.C = (array.astype(dtype, copy=False) for array in (self.mean, self.A, self.C))
        copy.jitter = self.jitter
        return copy

    def draw(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Knockoffs of some rows: ``X - (X - mean) A + U C^T``."""
        noise = rng.standard_normal(X.shape, dtype=self.A.dtype.type)
        # C^T, not C: with C the covariance of the noise would be C^T C, which is not M.
        drawn = noise @ self.C.T
        drawn += X
        drawn -= (X - self.mean) @ self.A
        return np.asarray(drawn)


def jittered_cholesky(M: np.ndarray, *, who: str) -> tuple[np.ndarray, float]:
    """Lower triangular C with ``C C^T = M + jitter * diag(M)``, and the jitter.

    The jitter is 0 if M can be factorised; otherwise it grows tenfold until M can. It is relative to the diagonal because
    conditional variances may differ by many orders of magnitude, and an absolute jitter would swamp the small ones. Warns
    when the jitter is not 0.
    """
    diagonal = np.diag(M)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = M / root[:, None] / root
    free = np.flatnonzero(diagonal > 0)  # where s_j = 0 the knockoff equals its original: no noise
    C = np.zeros_like(M)
    jitter = 0.0
    while jitter <= _LAST_JITTER:
        factor = cholesky_factor(scaled[np.ix_(free, free)] + jitter * np.eye(len(free))) if len(free) else M[:0, :0]
        if factor is not None:
            C[np.ix_(free, free)] = factor * root[free, None]
            break
        jitter = _FIRST_JITTER if jitter == 0.0 else 10 * jitter
    else:
        raise Grip2Error(
            f"{who}: the conditional covariance of the knockoffs must be positive semidefinite, and is not even after "
            f"a jitter of {_LAST_JITTER:g}. Use a smaller s, or more shrinkage of Sigma."
        )
    if jitter:
        warnings.warn(
            f"{who}: a jitter of {jitter:.0e} times each conditional variance was needed to factorise the conditional "
            "covariance of the knockoffs. Their variances are too large by at most that fraction, and the effect on the "
            "false discovery rate is of that size.",
            NumericalRepairWarning,
            stacklevel=4,
        )
    return C, jitter
