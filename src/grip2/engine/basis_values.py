"""The compiled evaluation of basis functions (`grip2.statistics.basis.Basis`) for very many rows."""

from __future__ import annotations

import numpy as np

from grip2.engine.effect_visits import compiled


@compiled
def fill_basis_values(
    Z: np.ndarray,
    knots: np.ndarray,
    deviation: np.ndarray,
    span: np.ndarray,
    centre: np.ndarray,
    on: np.ndarray,
    unit: np.ndarray,
    tail_end: float,
    place: np.ndarray,
    values: np.ndarray,
) -> None:
    """``values[i, place[k, j]]`` becomes function k of ``Z[i, j]``; those with a negative place are left out.

    All six functions, in the order of `grip2.statistics.basis`.
    """
    functions = len(unit)
    f = np.empty(functions)
    for i in range(len(Z)):
        for j in range(Z.shape[1]):
            z = min(max(float(Z[i, j]), span[0, j]), span[1, j])
            tail = min(max((z - knots[1, j]) / deviation[j], -tail_end), tail_end)
            f[0] = z
            f[1] = max(z - knots[1, j], 0.0)
            f[2] = max(z - knots[0, j], 0.0) - max(z - knots[2, j], 0.0)
            f[3] = tail * tail * tail
            f[4] = 1.0 if z > knots[3, j] else 0.0
            f[5] = 1.0 if z > knots[4, j] else 0.0
            for k in range(functions):
                value = f[k] - centre[k, j]
                for earlier in range(k):
                    value -= f[earlier] * on[k, earlier, j]
                f[k] = value * unit[k, j]
                if place[k, j] >= 0:
                    values[i, place[k, j]] = f[k]
