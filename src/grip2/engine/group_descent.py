"""The group lasso on moments, compiled: block coordinate descent on a growing working set, until the duality gap is small.

    min over b of 1/2 b'Gb - c'b + lambda sum_g w_g ||b_g||,    G = Q'Q / n, c = Q'y / n of centred data.

The columns of a block lie next to each other. A block whose Gram matrix is the identity, as on the rows that it was made
orthonormal on, is minimised exactly at every visit; otherwise a visit is a proximal step of length 1 / L_g, with L_g the largest
eigenvalue of that matrix. Blocks join and penalties end as in `grip2.engine.lasso_descent`, whose lasso it gives with blocks of
one column.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper
from grip2.engine.lasso_descent import residual_correlations
from grip2.engine.lasso_rules import INNER_TOLERANCE, NEW_COLUMNS


@compiled
def descend_blocks(
    gram: np.ndarray,
    cross: np.ndarray,
    response: float,
    starts: np.ndarray,
    weights: np.ndarray,
    curvatures: np.ndarray,
    lambdas: np.ndarray,
    start: np.ndarray,
    tolerance: float,
    max_iterations: int,
) -> tuple[np.ndarray, bool]:
    """Coefficients (columns, penalties) along the penalties, each started from the last; and whether every gap was closed.

    ``starts`` (blocks + 1,): where blocks begin and the last one ends. ``weights``, ``curvatures`` (blocks,): w_g and L_g.
    ``response``: y'y / n. ``max_iterations``: sweeps over the working set, for one penalty.
    """
    p = len(cross)
    path = np.empty((p, len(lambdas)))
    b = start.copy()
    gradient = residual_correlations(gram, cross, b)
    converged = True
    for k in range(len(lambdas)):
        left = max_iterations
        while _gap(cross, gradient, b, starts, weights, response, lambdas[k]) > tolerance * response:
            if left <= 0:
                converged = False
                break
            working = _working_blocks(gradient, b, starts, weights, lambdas[k])
            left -= _descend_within(
                gram,
                cross,
                response,
                b,
                gradient,
                starts,
                weights,
                curvatures,
                working,
                lambdas[k],
                INNER_TOLERANCE * tolerance,
                left,
            )
            gradient = residual_correlations(gram, cross, b)
        for j in range(p):
            path[j, k] = b[j]
    return path, converged


@compiled_helper
def _norm(values: np.ndarray, first: int, end: int) -> float:
    total = 0.0
    for j in range(first, end):
        total += values[j] * values[j]
    return float(np.sqrt(total))


@compiled_helper
def _gap(
    cross: np.ndarray,
    gradient: np.ndarray,
    b: np.ndarray,
    starts: np.ndarray,
    weights: np.ndarray,
    response: float,
    penalty: float,
) -> float:
    """Of the objective to its dual at the scaled residual; the dual point is feasible for the blocks given."""
    fitted, of_residual, size, largest = 0.0, 0.0, 0.0, 0.0
    for j in range(len(b)):
        fitted += cross[j] * b[j]
        of_residual += gradient[j] * b[j]
    for g in range(len(weights)):
        size += weights[g] * _norm(b, starts[g], starts[g + 1])
        largest = max(largest, _norm(gradient, starts[g], starts[g + 1]) / weights[g])
    squares = max(response - fitted - of_residual, 0.0)  # of the residual, per row
    scale = 1.0 if largest <= penalty else penalty / largest
    return 0.5 * squares * (1.0 + scale * scale) + penalty * size - scale * (response - fitted)


@compiled_helper
def _working_blocks(
    gradient: np.ndarray, b: np.ndarray, starts: np.ndarray, weights: np.ndarray, penalty: float
) -> np.ndarray:
    """Blocks that are not zero, and the zero ones that most violate the conditions of an optimum."""
    blocks = len(weights)
    excess = np.empty(blocks)
    active = 0
    for g in range(blocks):
        if _norm(b, starts[g], starts[g + 1]) > 0.0:
            excess[g] = np.inf
            active += 1
        else:
            excess[g] = _norm(gradient, starts[g], starts[g + 1]) / weights[g] - penalty
    working = np.empty(blocks, np.int64)
    size, most = 0, active + max(NEW_COLUMNS, active)
    while size < min(most, blocks):
        best = 0
        for g in range(blocks):
            if excess[g] > excess[best]:
                best = g
        if not excess[best] > 0.0:
            break
        working[size] = best
        excess[best] = -np.inf
        size += 1
    return working[:size]


@compiled_helper
def _descend_within(
    gram: np.ndarray,
    cross: np.ndarray,
    response: float,
    b: np.ndarray,
    gradient: np.ndarray,
    starts: np.ndarray,
    weights: np.ndarray,
    curvatures: np.ndarray,
    working: np.ndarray,
    penalty: float,
    tolerance: float,
    most: int,
) -> int:
    """Sweeps over the working set until its own gap is closed; changes ``b`` and says how many were needed."""
    blocks = len(working)
    own_starts, own_weights, own_curvatures = np.empty(blocks + 1, np.int64), np.empty(blocks), np.empty(blocks)
    own_starts[0] = 0
    for i in range(blocks):
        g = working[i]
        own_starts[i + 1] = own_starts[i] + starts[g + 1] - starts[g]
        own_weights[i], own_curvatures[i] = weights[g], curvatures[g]
    size = own_starts[blocks]
    columns = np.empty(size, np.int64)
    for i in range(blocks):
        for k in range(own_starts[i + 1] - own_starts[i]):
            columns[own_starts[i] + k] = starts[working[i]] + k
    own_gram, own_cross, own_gradient, own = np.empty((size, size)), np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        own_cross[i], own_gradient[i], own[i] = cross[columns[i]], gradient[columns[i]], b[columns[i]]
        for k in range(size):
            own_gram[i, k] = gram[columns[i], columns[k]]
    sweeps = 0
    while sweeps < most:
        sweeps += 1
        for i in range(blocks):
            _visit(
                own_gram,
                own,
                own_gradient,
                own_starts[i],
                own_starts[i + 1],
                own_curvatures[i],
                penalty * own_weights[i],
            )
        if _gap(own_cross, own_gradient, own, own_starts, own_weights, response, penalty) <= tolerance * response:
            break
    for i in range(size):
        b[columns[i]] = own[i]
    return sweeps


@compiled_helper
def _visit(
    gram: np.ndarray, b: np.ndarray, gradient: np.ndarray, first: int, end: int, curvature: float, penalty: float
) -> None:
    """A proximal step of one block; changes ``b`` and ``gradient``."""
    if curvature <= 0.0:
        return
    total = 0.0
    for j in range(first, end):
        pull = gradient[j] + curvature * b[j]
        total += pull * pull
    norm = np.sqrt(total)
    kept = 1.0 - penalty / norm if norm > penalty else 0.0
    # All changes are taken before the gradient moves.
    change = np.empty(end - first)
    for j in range(first, end):
        change[j - first] = kept * (gradient[j] + curvature * b[j]) / curvature - b[j]
    for j in range(first, end):
        if change[j - first] != 0.0:
            b[j] += change[j - first]
            for k in range(len(b)):
                gradient[k] -= change[j - first] * gram[j, k]
