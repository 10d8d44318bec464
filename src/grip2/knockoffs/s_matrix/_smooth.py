"""What ``mvr`` and ``maxent`` share: a smooth convex objective of S, minimised on the correlation scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from grip2.knockoffs.s_matrix._group_newton import Solution
from grip2.knockoffs.s_matrix._groups import Groups, has_blocks, in_form, rescaled, units_of
from grip2.knockoffs.s_matrix._newton import minimise
from grip2.knockoffs.s_matrix._scale import ceiling_of, correlation_scale, lift
from grip2.units import Units

# Of the number of copies, s, the Cholesky factor of ``D = cR - diag(s)`` and the inverse of D.
Value = Callable[[int, np.ndarray, np.ndarray, np.ndarray], float]
# Gradient and Hessian, of the number of copies, s and the inverse of D.
Derivatives = Callable[[int, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class BlockSolver(Protocol):
    """Minimises the same objective over block-diagonal S, for a positive definite correlation matrix."""

    def __call__(self, R: np.ndarray, units: Units, copies: int) -> Solution: ...


def smooth_s(
    Sigma: np.ndarray,
    copies: int,
    groups: Groups,
    *,
    value: Value,
    derivatives: Derivatives,
    solve_blocks: BlockSolver,
) -> np.ndarray:
    """The minimiser on the scale of Sigma: s (p,) without groups, the block-diagonal S (p, p) with them."""
    ceiling = ceiling_of(copies)
    R, scale = correlation_scale(Sigma)
    R, _ = lift(R)
    units = units_of(groups, len(R))
    if has_blocks(units):
        return rescaled(solve_blocks(R, units, copies).S, scale)
    s = minimise(R, partial(value, copies), partial(derivatives, copies), ceiling=ceiling, tolerance=1e-13)
    return in_form(np.asarray(s * scale), units)
