"""S in ``Cov(X, Xk) = Sigma - S``, as a function of Sigma: a larger S makes a knockoff less like its original.

S is diagonal, ``diag(s)``, or block-diagonal with ``groups``: one block for each group of columns. Every solver works on the
correlation scale and returns s on the scale of Sigma, so changing the units of a column changes only the units of its s. With
m copies drawn together and c = (m + 1) / m, which is 2 for one copy, every result is feasible: S and ``D = c Sigma - S`` are
positive semidefinite. Where Sigma itself is singular, eigenvalues of D down to ``-c * RIDGE`` on the correlation scale may
occur.

- ``equicorrelated``: the same s for all features, ``min(c lambda_min, 1)``. The paper's choice; one pair of highly correlated
  features makes s small for all. With groups: ``S_g = gamma Sigma_gg`` with the same gamma for all groups.
- ``sdp``: maximises ``sum(s)`` with ``s <= 1``. Smallest average correlation with the knockoffs, but some s may be 0. It has no
  version for groups.
- ``mvr``: minimises ``m^2 trace(S^-1) + trace(D^-1)``. Features are hardest to reconstruct; the default.
- ``maxent``: maximises ``m log det S + log det D``. Largest entropy of the original and its copies.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from grip2.errors import Grip2Error, did_you_mean
from grip2.knockoffs.s_matrix._equicorrelated import equicorrelated
from grip2.knockoffs.s_matrix._given import checked
from grip2.knockoffs.s_matrix._groups import Groups, units_of
from grip2.knockoffs.s_matrix._maxent import maxent
from grip2.knockoffs.s_matrix._mvr import mvr
from grip2.knockoffs.s_matrix._scale import RIDGE, ceiling_of
from grip2.knockoffs.s_matrix._sdp import sdp

__all__ = ["RIDGE", "SOLVERS", "ceiling_of", "choose_s", "equicorrelated", "maxent", "mvr", "sdp"]


class Solver(Protocol):
    """Returns s (p,), or with ``groups`` (a label for every column, or units) the block-diagonal S (p, p)."""

    def __call__(self, Sigma: np.ndarray, *, copies: int = 1, groups: Groups = None) -> np.ndarray: ...


SOLVERS: dict[str, Solver] = {"equi": equicorrelated, "sdp": sdp, "mvr": mvr, "maxent": maxent}


def choose_s(s: str | np.ndarray, Sigma: np.ndarray, *, who: str, copies: int = 1, groups: Groups = None) -> np.ndarray:
    """The s for a sampler's parameter ``s``, which is the name of a solver or the values themselves, checked.

    Without groups: (p,). With groups: the (p, p) matrix S, also where the values are given as a vector.
    """
    if isinstance(s, str):
        if s not in SOLVERS:
            raise Grip2Error(
                f"{who}: s must be one of {', '.join(sorted(SOLVERS))}, or an array, got {s!r}.{did_you_mean(s, SOLVERS)}"
            )
        return SOLVERS[s](Sigma, copies=copies, groups=groups)
    units = units_of(groups, len(Sigma))
    return checked(np.asarray(s, dtype=float), Sigma, who=who, copies=copies, units=units)
