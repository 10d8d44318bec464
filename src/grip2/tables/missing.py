"""Treats missing values as the user wants: left to be drawn, filled, or marked by an indicator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grip2.tables.reading import Reading
from grip2.tables.records import Problem, Role
from grip2.tables.roles import ABSENT_SHARE, Missing, rare_below

MANY = 10  # columns that a message lists


def treat(readings: Sequence[Reading], policy: Missing) -> list[Reading]:
    """Readings with their missing values left (to be drawn), filled, or marked by an indicator."""
    if policy in (Missing.DRAW, Missing.REFUSE):
        return [_told(reading) if policy == Missing.DRAW else reading for reading in readings]
    patterns: set[bytes] = set()
    return [_filled(reading, policy, patterns) for reading in readings]


def refused(names: Sequence[str], readings: Sequence[Reading]) -> list[Problem]:
    """One problem that names the columns with missing values, if there are any."""
    found = [(name, _n_missing(reading)) for name, reading in zip(names, readings, strict=True) if _n_missing(reading)]
    if not found:
        return []
    listed = ", ".join(f"{name} ({count})" for name, count in found[:MANY])
    more = f" and {len(found) - MANY} more columns" if len(found) > MANY else ""
    return [
        Problem(
            f"missing values in {listed}{more}",
            "fill them in, or say what to do: missing='draw' (--missing draw), 'indicator' or 'median'",
        )
    ]


def _n_missing(reading: Reading) -> int:
    return 0 if reading.values is None or not reading.n_missing else int(np.isnan(reading.columns[0]).sum())


def _told(reading: Reading) -> Reading:
    """What will be done to missing values, with a notice where most values of a column are drawn from a model."""
    count = _n_missing(reading)
    if count:
        reading = replace(reading, done=_also(reading.done, f"{count} missing values drawn from the model"))
    if reading.values is None or count < ABSENT_SHARE * len(reading.values):
        return reading
    notice = (
        f"{count} of {len(reading.values)} values are missing and will be drawn from a model of the table; if absence means "
        "something, say missing='indicator' (--missing indicator)"
    )
    return replace(reading, notices=(*reading.notices, notice))


def _filled(reading: Reading, policy: Missing, patterns: set[bytes]) -> Reading:
    """The reading with its missing values filled; ``patterns``: of missing values that have an indicator already."""
    count = _n_missing(reading)
    if count == 0 or reading.values is None:
        return reading
    missing = np.isnan(reading.columns[0])
    most_frequent = reading.role in (Role.CATEGORY, Role.BINARY)
    columns, shown, value = [], "", 0.0
    for column in reading.columns:
        value = _mode(column[~missing]) if most_frequent else float(np.median(column[~missing]))
        columns.append(np.where(missing, np.asarray(value, column.dtype), column))
        shown = shown or f"{value:g}"
    if reading.role == Role.BINARY and reading.levels:
        shown = repr(reading.levels[int(value)])
    if reading.role == Role.CATEGORY:
        # The reference is the most frequent level of all rows that have one.
        columns = [np.where(missing, 0.0, column) for column in reading.columns]
        shown = repr(reading.levels[0])
    endings, notice = reading.endings, f"{count} missing values filled with {shown}"
    if policy == Missing.INDICATOR and reading.role != Role.CATEGORY:
        pattern = np.packbits(missing).tobytes()
        if count >= rare_below(len(missing)) and pattern not in patterns:
            patterns.add(pattern)
            columns.append(missing.astype(np.float64))
            endings = (*endings, " is missing")
            notice += ", and told by a 0/1 column"
    values = columns[0] if len(columns) == 1 else np.column_stack(columns)
    return replace(
        reading,
        values=values,
        endings=endings,
        done=_also(reading.done, notice),
        notices=(*reading.notices, notice),
    )


def _also(done: str, more: str) -> str:
    return f"{done}; {more}" if done else more


def _mode(values: np.ndarray) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[np.argmax(counts)])
