"""Damped Newton's method for smooth convex objectives of s on the interior of ``{s > 0, cR - diag(s) > 0}``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from grip2.knockoffs.s_matrix._scale import cholesky_factor, interior_start, inverse_from

_MAX_ITERATIONS = 100
_MAX_HALVINGS = 25

Value = Callable[[np.ndarray, np.ndarray, np.ndarray], float]
Derivatives = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def minimise(R: np.ndarray, value: Value, derivatives: Derivatives, *, ceiling: float, tolerance: float) -> np.ndarray:
    """The minimiser of ``value`` over the interior.

    Parameters
    ----------
    R : (p, p) positive definite correlation matrix.
    value : the objective as a function of s, the Cholesky factor of ``D = cR - diag(s)`` and the inverse of D.
    derivatives : gradient and Hessian as functions of s and the inverse of D.
    ceiling : c, from ``ceiling_of``.
    tolerance : stop when the squared Newton decrement (to second order, twice the excess over the minimum) is at most this
        times ``max(1, |value|)``.
    """
    s = interior_start(R, ceiling)
    point = _evaluate(ceiling * R, s, value)
    if point is None:
        raise np.linalg.LinAlgError("The starting point is not in the interior.")
    for _ in range(_MAX_ITERATIONS):
        current, inverse = point
        gradient, hessian = derivatives(s, inverse)
        step = newton_step(hessian, gradient)
        decrement = -float(gradient @ step)
        if decrement <= tolerance * max(1.0, abs(current)):
            break
        # The step length keeps s > 0; the factorisation in _evaluate checks the other constraint.
        length = min(1.0, 0.95 / max(float((-step / s).max()), 1e-300))
        for _ in range(_MAX_HALVINGS):
            trial = s + length * step
            candidate = _evaluate(ceiling * R, trial, value)
            if candidate is not None and candidate[0] <= current - 1e-4 * length * decrement:
                break
            length /= 2
        else:  # any further descent is below rounding error
            break
        s, point = trial, candidate
    return s


def newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """``-hessian^-1 gradient``, on a scale where the Hessian has a unit diagonal: its entries may span 20 orders of magnitude."""
    scale = 1 / np.sqrt(np.diag(hessian))
    _, step, failed = lapack.dposv((hessian * scale[:, None] * scale).T, -gradient * scale, lower=1)
    if failed:  # rounding error made the Hessian indefinite; its diagonal still gives a descent direction
        step = -gradient * scale
    return np.asarray(step * scale)


def _evaluate(bound: np.ndarray, s: np.ndarray, value: Value) -> tuple[float, np.ndarray] | None:
    factor = cholesky_factor(bound - np.diag(s))
    if factor is None:
        return None
    inverse = inverse_from(factor)
    return value(s, factor, inverse), inverse
