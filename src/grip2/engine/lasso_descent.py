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
    gradient = _gradient(gram, cross, b)
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
            gradient = _gradient(gram, cross, b)
        path[:, k] = b
    return path, converged


@compiled_helper
def _gradient(gram: np.ndarray, cross: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlations of all columns with the residual: c - G b."""
    gradient = cross.copy()
    for j in np.flatnonzero(b):
        gradient -= b[j] * gram[j]
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
    """Columns that are not zero, and the zero ones that most violate the conditions of an optimum."""
    excess = np.where(b == 0, np.abs(gradient) - penalty, 0.0)
    violating = np.flatnonzero(excess > 0)
    effects = np.flatnonzero(b)
    most = max(NEW_COLUMNS, len(effects))
    if len(violating) > most:
        violating = violating[np.argsort(-excess[violating], kind="mergesort")[:most]]
    return np.concatenate((effects, np.sort(violating)))


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
    own_gram, own_cross, own_gradient, own = np.empty((size, size)), cross[working], gradient[working], b[working]
    for i in range(size):
        for k in range(size):
            own_gram[i, k] = gram[working[i], working[k]]
    sweeps = descend_all(own_gram, own_cross, response, own, own_gradient, penalty, tolerance, most)
    b[working] = own
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
