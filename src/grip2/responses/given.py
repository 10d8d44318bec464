"""A user's y, whatever holds it, as one array with an entry for each row.

Plain arrays and Series come back as they are. Two kinds of y are more than one plain column and come back as structured
arrays, which can be indexed by rows like any other: times to an event, with fields ``time`` and ``event``, and ordered
categories, with ``rank`` and ``label``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error

TIMES = np.dtype([("time", np.float64), ("event", np.float64)])
RANKS = np.dtype([("rank", np.int64), ("label", object)])

# Names by which the column of events is known where its values leave it open.
EVENT_NAMES = ("event", "status", "observed", "death", "dead", "died", "cens", "censored", "censor", "fstat", "relapse")


def rows_of(values: Any, who: str = "response") -> np.ndarray:
    """y with one entry for each row: a plain array (rows,), or a structured one of dtype `TIMES` or `RANKS`.

    Taken for times to an event: a structured array with two fields, as scikit-survival has it, and anything with two columns,
    one of which is the event (booleans or 0/1, 1 where the event was seen) and the other the time. Taken for ordered
    classes: a pandas Categorical or Series of ordered categories. A single column is that column.
    """
    ordered = getattr(values, "cat", values)  # a Series of categories has them there
    if getattr(ordered, "ordered", False) is True and hasattr(ordered, "categories"):
        return _ranks(pd.Categorical(values), who)
    if hasattr(values, "columns"):
        names = [str(name) for name in values.columns]
        return _from_columns([np.asarray(values[name]) for name in values.columns], names, who)
    array = np.asarray(values)
    if array.dtype in (TIMES, RANKS):
        return array
    if array.dtype.names is not None:
        return _from_columns([array[name] for name in array.dtype.names], list(array.dtype.names), who)
    if array.ndim == 2:
        return _from_columns(list(array.T), [], who)
    if array.ndim != 1:
        raise Grip2Error(f"{who}: y must have one entry for each row, got shape {array.shape}.")
    return array


def times_and_events(time: Any, event: Any, who: str = "response") -> np.ndarray:
    """Times to an event and what happened then, each (rows,), as one array of dtype `TIMES`; 1 or True: the event was seen."""
    times, events = _numbers(np.asarray(time), "times", who), _numbers(np.asarray(event), "events", who)
    if times.shape != events.shape or times.ndim != 1:
        raise Grip2Error(
            f"{who}: times and events must have one entry for each row, got shapes {times.shape} and {events.shape}."
        )
    found = np.empty(len(times), dtype=TIMES)
    found["time"], found["event"] = times, events
    return found


def _from_columns(columns: list[np.ndarray], names: list[str], who: str) -> np.ndarray:
    if len(columns) == 1:
        return columns[0]
    if len(columns) != 2:
        raise Grip2Error(
            f"{who}: y must be one column, or two for times to an event (time, event), got {len(columns)} columns."
        )
    event = _event_column(columns, names, who)
    return times_and_events(columns[1 - event], columns[event], who)


def _event_column(columns: list[np.ndarray], names: list[str], who: str) -> int:
    """Number of the column of events: the booleans, the only 0/1 values, by name, or the second of two."""
    for looks_like in (_is_boolean, _is_zero_one):
        found = [k for k, column in enumerate(columns) if looks_like(column)]
        if len(found) == 1:
            return found[0]
    by_name = [k for k, name in enumerate(names) if name.lower() in EVENT_NAMES]
    return by_name[0] if len(by_name) == 1 else 1


def _is_boolean(column: np.ndarray) -> bool:
    return column.dtype.kind == "b" or (column.dtype.kind == "O" and all(isinstance(one, bool) for one in column))


def _is_zero_one(column: np.ndarray) -> bool:
    return column.dtype.kind in "iuf" and bool(np.isin(column, (0, 1)).all())


def _numbers(column: np.ndarray, what: str, who: str) -> np.ndarray:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        raise Grip2Error(
            f"{who}: {what} must be numbers, got values such as {column.reshape(-1)[0]!r}. Events are 1 (seen) or 0 "
            "(censored), or True and False."
        ) from None


def _ranks(values: pd.Categorical, who: str) -> np.ndarray:
    """Ranks of ordered categories; categories without rows are left out, missing values refused."""
    used = values.remove_unused_categories()
    missing = int((used.codes < 0).sum())
    if missing:
        raise Grip2Error(f"{who}: Input y contains NaN in {missing} of {len(used)} rows.")
    found = np.empty(len(used), dtype=RANKS)
    found["rank"], found["label"] = used.codes, np.asarray(used.categories.astype(str), dtype=object)[used.codes]
    return found
