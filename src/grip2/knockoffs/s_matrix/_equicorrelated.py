"""Equicorrelated s (appendix B.1): one value for all features or groups, exact up to rounding error."""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._groups import Groups, in_form, units_of
from grip2.knockoffs.s_matrix._scale import NEGATIVE_TOLERANCE, ceiling_of, correlation_scale, smallest_eigenvalue


def equicorrelated(Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None) -> np.ndarray:
    """``s_j = min(c lambda_min, 1)``, c = (m + 1) / m for m copies, brought back to the scale of Sigma (appendix B.1).

    The eigenvalue is first reduced by one part in 1e8 and by its rounding error: exactly at the boundary the conditional
    covariance of the knockoffs is singular and would need a numerical repair.
    """
    ceiling = ceiling_of(copies)
    R, scale = correlation_scale(Sigma)
    units = units_of(groups, len(R))
    # One eigenvalue from the tridiagonal form, without eigenvectors. Lanczos on the inverse was measured to take 10 to 100
    # times longer, because the smallest eigenvalues of an AR(1) matrix are so close together.
    smallest = smallest_eigenvalue(R)
    if smallest < -NEGATIVE_TOLERANCE:
        raise Grip2Error(
            f"Sigma: must be positive semidefinite, got an eigenvalue of {smallest:.3g} on the correlation scale."
        )
    safe = max(smallest * (1 - 1e-8) - 1e-14 * len(R), 0.0)
    return in_form(min(ceiling * safe, 1.0) * scale, units)
