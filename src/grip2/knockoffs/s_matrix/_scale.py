"""What all solvers share: the correlation scale, the ridge for singular matrices, factorisations, an interior start."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, lapack

from grip2.errors import Grip2Error

# Smallest eigenvalue, on the correlation scale, with which the interior solvers and the samplers work.
# Smaller ones are lifted to it: far below any sampling error, far above rounding error (1e-13 at p = 500).
RIDGE = 1e-8
# A more negative eigenvalue is no rounding error: the matrix is not a covariance.
NEGATIVE_TOLERANCE = 1e-6


def correlation_scale(Sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlation matrix of Sigma and the variances that were divided out, after checks."""
    Sigma = np.asarray(Sigma, dtype=float)
    if Sigma.ndim != 2 or Sigma.shape[0] != Sigma.shape[1] or not len(Sigma):
        raise Grip2Error(f"Sigma: must be a square matrix, got shape {Sigma.shape}.")
    if not np.all(np.isfinite(Sigma)):
        raise Grip2Error("Sigma: must hold finite numbers only, got NaN or infinity.")
    variance = np.diag(Sigma).copy()
    if np.any(variance <= 0):
        bad = np.flatnonzero(variance <= 0)[:5].tolist()
        raise Grip2Error(f"Sigma: variances must be positive, got none at positions {bad}. Drop constant columns.")
    root = np.sqrt(variance)
    R = Sigma / root[:, None] / root
    if np.abs(R - R.T).max() > 1e-8:
        raise Grip2Error(f"Sigma: must be symmetric, got a relative difference of {np.abs(R - R.T).max():.2g}.")
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    return R, variance


def cholesky_factor(M: np.ndarray) -> np.ndarray | None:
    """Lower Cholesky factor of a symmetric matrix, or None when it is not positive definite."""
    # The transpose of a symmetric C-ordered array is Fortran-ordered: LAPACK takes it with one copy.
    factor, failed = lapack.dpotrf(M.T, lower=1, clean=1)
    return None if failed else factor


def inverse_from(factor: np.ndarray) -> np.ndarray:
    """The inverse of ``factor @ factor.T``."""
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("A Cholesky factor has a zero on its diagonal.")
    inverse = np.tril(lower)
    return inverse + np.tril(inverse, -1).T


def smallest_eigenvalue(R: np.ndarray) -> float:
    """By the dense solver for one eigenvalue."""
    return float(eigvalsh(R, subset_by_index=[0, 0])[0])


def lift(R: np.ndarray) -> tuple[np.ndarray, float]:
    """R with its smallest eigenvalue at least RIDGE, and what was added to the diagonal (0.0 when nothing was)."""
    if cholesky_factor(R - RIDGE * np.eye(len(R))) is not None:
        return R, 0.0
    smallest = smallest_eigenvalue(R)
    if smallest < -NEGATIVE_TOLERANCE:
        raise Grip2Error(
            f"Sigma: must be positive semidefinite, got an eigenvalue of {smallest:.3g} on the correlation scale. "
            "Estimate it from complete rows, or shrink it."
        )
    # The last term covers the rounding error of the eigenvalue itself.
    ridge = RIDGE - smallest + 1e-15 * len(R)
    return R + ridge * np.eye(len(R)), ridge


def interior_start(R: np.ndarray) -> np.ndarray:
    """A strictly feasible s that follows the conditional variances.

    ``1 / (R^-1)_jj`` is the variance of feature j given the others. Features that a linear combination nearly
    determines start as small as they must end, the others are not held back by them.
    """
    factor = cholesky_factor(R)
    if factor is None:
        raise np.linalg.LinAlgError("interior_start needs a positive definite matrix.")
    s = np.minimum(1.0 / np.diag(inverse_from(factor)), 1.0)
    while cholesky_factor(2 * R - np.diag(s)) is None:
        s = s / 2
    return s / 2
