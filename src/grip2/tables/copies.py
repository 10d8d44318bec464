"""Columns that say the same: copies of one another, and copies of the target."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from grip2.tables.reading import Reading
from grip2.tables.roles import MAX_LEVELS

# From this correlation on, numbers are taken for a linear function of the target.
EXACT_CORRELATION = 1 - 1e-12
HEAD = 100  # rows that are compared first
LINE_DIGITS = 1e-6  # to which the shapes of their first rows agree
FEWEST_ROWS = 10  # in which a column and the target are compared


def first_equals(readings: Sequence[Reading]) -> list[int | None]:
    """For every column the number of the first one that says the same; None where there is none.

    The same numbers in every row, a linear function of them (another unit of measurement), or levels that correspond one to one;
    one of the two may give its levels by numbers.
    """
    # Most columns differ in their first rows already; only the others are compared in full.
    heads = Counter(_head(reading) for reading in readings)
    any_levels = any(reading.codes is not None for reading in readings)
    by_values: dict[bytes, int] = {}
    by_levels: dict[bytes, int] = {}
    by_few_numbers: dict[bytes, int] = {}
    by_line: dict[bytes, int] = {}
    found: list[int | None] = []
    for j, reading in enumerate(readings):
        equal: list[int | None] = []
        single = reading.values is not None and reading.values.ndim == 1
        values = _mark(reading.values) if single and heads[_head(reading)] > 1 else None
        codes = codes_of(reading) if any_levels and reading.values is not None else None
        levels = None if codes is None else _mark(codes)
        if values is not None:
            equal.append(by_values.get(values))
        if levels is not None:
            equal.append(by_levels.get(levels))
            equal.append(by_few_numbers.get(levels) if reading.codes is not None else None)
        line = _line_mark(reading.values) if single and reading.codes is None else None
        if line is not None and line in by_line and _same_line(reading, readings[by_line[line]]):
            equal.append(by_line[line])
        first = min((k for k in equal if k is not None), default=None)
        found.append(first)
        if first is None and values is not None:
            by_values[values] = j
        if first is None and levels is not None:
            (by_few_numbers if reading.codes is None else by_levels).setdefault(levels, j)
        if first is None and line is not None:
            by_line.setdefault(line, j)
    return found


def how_equal(reading: Reading, first: Reading) -> str:
    """In what way a column says the same as another one."""
    if reading.codes is not None and first.codes is not None:
        return "same levels in every row"
    if reading.codes is None and first.codes is None and not _equal_numbers(reading, first):
        return "a linear function of it"
    return "equal in every row"


def _equal_numbers(one: Reading, other: Reading) -> bool:
    a, b = np.asarray(one.values, dtype=float), np.asarray(other.values, dtype=float)
    return np.array_equal(a, b, equal_nan=True)


def _line_mark(values: np.ndarray | None) -> bytes | None:
    """The same for columns that are linear functions of each other, as far as their first rows tell; None for a constant."""
    head = np.asarray(values, dtype=np.float64)[:HEAD]
    present = ~np.isnan(head)
    with np.errstate(all="ignore"):
        centred = head[present] - head[present].mean() if present.any() else head[present]
        largest = np.abs(centred).max(initial=0.0)
        shape = centred / largest
    if len(shape) < FEWEST_ROWS or not np.isfinite(shape).all():
        return None
    upwards = shape * np.sign(shape[np.argmax(np.abs(shape) > LINE_DIGITS)])
    return _mark(present) + _mark(np.round(upwards / LINE_DIGITS).astype(np.int64))


def _same_line(one: Reading, other: Reading) -> bool:
    a, b = np.asarray(one.values, dtype=np.float64), np.asarray(other.values, dtype=np.float64)
    present = ~np.isnan(a)
    return np.array_equal(present, ~np.isnan(b)) and _linear(a[present], b[present])


def copies_target(reading: Reading, target: np.ndarray) -> bool:
    """Is the column the target, a linear function of it, or its values under other names?"""
    if reading.values is None:
        return False
    first = reading.columns[0]
    present = ~np.isnan(first)
    if present.sum() < max(FEWEST_ROWS, 0.5 * len(present)):
        return False
    if target.dtype.kind in "iufb" and reading.codes is None and reading.values.ndim == 1:
        return _linear(first[present].astype(np.float64), target[present].astype(np.float64))
    classes = by_appearance(pd.factorize(target)[0])
    codes = codes_of(reading)
    if codes is None or classes.max() >= MAX_LEVELS or classes.max() < 1:
        return False
    return np.array_equal(by_appearance(codes[present]), by_appearance(classes[present]))


def _linear(x: np.ndarray, y: np.ndarray) -> bool:
    if np.array_equal(x, y):
        return True
    with np.errstate(all="ignore"):
        x, y = x - x.mean(), y - y.mean()
        correlation = (x @ y) / np.sqrt((x @ x) * (y @ y))
    return bool(abs(correlation) >= EXACT_CORRELATION)


def codes_of(reading: Reading) -> np.ndarray | None:
    """The number of the level of every row, in the order of their first rows; None for numbers with many values."""
    if reading.codes is not None:
        return by_appearance(reading.codes)
    values = reading.values
    if values is None or values.ndim > 1 or len(np.unique(values[:1000])) > MAX_LEVELS:
        return None
    codes = np.asarray(pd.factorize(values)[0], dtype=np.int64)
    return codes if codes.max() < MAX_LEVELS else None


def by_appearance(codes: np.ndarray) -> np.ndarray:
    """Levels renumbered in the order in which rows first have them; -1, a missing value, stays."""
    out = np.full(len(codes), -1, dtype=np.int64)
    out[codes >= 0] = pd.factorize(codes[codes >= 0])[0]
    return out


def _head(reading: Reading) -> bytes:
    return b"" if reading.values is None or reading.values.ndim > 1 else _mark(reading.values[:HEAD])


def _mark(values: np.ndarray | None) -> bytes:
    """The same for equal columns."""
    plain = np.asarray(values)
    if plain.dtype.kind == "f":
        # Adding zero turns -0.0 into 0.0, which is equal to it but has other bytes; so have several kinds of NaN.
        plain = plain + plain.dtype.type(0)
        plain[np.isnan(plain)] = np.nan
    return hashlib.blake2b(np.ascontiguousarray(plain).tobytes(), digest_size=16).digest()
