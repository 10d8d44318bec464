"""Helpers of all solvers: the correlation scale, the ridge for singular matrices, factorisations, a feasible start."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, lapack

from grip2.errors import Grip2Error

# The smallest eigenvalue, on the correlation scale, that interior-point solvers and samplers accept. A ridge raises smaller
# ones to it. It is far below any sampling error and far above rounding error (1e-13 at p = 500).
RIDGE = 1e-8
# An eigenvalue below minus this cannot be rounding error: the matrix is not a covariance matrix.
NEGATIVE_TOLERANCE = 1e-6


def correlation_scale(Sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The correlation matrix of Sigma and its variances; raises if Sigma cannot be a covariance matrix."""
    Sigma = np.asarray(Sigma, dtype=float)
    if Sigma.ndim != 2 or Sigma.shape[0] != Sigma.shape[1] or not len(Sigma):
        raise Grip2Error(f"Sigma: must be a square matrix, got shape {Sigma.shape}.")
    if not np.all(np.isfinite(Sigma)):
        raise Grip2Error("Sigma: must hold finite numbers only, got NaN or infinity.")
    variance = np.diag(Sigma).copy()
    if np.any(variance <= 0):
        bad = np.flatnonzero(variance <= 0)[:5].tolist()
        raise Grip2Error(
            f"Sigma: variances must be positive, got zero or less at positions {bad}. Drop constant columns."
        )
    root = np.sqrt(variance)
    R = Sigma / root[:, None] / root
    if np.abs(R - R.T).max() > 1e-8:
        raise Grip2Error(f"Sigma: must be symmetric, got a relative difference of {np.abs(R - R.T).max():.2g}.")
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    return R, variance


def ceiling_of(copies: int) -> float:
    """The factor c in the constraint ``c Sigma - S >= 0`` for this many copies, ``(m + 1) / m``: 2 for one copy."""
    if isinstance(copies, bool) or not isinstance(copies, (int, np.integer)) or copies < 1:
        raise Grip2Error(f"copies: must be a whole number of at least 1, got {copies!r}.")
    return (int(copies) + 1) / int(copies)


def cholesky_factor(M: np.ndarray) -> np.ndarray | None:
    """Lower Cholesky factor of a symmetric matrix, or None when it is not positive definite."""
    # The transpose of a symmetric C-ordered array is Fortran-ordered: LAPACK takes it with one copy.
    factor, failed = lapack.dpotrf(M.T, lower=1, clean=1)
    return None if failed else np.asarray(factor)


def inverse_from(factor: np.ndarray) -> np.ndarray:
    """The inverse of ``factor @ factor.T``."""
    lower, failed = lapack.dpotri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("A Cholesky factor has a zero on its diagonal.")
    inverse = np.tril(lower)
    return np.asarray(inverse + np.tril(inverse, -1).T)


def smallest_eigenvalue(R: np.ndarray) -> float:
    """The smallest eigenvalue of a symmetric matrix, by the dense solver for a single eigenvalue."""
    return float(eigvalsh(R, subset_by_index=[0, 0])[0])


def lift(R: np.ndarray) -> tuple[np.ndarray, float]:
    """R with a ridge that raises its smallest eigenvalue to RIDGE, and the ridge (0.0 if none was needed)."""
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


def interior_start(R: np.ndarray, ceiling: float) -> np.ndarray:
    """A strictly feasible s for ``ceiling * R - diag(s) > 0``, proportional to the conditional variances (capped at 1).

    ``1 / (R^-1)_jj`` is the variance of feature j given the others. Features that are nearly linear combinations of others
    start with the small s they must end with, without making the s of the other features small.
    """
    factor = cholesky_factor(R)
    if factor is None:
        raise np.linalg.LinAlgError("interior_start needs a positive definite matrix.")
    s = np.minimum(1.0 / np.diag(inverse_from(factor)), 1.0)
    while cholesky_factor(ceiling * R - np.diag(s)) is None:
        s = s / 2
    return s / 2
