"""The diagonal s of knockoffs as a pure function of Sigma: the larger s, the less a knockoff resembles its original.

Every solver works on the correlation scale and brings its answer back to the scale of Sigma, so a change of units of
a column changes only the units of its ``s``. Every answer is feasible: ``s >= 0`` and ``2 Sigma - diag(s)`` has no
eigenvalue below zero, up to ``-2 * RIDGE`` on the correlation scale where Sigma itself is singular.

- ``equicorrelated``: all s alike, ``min(2 lambda_min, 1)``. The paper's; one close pair makes all of s small.
- ``sdp``: largest ``sum(s)`` with ``s <= 1``. Least average correlation, but may give some features s = 0.
- ``mvr``: least ``sum(1/s) + trace((2 Sigma - S)^-1)``. Least reconstructability; the default.
- ``maxent``: largest ``sum(log s) + log det(2 Sigma - S)``. Largest entropy of (X, Xk).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grip2.errors import Grip2Error
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
    """The vector s that a sampler's parameter ``s`` stands for: a solver's name, or the values themselves."""
    if isinstance(s, str):
        if s not in SOLVERS:
            raise Grip2Error(f"{who}: s must be one of {sorted(SOLVERS)} or an array, got {s!r}.")
        return SOLVERS[s](Sigma)
    values = np.asarray(s, dtype=float)
    if values.shape != (len(Sigma),) or not np.all(values >= 0):
        raise Grip2Error(
            f"{who}: s must hold {len(Sigma)} values that are not negative, got an array of shape {values.shape} with "
            f"minimum {values.min() if values.size else float('nan'):.3g}."
        )
    R, scale = correlation_scale(Sigma)
    if cholesky_factor(2 * R - np.diag(values / scale - 2 * RIDGE)) is None:
        raise Grip2Error(
            f"{who}: 2 Sigma - diag(s) must be positive semidefinite, and is not for the s given. "
            "Make s smaller, or name a solver, such as s='mvr'."
        )
    return values
