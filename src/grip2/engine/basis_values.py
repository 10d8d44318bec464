"""Compiled evaluation of the basis functions of columns (`grip2.statistics.basis`): every entry of a table is read once."""

from __future__ import annotations

import numpy as np

from grip2.engine.effect_visits import compiled, compiled_helper


@compiled
def raw_values(Z: np.ndarray, knots: np.ndarray, deviation: np.ndarray, tail_end: float, out: np.ndarray) -> None:
    """``out`` (functions, rows, columns): the column, V, S, tails and steps, before they are centred and made orthogonal."""
    functions = len(out)
    value = np.empty(functions)
    for i in range(len(Z)):
        for j in range(Z.shape[1]):
            _raw(float(Z[i, j]), j, knots, deviation, tail_end, value)
            for k in range(functions):
                out[k, i, j] = value[k]


@compiled
def orthonormal_values(
    Z: np.ndarray,
    knots: np.ndarray,
    deviation: np.ndarray,
    span: np.ndarray,
    centre: np.ndarray,
    on: np.ndarray,
    unit: np.ndarray,
    tail_end: float,
    out: np.ndarray,
) -> None:
    """``out`` (functions, rows, columns) of the functions as they were fitted; zero where a function was dropped."""
    functions = len(out)
    value = np.empty(functions)
    for i in range(len(Z)):
        for j in range(Z.shape[1]):
            _orthonormal(Z[i, j], j, knots, deviation, span, centre, on, unit, tail_end, value)
            for k in range(functions):
                out[k, i, j] = value[k]


@compiled
def placed_values(
    Z: np.ndarray,
    knots: np.ndarray,
    deviation: np.ndarray,
    span: np.ndarray,
    centre: np.ndarray,
    on: np.ndarray,
    unit: np.ndarray,
    tail_end: float,
    place: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out[i, place[k, j]]`` becomes function k of ``Z[i, j]``; those with a negative place are left out."""
    functions = len(unit)
    value = np.empty(functions)
    for i in range(len(Z)):
        for j in range(Z.shape[1]):
            _orthonormal(Z[i, j], j, knots, deviation, span, centre, on, unit, tail_end, value)
            for k in range(functions):
                if place[k, j] >= 0:
                    out[i, place[k, j]] = value[k]


@compiled
def mean_products(values: np.ndarray, centre: np.ndarray, products: np.ndarray) -> None:
    """``products`` (functions, functions, columns): means over rows of products of two functions of a column, centred.

    ``values`` (functions, rows, columns); only b <= a is filled.
    """
    functions, rows, columns = values.shape
    products[:] = 0.0
    for i in range(rows):
        for a in range(functions):
            for b in range(a + 1):
                for j in range(columns):
                    products[a, b, j] += (values[a, i, j] - centre[a, j]) * (values[b, i, j] - centre[b, j])
    products /= rows


@compiled_helper
def _raw(z: float, j: int, knots: np.ndarray, deviation: np.ndarray, tail_end: float, value: np.ndarray) -> None:
    functions = len(value)
    value[0] = z
    if functions > 1:
        value[1] = max(z - knots[1, j], 0.0)
    if functions > 2:
        value[2] = max(z - knots[0, j], 0.0) - max(z - knots[2, j], 0.0)
    if functions > 3:
        tail = min(max((z - knots[1, j]) / deviation[j], -tail_end), tail_end)
        value[3] = tail * tail * tail
        value[4] = 1.0 if z > knots[3, j] else 0.0
        value[5] = 1.0 if z > knots[4, j] else 0.0


@compiled_helper
def _orthonormal(
    z: float,
    j: int,
    knots: np.ndarray,
    deviation: np.ndarray,
    span: np.ndarray,
    centre: np.ndarray,
    on: np.ndarray,
    unit: np.ndarray,
    tail_end: float,
    value: np.ndarray,
) -> None:
    """A value beyond all fitted ones counts as the outermost of them: it would otherwise outweigh all others."""
    inside = min(max(float(z), span[0, j]), span[1, j])
    _raw(inside, j, knots, deviation, tail_end, value)
    for k in range(len(value)):
        rest = value[k] - centre[k, j]
        for earlier in range(k):
            rest -= value[earlier] * on[k, earlier, j]
        value[k] = rest * unit[k, j]
