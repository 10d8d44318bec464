"""The diagonal s of S in ``Cov(X, Xk) = Sigma - S``, as a function of Sigma: a larger s makes a knockoff less like its original.

Every solver works on the correlation scale and returns s on the scale of Sigma, so changing the units of a column changes
only the units of its s. Every result is feasible: ``s >= 0``, and ``2 Sigma - diag(s)`` is positive semidefinite. Where Sigma
itself is singular, eigenvalues down to ``-2 * RIDGE`` on the correlation scale may occur.

- ``equicorrelated``: the same s for all features, ``min(2 lambda_min, 1)``. The paper's choice; one pair of highly correlated
  features makes s small for all.
- ``sdp``: maximises ``sum(s)`` with ``s <= 1``. Smallest average correlation with the knockoffs, but some s may be 0.
- ``mvr``: minimises ``sum(1/s) + trace((2 Sigma - S)^-1)``. Features are hardest to reconstruct; the default.
- ``maxent``: maximises ``sum(log s) + log det(2 Sigma - S)``. Largest entropy of (X, Xk).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grip2.errors import Grip2Error, did_you_mean
from grip2.knockoffs.s_matrix._equicorrelated import equicorrelated
from grip2.knockoffs.s_matrix._maxent import maxent
from grip2.knockoffs.s_matrix._mvr import mvr
from grip2.knockoffs.s_matrix._scale import RIDGE, cholesky_factor, correlation_scale
from grip2.knockoffs.s_matrix._sdp import sdp

__all__ = ["RIDGE", "SOLVERS", "choose_s", "equicorrelated", "maxent", "mvr", "sdp"]

SOLVERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "equi": equicorrelated,
    "sdp": sdp,
    "mvr": mvr,
    "maxent": maxent,
}


def choose_s(s: str | np.ndarray, Sigma: np.ndarray, *, who: str) -> np.ndarray:
    """The vector s for a sampler's parameter ``s``, which is the name of a solver or the values themselves, checked."""
    if isinstance(s, str):
        if s not in SOLVERS:
            raise Grip2Error(
                f"{who}: s must be one of {sorted(SOLVERS)} or an array, got {s!r}.{did_you_mean(s, SOLVERS)}"
            )
        return SOLVERS[s](Sigma)
    values = np.asarray(s, dtype=float)
    if values.shape != (len(Sigma),) or not np.all(values >= 0):
        raise Grip2Error(
            f"{who}: s must hold {len(Sigma)} values, all nonnegative, got an array of shape {values.shape} with "
            f"minimum {values.min() if values.size else float('nan'):.3g}."
        )
    R, scale = correlation_scale(Sigma)
    if cholesky_factor(2 * R - np.diag(values / scale - 2 * RIDGE)) is None:
        raise Grip2Error(
            f"{who}: 2 Sigma - diag(s) must be positive semidefinite, and is not for the s given. "
            "Make s smaller, or name a solver, such as s='mvr'."
        )
    return values
