"""Equicorrelated s (appendix B.1): one value for all features, exact up to rounding error."""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._scale import NEGATIVE_TOLERANCE, correlation_scale, smallest_eigenvalue


def equicorrelated(Sigma: np.ndarray) -> np.ndarray:
    """``s_j = min(2 lambda_min, 1)`` on the correlation scale, brought back to the scale of Sigma (appendix B.1).

    The eigenvalue is first reduced by one part in 1e8 and by its rounding error: exactly at the boundary the conditional
    covariance of the knockoffs is singular and would need a numerical repair.
    """
    R, scale = correlation_scale(Sigma)
    # One eigenvalue from the tridiagonal form, without eigenvectors. Lanczos on the inverse was measured to take 10 to 100
    # times longer, because the smallest eigenvalues of an AR(1) matrix are so close together.
    smallest = smallest_eigenvalue(R)
    if smallest < -NEGATIVE_TOLERANCE:
        raise Grip2Error(
            f"Sigma: must be positive semidefinite, got an eigenvalue of {smallest:.3g} on the correlation scale."
        )
    safe = max(smallest * (1 - 1e-8) - 1e-14 * len(R), 0.0)
    return min(2 * safe, 1.0) * scale
