"""Compiled piecewise linear interpolation for long columns: a guide table says where to begin to look.

The results are those of `numpy.searchsorted` and `numpy.interp` to the last bit; a binary search over ten thousand points that
misses the cache at every step takes ten times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grip2.engine.compiled_functions import compiled

CELLS = 8_192


class Guide(NamedTuple):
    """For each of many equal cells between the first and the last of some ascending points, the first point not below it."""

    low: float
    per_unit: float  # cells in one unit
    first: np.ndarray  # (cells + 1,)


def guide_of(points: np.ndarray) -> Guide:
    low, high = float(points[0]), float(points[-1])
    edges = low + (high - low) * (np.arange(CELLS) / CELLS)
    first = np.append(np.searchsorted(points, edges, side="left"), len(points)).astype(np.int32)
    return Guide(low, CELLS / (high - low) if high > low else 0.0, first)


@compiled
def _not_below(value: float, points: np.ndarray, low: float, per_unit: float, first: np.ndarray) -> int:
    """The position of the first point that is not below the value."""
    cells = len(first) - 1
    place = (value - low) * per_unit
    cell = 0 if place < 1.0 else (cells - 1 if place >= cells else int(place))
    # One cell more on either side, against rounding.
    start = first[cell - 1] if cell > 0 else 0
    end = first[cell + 2] if cell + 2 <= cells else len(points)
    while start < end:
        middle = (start + end) // 2
        if points[middle] < value:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def positions(
    values: np.ndarray, points: np.ndarray, low: float, per_unit: float, first: np.ndarray, found: np.ndarray
) -> None:
    """``numpy.searchsorted(points, values, side="left")``."""
    for i in range(len(values)):
        found[i] = _not_below(values[i], points, low, per_unit, first)


@compiled
def interpolate(
    values: np.ndarray,
    points: np.ndarray,
    heights: np.ndarray,
    low: float,
    per_unit: float,
    first: np.ndarray,
    found: np.ndarray,
) -> None:
    """``numpy.interp(values, points, heights)``."""
    last = len(points) - 1
    for i in range(len(values)):
        value = values[i]
        j = _not_below(value, points, low, per_unit, first)
        if j > last:
            found[i] = heights[last]
        elif points[j] == value:
            # As numpy does: the height of the last of equal points.
            while j < last and points[j + 1] == value:
                j += 1
            found[i] = heights[j]
        elif j == 0:
            found[i] = heights[0]
        else:
            slope = (heights[j] - heights[j - 1]) / (points[j] - points[j - 1])
            found[i] = slope * (value - points[j - 1]) + heights[j - 1]
