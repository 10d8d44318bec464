"""Equicorrelated S (appendix B.1): one value for all features or for all groups, exact up to rounding error."""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._blocks import Blocks
from grip2.knockoffs.s_matrix._groups import Groups, has_blocks, in_form, rescaled, units_of
from grip2.knockoffs.s_matrix._scale import (
    NEGATIVE_TOLERANCE,
    ceiling_of,
    correlation_scale,
    lift,
    smallest_eigenvalue,
)
from grip2.units import Units


def equicorrelated(Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None) -> np.ndarray:
    """``s_j = min(c lambda_min, 1)``, c = (m + 1) / m for m copies, brought back to the scale of Sigma (appendix B.1).

    The eigenvalue is first reduced by one part in 1e8 and by its rounding error: exactly at the boundary the conditional
    covariance of the knockoffs is singular and would need a numerical repair. With groups, ``S_g = gamma R_gg`` with the
    largest feasible gamma of at most 1, which is found in the same way; to a singular R a ridge is added first (``RIDGE``).
    """
    ceiling = ceiling_of(copies)
    R, scale = correlation_scale(Sigma)
    units = units_of(groups, len(R))
    if has_blocks(units):
        return rescaled(_equal_shares(lift(R)[0], units, ceiling), scale)
    return in_form(_share(R, ceiling) * scale, units)


def _share(R: np.ndarray, ceiling: float) -> float:
    """The largest gamma of at most 1 for which ``ceiling * R - gamma * I`` is safely positive semidefinite."""
    # One eigenvalue from the tridiagonal form, without eigenvectors. Lanczos on the inverse was measured to take 10 to 100
    # times longer, because the smallest eigenvalues of an AR(1) matrix are so close together.
    smallest = smallest_eigenvalue(R)
    if smallest < -NEGATIVE_TOLERANCE:
        raise Grip2Error(
            f"Sigma: must be positive semidefinite, got an eigenvalue of {smallest:.3g} on the correlation scale."
        )
    safe = max(smallest * (1 - 1e-8) - 1e-14 * len(R), 0.0)
    return min(ceiling * safe, 1.0)


def _equal_shares(R: np.ndarray, units: Units, ceiling: float) -> np.ndarray:
    """``gamma R_gg`` in every block: gamma as for single features, of R with its diagonal blocks whitened."""
    blocks = Blocks(units)
    grouped = blocks.grouped(R)
    inside = [grouped[places, places] for places in blocks.slices]
    pairs = [np.linalg.eigh(block) for block in inside]
    whitened = blocks.congruence(grouped, [vectors / np.sqrt(values) for values, vectors in pairs])
    gamma = _share((whitened + whitened.T) / 2, ceiling)
    return blocks.to_matrix(gamma * block for block in inside)
