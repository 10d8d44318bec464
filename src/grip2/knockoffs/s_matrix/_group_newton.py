"""Newton's method for smooth convex objectives of a block-diagonal S on the interior of ``{S > 0, D = cR - S > 0}``.

Coordinates. At a point ``S = L L'`` with block-diagonal L, every change is written ``L Y L'``. In these whitened coordinates
S is the identity, D is ``c L^-1 R L^-T - I`` and A, its inverse, is of moderate size even where R is nearly singular.
L is taken from the eigenvectors of S, block by block, so that ``kappa``, the reciprocal eigenvalues of S, is all that is
needed beside A: the inverse of D has the trace ``sum(kappa diag(A))``.

Step. Newton's equation for all blocks at once is solved by conjugate gradients, with the diagonal of the Hessian as the
preconditioner. A product with the Hessian costs ``4 p^2 d`` operations for groups of size d; one factorisation of D, about
``p^3`` operations, is needed for each step. Step lengths are found by halving until the objective has decreased.

Start. Half the conditional covariance of each group given all other columns, halved until D is positive definite. (A multiple
of ``R_gg``, as for ``equicorrelated``, would be tiny in all groups if one group were nearly a combination of others.)

Stop. When the squared Newton decrement (to second order, twice the excess over the minimum) is at most
``tolerance * max(1, |value|)``. Where R is nearly singular, rounding error hides small changes of the objective long before the
gradient is small: full steps that leave the objective unchanged to ``_FLAT`` are judged by the decrement, and the search ends
when it has stopped falling.

Certificate. ``gap`` bounds the distance of the objective from its minimum. Let ``C_g`` be the conditional covariance of group g
given all other columns. The minimiser S* satisfies ``S*_g <= C_g`` (in the order of positive semidefinite matrices): with the
Schur complement ``B_g = ((D^-1)_gg)^-1 + S_g <= c C_g``, stationarity of both objectives gives ``m S_g^-1 >= (B_g - S_g)^-1``,
hence ``(m + 1) S_g <= m B_g <= (m + 1) C_g``. (For mvr from ``m^2 S_g^-2 = (D^-2)_gg >= ((D^-1)_gg)^2`` by taking square
roots, which keeps the order.) By convexity, with G the gradient at S,

    value(S) - value(S*) <= trace(G (S - S*)) <= max over 0 <= T_g <= C_g of trace(G (S - T)),

and the maximum over each ``T_g`` is a sum of positive eigenvalues. ``S*_g <= C_g <= R_gg`` also shows that no constraint like
``s <= 1`` is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grip2.knockoffs.s_matrix._blocks import Blocks
from grip2.knockoffs.s_matrix._scale import ceiling_of, cholesky_factor, inverse_from
from grip2.units import Units

_MAX_ITERATIONS = 100
_MAX_HALVINGS = 40
_MAX_CG_STEPS = 500
_FLAT = 1e-7  # relative change of the objective that may be rounding error where R has eigenvalues near RIDGE
_MAX_STALLED = 3  # flat steps in a row that may fail to halve the decrement


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible S in whitened coordinates."""

    roots: list[np.ndarray]  # L_g, of S_g = L_g L_g'
    kappa: np.ndarray  # (p,) reciprocal eigenvalues of S
    log_det: float  # of D, not whitened
    inverse: np.ndarray  # (p, p) A = L' D^-1 L


@dataclass(frozen=True, eq=False)
class Derivatives:
    """In whitened coordinates: the gradient, and the Hessian ``Y -> blocks of (A Y B + B Y A) + (k_i + k_j) Y_ij``."""

    gradient: np.ndarray  # (p, p), of which only the diagonal blocks count
    B: np.ndarray  # (p, p)
    k: np.ndarray  # (p,)


Value = Callable[[Point], float]
DerivativesAt = Callable[[Point], Derivatives]


@dataclass(frozen=True, eq=False)
class Solution:
    """The S that was found, and how far its objective may be from the minimum."""

    S: np.ndarray  # (p, p), block-diagonal
    value: float
    gap: float  # value - minimum <= gap
    steps: int  # of Newton's method


def minimise_blocks(
    R: np.ndarray, units: Units, value: Value, derivatives: DerivativesAt, *, copies: int, tolerance: float
) -> Solution:
    """The minimiser over block-diagonal S; see the top of this file for start, stop and certificate.

    Parameters
    ----------
    R : (p, p) positive definite correlation matrix.
    units : which columns share a block.
    value, derivatives : the objective as functions of a point.
    """
    blocks = Blocks(units)
    problem = _Problem(blocks, ceiling_of(copies) * blocks.grouped(R), value)
    conditional = _conditional_covariances(blocks, blocks.grouped(R))
    current, point = problem.start(conditional)
    steps, stalled, smallest = 0, 0, np.inf
    while True:
        local = derivatives(point)
        gradient = blocks.diagonal_of(local.gradient)
        step, decrement = _newton_step(blocks, point, local, gradient, abs(current))
        stalled = 0 if decrement <= smallest / 2 else stalled + 1
        smallest = min(smallest, decrement)
        if decrement <= tolerance * max(1.0, abs(current)) or stalled > _MAX_STALLED or steps == _MAX_ITERATIONS:
            break
        better = problem.search(point, current, step, decrement)
        if better is None:
            break
        if better[0] < current - _FLAT * abs(current):
            stalled = 0
        current, point = better
        steps += 1
    gap = _gap(blocks, point, gradient, conditional)
    return Solution(blocks.to_matrix(root @ root.T for root in point.roots), current, gap, steps)


@dataclass(frozen=True, eq=False)
class _Problem:
    blocks: Blocks
    bound: np.ndarray  # (p, p) cR, in the order of the blocks
    value: Value

    def at(self, S: list[np.ndarray]) -> tuple[float, Point] | None:
        """Objective and point at S; None where it is not feasible."""
        pairs = [np.linalg.eigh(block) for block in S]
        sigma = np.concatenate([values for values, _ in pairs])
        if sigma.min() <= 0:
            return None
        D = self.blocks.congruence(self.bound, [vectors / np.sqrt(values) for values, vectors in pairs])
        D[np.diag_indices_from(D)] -= 1
        factor = cholesky_factor(D)
        if factor is None:
            return None
        log_det = float(2 * np.sum(np.log(np.diag(factor))) + np.sum(np.log(sigma)))
        roots = [vectors * np.sqrt(values) for values, vectors in pairs]
        point = Point(roots, 1 / sigma, log_det, inverse_from(factor))
        return self.value(point), point

    def start(self, conditional: list[np.ndarray]) -> tuple[float, Point]:
        S = [block / 2 for block in conditional]
        for _ in range(_MAX_HALVINGS):
            if self.at(S) is not None:
                break
            S = [block / 2 for block in S]
        # Half of a feasible S is well inside.
        found = self.at([block / 2 for block in S])
        if found is None:
            raise np.linalg.LinAlgError("The starting point is not in the interior.")
        return found

    def search(self, point: Point, current: float, step: np.ndarray, decrement: float) -> tuple[float, Point] | None:
        """The point a step length of 1, 1/2, 1/4, ... away at which the objective is less by enough, or a flat full step."""
        changes = self.blocks.split(step)
        lowest = min(float(np.linalg.eigvalsh(change)[0]) for change in changes)
        # The first length keeps S > 0; the factorisation checks the other constraint.
        length = min(1.0, 0.95 / max(-lowest, 1e-300))
        for _ in range(_MAX_HALVINGS):
            S = [
                root @ (np.eye(len(root)) + length * change) @ root.T
                for root, change in zip(point.roots, changes, strict=True)
            ]
            found = self.at([(block + block.T) / 2 for block in S])
            if found is not None:
                flat = length == 1.0 and abs(found[0] - current) <= _FLAT * abs(current)
                if flat or found[0] < current - 1e-4 * length * decrement:
                    return found
            length /= 2
        return None


def _conditional_covariances(blocks: Blocks, R: np.ndarray) -> list[np.ndarray]:
    """The covariance of each group given all other columns: the inverse of the group's block of ``R^-1``."""
    factor = cholesky_factor(R)
    if factor is None:
        raise np.linalg.LinAlgError("minimise_blocks needs a positive definite matrix.")
    inverse = inverse_from(factor)
    found = [np.linalg.inv(inverse[places, places]) for places in blocks.slices]
    return [(block + block.T) / 2 for block in found]


def _newton_step(
    blocks: Blocks, point: Point, local: Derivatives, gradient: np.ndarray, size: float
) -> tuple[np.ndarray, float]:
    """An approximate solution Y of ``Hessian Y = -gradient`` and its squared Newton decrement.

    Preconditioned conjugate gradients from zero: every iterate is a descent direction. The residual is required to fall faster
    the closer the point is to the optimum, which keeps the quadratic convergence of Newton's method.
    """
    A, B = point.inverse, local.B
    curvature = blocks.pair_sums(local.k)
    scale = 1 / (blocks.pair_products(np.diag(A), np.diag(B)) + curvature)
    step, residual = np.zeros_like(gradient), -gradient
    direction = scale * residual
    norm = first = float(residual @ direction)
    wanted = float(np.clip(first / max(1.0, size), 1e-12, 1e-2)) * first
    for _ in range(_MAX_CG_STEPS):
        if norm <= wanted:
            break
        image = blocks.sandwich(A, direction, B) + curvature * direction
        bend = float(direction @ image)
        if bend <= 0:  # rounding error
            break
        length = norm / bend
        step += length * direction
        residual = residual - length * image
        scaled = scale * residual
        norm, previous = float(residual @ scaled), norm
        direction = scaled + norm / previous * direction
    return step, -float(gradient @ step)


def _gap(blocks: Blocks, point: Point, gradient: np.ndarray, conditional: list[np.ndarray]) -> float:
    """The certificate: ``trace(G)`` plus the positive eigenvalues of -G on the scale of each C_g, in whitened coordinates."""
    total = 0.0
    for root, slope, covariance in zip(point.roots, blocks.split(gradient), conditional, strict=True):
        half = np.linalg.solve(root, np.linalg.cholesky(covariance))
        total += float(np.trace(slope)) + float(np.maximum(np.linalg.eigvalsh(-half.T @ slope @ half), 0.0).sum())
    return total
