"""The lasso on moments, compiled: coordinate descent on a growing working set, until the duality gap is small.

    min over b of 1/2 b'Gb - c'b + lambda ||b||_1,    G = Z'Z / n, c = Z'y / n of centred data.

Columns whose correlation with the residual exceeds lambda, the largest first, join those that are not zero; the descent touches
these alone, which is what makes it fast where few of many correlated columns matter. A penalty is done when the duality gap over
all columns is below the tolerance times y'y / n, the rule of scikit-learn's ``lasso_path``, which is its naive twin.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper
from grip2.engine.lasso_rules import INNER_TOLERANCE, NEW_COLUMNS


@compiled
def descend(
    gram: np.ndarray,
    cross: np.ndarray,
    response: float,
    lambdas: np.ndarray,
    start: np.ndarray,
    tolerance: float,
    max_iterations: int,
) -> tuple[np.ndarray, bool]:
    """Coefficients (columns, penalties) along the penalties, each started from the last; and whether every gap was closed.

    ``response``: y'y / n. ``max_iterations``: sweeps over the working set, for one penalty.
    """
    p = len(cross)
    path = np.empty((p, len(lambdas)))
    b = start.copy()
    gradient = residual_correlations(gram, cross, b)
    converged = True
    for k in range(len(lambdas)):
        left = max_iterations
        while _gap(cross, gradient, b, response, lambdas[k]) > tolerance * response:
            if left <= 0:
                converged = False
                break
            working = _working_set(gradient, b, lambdas[k])
            left -= _descend_within(
                gram, cross, response, b, gradient, working, lambdas[k], INNER_TOLERANCE * tolerance, left
            )
            gradient = residual_correlations(gram, cross, b)
        for j in range(p):
            path[j, k] = b[j]
    return path, converged


@compiled_helper
def residual_correlations(gram: np.ndarray, cross: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlations of all columns with the residual: c - G b."""
    gradient = cross.copy()
    for j in range(len(b)):
        if b[j] != 0.0:
            for k in range(len(b)):
                gradient[k] -= b[j] * gram[j, k]
    return gradient


@compiled_helper
def _gap(cross: np.ndarray, gradient: np.ndarray, b: np.ndarray, response: float, penalty: float) -> float:
    """Of the objective to its dual at the scaled residual; the dual point is feasible for the columns given."""
    fitted, of_residual, size, largest = 0.0, 0.0, 0.0, 0.0
    for j in range(len(b)):
        fitted += cross[j] * b[j]
        of_residual += gradient[j] * b[j]
        size += abs(b[j])
        largest = max(largest, abs(gradient[j]))
    squares = max(response - fitted - of_residual, 0.0)  # of the residual, per row
    scale = 1.0 if largest <= penalty else penalty / largest
    return 0.5 * squares * (1.0 + scale * scale) + penalty * size - scale * (response - fitted)


@compiled_helper
def _working_set(gradient: np.ndarray, b: np.ndarray, penalty: float) -> np.ndarray:
    """Columns that are not zero, and the zero ones that most violate the conditions of an optimum; of equal ones the first."""
    effects, violating = 0, 0
    excess = np.empty(len(b))
    for j in range(len(b)):
        if b[j] != 0.0:
            effects += 1
        elif abs(gradient[j]) > penalty:
            excess[violating] = abs(gradient[j]) - penalty
            violating += 1
    new = min(violating, max(NEW_COLUMNS, effects))
    least = _largest(excess[:violating], new) if new < violating else 0.0
    at_least = new  # of those that violate by the least, as many as are left
    for k in range(violating):
        if excess[k] > least:
            at_least -= 1
    working = np.empty(effects + new, np.int64)
    place, joined = 0, effects
    for j in range(len(b)):
        if b[j] != 0.0:
            working[place] = j
            place += 1
            continue
        over = abs(gradient[j]) - penalty
        if over > least:
            working[joined] = j
            joined += 1
        elif over == least and over > 0.0 and at_least > 0:
            working[joined] = j
            joined += 1
            at_least -= 1
    return working


@compiled_helper
def _largest(values: np.ndarray, k: int) -> float:
    """The k-th largest, by Hoare's quickselect, which leaves the values in another order."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return float(values[k - 1])


@compiled_helper
def _descend_within(
    gram: np.ndarray,
    cross: np.ndarray,
    response: float,
    b: np.ndarray,
    gradient: np.ndarray,
    working: np.ndarray,
    penalty: float,
    tolerance: float,
    most: int,
) -> int:
    """Sweeps over the working set until its own gap is closed; changes ``b`` and says how many were needed."""
    size = len(working)
    own_gram, own_cross, own_gradient, own = np.empty((size, size)), np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        own_cross[i], own_gradient[i], own[i] = cross[working[i]], gradient[working[i]], b[working[i]]
        for k in range(size):
            own_gram[i, k] = gram[working[i], working[k]]
    sweeps = descend_all(own_gram, own_cross, response, own, own_gradient, penalty, tolerance, most)
    for i in range(size):
        b[working[i]] = own[i]
    return int(sweeps)


@compiled
def descend_all(
    gram: np.ndarray,
    cross: np.ndarray,
    response: float,
    b: np.ndarray,
    gradient: np.ndarray,
    penalty: float,
    tolerance: float,
    most: int,
) -> int:
    """Sweeps over all columns until the gap is closed; changes ``b`` and ``gradient`` and says how many were needed."""
    sweeps = 0
    while sweeps < most:
        sweeps += 1
        for i in range(len(b)):
            squares = gram[i, i]
            if squares <= 0:
                continue
            pull = gradient[i] + squares * b[i]
            new = np.sign(pull) * max(abs(pull) - penalty, 0.0) / squares
            change = new - b[i]
            if change != 0:
                b[i] = new
                for k in range(len(b)):
                    gradient[k] -= change * gram[i, k]
        if _gap(cross, gradient, b, response, penalty) <= tolerance * response:
            break
    return sweeps
