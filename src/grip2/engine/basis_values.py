"""Compiled evaluation of the basis functions of columns (`grip2.statistics.basis`): every entry of a table is read once."""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper

_ROWS = 256  # worked on at a time, column by column: what belongs to a column stays near the processor


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
    """``out`` (functions, rows, columns) of the functions as they were fitted; zero where a function was dropped.

    A value beyond all fitted ones counts as the outermost of them: it would otherwise outweigh all others.
    """
    functions = len(out)
    value, own_on = np.empty(functions), np.empty((functions, functions))
    for start in range(0, len(Z), _ROWS):
        for j in range(Z.shape[1]):
            for k in range(functions):
                for earlier in range(functions):
                    own_on[k, earlier] = on[k, earlier, j]
            for i in range(start, min(start + _ROWS, len(Z))):
                inside = min(max(float(Z[i, j]), span[0, j]), span[1, j])
                _raw(inside, j, knots, deviation, tail_end, value)
                _made_orthonormal(j, centre, own_on, unit, value)
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
    own_on, c, u = np.empty((6, 6)), np.empty(6), np.empty(6)
    for start in range(0, len(Z), _ROWS):
        for j in range(Z.shape[1]):
            for k in range(6):
                c[k], u[k] = centre[k, j], unit[k, j]
                for earlier in range(6):
                    own_on[k, earlier] = on[k, earlier, j]
            low, middle, high, first, second = knots[0, j], knots[1, j], knots[2, j], knots[3, j], knots[4, j]
            for i in range(start, min(start + _ROWS, len(Z))):
                z = min(max(float(Z[i, j]), span[0, j]), span[1, j])
                tail = min(max((z - middle) / deviation[j], -tail_end), tail_end)
                bent = max(z - low, 0.0) - max(z - high, 0.0)
                # `_made_orthonormal`, written out: the values stay in the processor.
                v0 = (z - c[0]) * u[0]
                v1 = (max(z - middle, 0.0) - c[1] - v0 * own_on[1, 0]) * u[1]
                v2 = (bent - c[2] - v0 * own_on[2, 0] - v1 * own_on[2, 1]) * u[2]
                v3 = tail * tail * tail - c[3] - v0 * own_on[3, 0] - v1 * own_on[3, 1] - v2 * own_on[3, 2]
                v3 *= u[3]
                v4 = (1.0 if z > first else 0.0) - c[4] - v0 * own_on[4, 0] - v1 * own_on[4, 1]
                v4 = (v4 - v2 * own_on[4, 2] - v3 * own_on[4, 3]) * u[4]
                v5 = (1.0 if z > second else 0.0) - c[5] - v0 * own_on[5, 0] - v1 * own_on[5, 1]
                v5 = (v5 - v2 * own_on[5, 2] - v3 * own_on[5, 3] - v4 * own_on[5, 4]) * u[5]
                if place[0, j] >= 0:
                    out[i, place[0, j]] = v0
                if place[1, j] >= 0:
                    out[i, place[1, j]] = v1
                if place[2, j] >= 0:
                    out[i, place[2, j]] = v2
                if place[3, j] >= 0:
                    out[i, place[3, j]] = v3
                if place[4, j] >= 0:
                    out[i, place[4, j]] = v4
                if place[5, j] >= 0:
                    out[i, place[5, j]] = v5


@compiled
def side_values(
    Z: np.ndarray,
    middle: np.ndarray,
    span: np.ndarray,
    centre: np.ndarray,
    v_on_line: np.ndarray,
    unit: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out`` (3, rows, columns): the line, the V and the step at the median, with ``centre`` and ``unit`` (3, columns).

    The V is made orthogonal to the line by ``v_on_line`` (columns,); the step is not, and has no ends.
    """
    for i in range(len(Z)):
        for j in range(Z.shape[1]):
            z = min(max(float(Z[i, j]), span[0, j]), span[1, j])
            line = (z - centre[0, j]) * unit[0, j]
            out[0, i, j] = line
            out[1, i, j] = (max(z - middle[j], 0.0) - centre[1, j] - line * v_on_line[j]) * unit[1, j]
            out[2, i, j] = ((1.0 if Z[i, j] > middle[j] else 0.0) - centre[2, j]) * unit[2, j]


@compiled
def mean_products(values: np.ndarray, centre: np.ndarray, products: np.ndarray) -> None:
    """``products`` (functions, functions, columns): means over rows of products of two functions of a column, centred.

    ``values`` (functions, rows, columns); only b <= a is filled.
    """
    functions, rows, columns = values.shape
    for a in range(functions):
        for b in range(a + 1):
            for j in range(columns):
                products[a, b, j] = 0.0
    for i in range(rows):
        for a in range(functions):
            for b in range(a + 1):
                for j in range(columns):
                    products[a, b, j] += (values[a, i, j] - centre[a, j]) * (values[b, i, j] - centre[b, j])
    for a in range(functions):
        for b in range(a + 1):
            for j in range(columns):
                products[a, b, j] /= rows


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
def _made_orthonormal(j: int, centre: np.ndarray, on: np.ndarray, unit: np.ndarray, value: np.ndarray) -> None:
    """The functions of an entry of column j, in place; ``on`` (functions, functions) is that of the column."""
    for k in range(len(value)):
        if unit[k, j] == 0.0:
            value[k] = 0.0
            continue
        rest = value[k] - centre[k, j]
        for earlier in range(k):
            rest -= value[earlier] * on[k, earlier]
        value[k] = rest * unit[k, j]
