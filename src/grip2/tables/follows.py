"""Columns that follow from the target without being copies of it: monotone functions of it, and levels in separate ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from grip2.tables.copies import FEWEST_ROWS, HEAD
from grip2.tables.reading import Reading

FEWEST_VALUES = 10  # of the column and of the target, which correspond one to one
FEWEST_ROUNDED = 50  # of both, where one of the two is rounded
MOST_LEVELS, FEWEST_IN_LEVEL = 10, 5  # of a column whose levels, or of a target whose classes, are told apart
SOME_ROWS = 1000  # in which a column with more values than that is recognised


def is_monotone_in(reading: Reading, target: np.ndarray) -> bool:
    """Are the rows in the same order, or in the reverse one, by the column and by a target of numbers?

    Ties are in the same rows; or, where both have many values, one of the two is a rounded form of the other.
    """
    if reading.values is None or reading.values.ndim > 1 or reading.codes is not None or target.dtype.kind not in "iuf":
        return False
    present = ~np.isnan(reading.values)
    if present.sum() < max(FEWEST_ROWS, 0.5 * len(present)):
        return False
    x, y = reading.values[present], target[present]
    some = slice(None, None, max(1, len(x) // HEAD))  # most columns differ in a few rows already
    if not _either_function(x[some], y[some]):
        return False
    fewest = min(len(np.unique(x)), len(np.unique(y)))
    both = _function(x, y) and _function(y, x)
    return fewest >= FEWEST_VALUES if both else fewest >= FEWEST_ROUNDED and _either_function(x, y)


def _either_function(x: np.ndarray, y: np.ndarray) -> bool:
    return _function(x, y) or _function(y, x)


def _function(x: np.ndarray, y: np.ndarray) -> bool:
    """Is y a function of x that never falls, or never rises?"""
    order = np.argsort(x, kind="stable")
    same, ordered = x[order][1:] == x[order][:-1], y[order]
    if (ordered[1:] != ordered[:-1])[same].any():
        return False
    return bool((ordered[1:] >= ordered[:-1]).all() or (ordered[1:] <= ordered[:-1]).all())


@dataclass(frozen=True, eq=False)
class TargetPart:
    """The target, or its time or its event, as columns are compared with it."""

    name: str
    values: np.ndarray  # (rows,)
    codes: np.ndarray  # (rows,) numbers of the distinct values
    distinct: tuple[object, ...]

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> TargetPart:
        codes, distinct = pd.factorize(values)
        return cls(name, values, codes, tuple(distinct.tolist()))

    def ranges_in_levels(self, reading: Reading) -> str | None:
        """Its ranges in the levels of a column, in words, where they are disjoint; None where they overlap."""
        if self.values.dtype.kind not in "iuf" or reading.values is None or len(self.distinct) <= 2:
            return None
        codes, names = _levels_of(reading)
        return _disjoint(self.values[codes >= 0], codes[codes >= 0], names) if names else None

    def ranges_in_classes(self, reading: Reading) -> str | None:
        """The ranges of a column of numbers in its two classes, in words, where they are disjoint; None where they overlap."""
        if reading.values is None or reading.values.ndim > 1 or reading.codes is not None or len(self.distinct) != 2:
            return None
        present = ~np.isnan(reading.values)
        names = [f"{value:g}" if isinstance(value, int | float) else str(value) for value in self.distinct]
        return _disjoint(reading.values[present], self.codes[present], names)


def _levels_of(reading: Reading) -> tuple[np.ndarray, list[str]]:
    """The level of every row, -1 where it is missing, and the names of the levels; none for columns of many values."""
    nothing = np.zeros(0, dtype=np.int64), list[str]()
    values = np.asarray(reading.values)
    if values.ndim > 1:
        if not reading.levels or len(reading.levels) > MOST_LEVELS:
            return nothing
        codes = np.where(values.any(axis=1), values.argmax(axis=1) + 1, 0)
        return np.where(np.isnan(values[:, 0]), -1, codes), list(reading.levels)
    if len(np.unique(values[:SOME_ROWS][~np.isnan(values[:SOME_ROWS])])) > MOST_LEVELS:
        return nothing
    distinct, codes = np.unique(values, return_inverse=True)  # NaN, once, is the last
    found = distinct[~np.isnan(distinct)]
    if len(found) > MOST_LEVELS:
        return nothing
    names = [reading.levels[int(value)] if reading.levels else f"{value:g}" for value in found]
    return np.where(codes < len(found), codes, -1), names


def _disjoint(numbers: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str | None:
    counts = np.bincount(codes, minlength=len(names))
    if len(names) < 2 or counts.min() < FEWEST_IN_LEVEL:
        return None
    ranges = [(numbers[codes == code].min(), numbers[codes == code].max()) for code in range(len(names))]
    ordered = sorted(ranges)
    gaps = [low - high for (_, high), (low, _) in pairwise(ordered)]
    # Among many values, ranges that have one end in common are separate: the number may be rounded.
    if min(gaps) < 0 or (min(gaps) == 0 and len(np.unique(numbers)) < FEWEST_VALUES):
        return None
    return "; ".join(f"{name}: {low:,.6g} to {high:,.6g}" for name, (low, high) in zip(names, ranges, strict=True))
