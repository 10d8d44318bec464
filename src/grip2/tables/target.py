"""The target of a table: aligned with its rows, without rows that have none, times and events joined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d

from grip2._validation import plain_values
from grip2.errors import Grip2Error
from grip2.responses.given import RANKS
from grip2.tables.reading import Reading, row_list
from grip2.tables.records import Problem, Role
from grip2.tables.roles import IDENTIFIER_SHARE, MAX_LEVELS, NUMBER_SHARE, Asked, Missing, quoted
from grip2.tables.sources import column_of
from grip2.tables.text import MISSING_MARKS, alike, is_plain_number

TIME, EVENT = "time", "event"
# Columns of these values say themselves which of them is the event.
OBVIOUS_EVENTS = ({"0", "1"}, {"true", "false"})
# More values than these are a measurement, not what has happened.
MOST_EVENT_VALUES = 20
TARGET_ROLES = (
    "a target may be a number or have an order such as small<medium<large; for classes or counts say --task classification or "
    "--task counts"
)
# What an event column may say of a row in which the event has happened.
EVENT_WORDS = frozenset(
    {
        "1",
        "yes",
        "y",
        "true",
        "t",
        "event",
        "dead",
        "died",
        "death",
        "deceased",
        "relapse",
        "relapsed",
        "failed",
        "failure",
    }
)


@dataclass(frozen=True, eq=False)
class TargetValues:
    """The target in the rows that have one."""

    values: np.ndarray  # (rows,) numbers, texts, or records of event and time; (rows, 2) for times and events
    rows: np.ndarray | None = None  # the rows of the table that have a target; None: all
    notices: tuple[str, ...] = ()
    name: str = "the target"

    @property
    def parts(self) -> list[tuple[str, np.ndarray]]:
        """The target, or its time and its event, each under its name; of ordered classes their ranks and their labels."""
        if self.values.dtype == RANKS:
            return [(self.name, self.values["rank"]), (self.name, self.values["label"])]
        if self.values.dtype.names:
            return [(f"{self.name} ({field})", self.values[field]) for field in self.values.dtype.names]
        if self.values.ndim == 2:
            return [
                (f"{self.name} ({field})", self.values[:, j])
                for j, field in enumerate((TIME, EVENT)[: self.values.shape[1]])
            ]
        return [(self.name, self.values)]


def target_of(y: Any, table: Any, who: str) -> TargetValues:
    """A user's y for a table.

    A pandas Series is put into the order of the table's index if both have the same labels, and refused if they do not. Rows
    whose target is missing in a Series or masked array are left out; a plain array with NaN is refused.
    """
    notices: list[str] = []
    if isinstance(y, pd.Series | pd.DataFrame) and isinstance(table, pd.DataFrame) and len(y) == len(table):
        aligned = _aligned(y, table, who)
        if aligned is not y:
            notices.append("y was put into the order of the table's index")
        y = aligned
    if isinstance(y, np.ma.MaskedArray):
        masked = np.asarray(np.ma.getmaskarray(y))
        present = np.asarray(~(masked if masked.ndim == 1 else masked.any(axis=1)))
        return _present(np.asarray(y.data), present, who, notices)
    series = nw.from_native(y, series_only=True, pass_through=True) if not isinstance(y, np.ndarray) else y
    if isinstance(series, nw.Series):
        present = ~_absent(series)
        kept = np.asarray(y)[present] if present.all() else _to_array(series, present)
        return _present(kept, present, who, notices, taken=True)
    if isinstance(y, pd.DataFrame):
        present = ~y.isna().any(axis=1).to_numpy()
        return _present(y[present].to_numpy(), present, who, notices, taken=True)
    return TargetValues(_shaped(y if _records(y) else plain_values(y, who)), notices=tuple(notices))


def _records(y: Any) -> bool:
    return bool(getattr(getattr(y, "dtype", None), "names", None))


def _absent(series: nw.Series[Any]) -> np.ndarray:
    missing = series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan()
    return np.asarray(missing.to_numpy()).astype(bool)


def _to_array(series: nw.Series[Any], present: np.ndarray) -> np.ndarray:
    """The values that are not missing, of the type that they have without missing ones."""
    return np.asarray(series.filter(present.tolist()).to_numpy())


def _present(
    values: np.ndarray, present: np.ndarray, who: str, notices: list[str], *, taken: bool = False
) -> TargetValues:
    """The target in the rows where it is ``present``; ``taken``: the values are those of these rows already."""
    kept = values if taken else values[present]
    if present.all():
        return TargetValues(_shaped(kept if _records(kept) else plain_values(kept, who)), notices=tuple(notices))
    if not present.any():
        raise Grip2Error(f"{who}: y is missing in all {len(present)} rows.")
    notices.append(f"y is missing in {int((~present).sum())} of {len(present)} rows, which are left out")
    return TargetValues(_shaped(plain_values(kept, who)), np.flatnonzero(present), tuple(notices))


def _shaped(values: np.ndarray) -> np.ndarray:
    """One value for every row; records, and two columns, are left to the response."""
    if values.dtype.names or (values.ndim == 2 and values.shape[1] == 2):
        return values
    return np.asarray(column_or_1d(values, warn=True))


def _aligned(y: Any, table: pd.DataFrame, who: str) -> Any:
    if y.index.equals(table.index):
        return y
    if y.index.is_unique and table.index.is_unique and len(y.index.difference(table.index)) == 0:
        return y.reindex(table.index)
    example = next((label for label in y.index if label not in table.index), y.index[0])
    raise Grip2Error(
        f"{who}: y has another index than X ({example!r} for example), so that it is not known which rows belong together. Give "
        "both the same labels; if they are in the same order, pass y.to_numpy()."
    )


def read_target(series: nw.Series[Any], name: str, asked: Asked | None = None) -> tuple[TargetValues, list[Problem]]:
    """The target from a column of a file; rows without one are left out. It may be asked for as a number, or in an order."""
    nothing = TargetValues(np.zeros(0), name=name)
    if len(series) and all(text is None for text in texts_of(series)):
        return nothing, [Problem(f"the target {name!r} is empty in all {len(series)} rows", "choose another column")]
    if asked is not None and asked.role not in (Role.NUMBER, Role.ORDERED):
        return nothing, [Problem(f"the target {name!r} cannot be taken for {str(asked.role)!r}", TARGET_ROLES)]
    if asked is not None and asked.role == Role.ORDERED:
        return _in_order(column_of(name, series).read(asked, Missing.REFUSE), name)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        present = ~_absent(series)
        return _of_rows(_to_array(series, present), present, name), []
    reading = column_of(name, series).read(asked, Missing.REFUSE)
    if reading.problems:
        return nothing, [Problem(problem.what, _remedy(problem, name, asked)) for problem in reading.problems]
    if reading.role == Role.DATE:
        remedy = "turn them into numbers first, for example days since a start"
        return nothing, [Problem(f"the target {name!r} holds dates", remedy)]
    if reading.values is not None and not reading.levels:
        present = ~np.isnan(reading.columns[0])
        notices = tuple(f"{name}: {notice}" for notice in reading.notices)
        return _of_rows(reading.columns[0][present], present, name, notices), []
    texts = texts_of(series)
    present = np.array([text is not None for text in texts], dtype=bool)
    odd = np.flatnonzero([text is not None and not is_plain_number(text) for text in texts])
    if 0 < len(odd) <= (1.0 - NUMBER_SHARE) * present.sum():
        # A feature of few numbers would have levels; a target is classes only if it clearly is.
        where = row_list(odd, texts[odd].tolist())
        return nothing, [Problem(f"the target {name!r} holds numbers, but not in {where}", _mend(name))]
    classes, shown = alike(Counter(texts[present].tolist()))
    texts = np.array([classes.get(text, text) for text in texts] + [None], dtype=object)[:-1]
    notices = (f"{name}: classes that differ by capitals only are one: {shown}",) if classes else ()
    n_classes = len(set(texts[present]))
    if n_classes > min(MAX_LEVELS, max(5, IDENTIFIER_SHARE * present.sum())):
        what = (
            f"the target {name!r} is text with {n_classes} distinct values (such as {texts[present][0]!r}): damaged numbers or "
            "identifiers rather than classes"
        )
        return nothing, [Problem(what, "choose another target, or mend its cells in the file")]
    return _of_rows(texts[present].astype(str), present, name, notices), []


def _mend(name: str) -> str:
    return f"mend these cells, or count them as missing: --as {quoted(name + '=number')}"


def _remedy(problem: Problem, name: str, asked: Asked | None) -> str:
    """What to do about a target that cannot be read; other roles than those of a target are no remedy."""
    if "infinity" in problem.what:
        return "mend these cells"
    if asked is not None:
        return f"leave out --as {quoted(f'{name}={asked.role}')}"
    return _mend(name) if "holds numbers" in problem.what else problem.remedy


def _in_order(reading: Reading, name: str) -> tuple[TargetValues, list[Problem]]:
    """Ordered classes, from a column whose order was asked for."""
    if reading.problems or reading.values is None:
        problems = reading.problems or (Problem(f"the target {name!r} has {reading.why}", "choose another column"),)
        return TargetValues(np.zeros(0), name=name), list(problems)
    present = ~np.isnan(reading.columns[0])
    numbers = reading.columns[0][present]
    distinct, ranks = np.unique(numbers, return_inverse=True)
    labels = [reading.levels[int(value)] if reading.levels else f"{value:g}" for value in distinct]
    values = np.empty(len(numbers), dtype=RANKS)
    values["rank"], values["label"] = ranks, np.array(labels, dtype=object)[ranks]
    return _of_rows(values, present, name), []


def texts_of(series: nw.Series[Any]) -> np.ndarray:
    """A column as texts without spaces around them; None where a value is missing."""
    marks = MISSING_MARKS | {"NA"}
    texts = [None if value is None else str(value).strip() for value in series.to_list()]
    return np.array([None if text is None or text in marks else text for text in texts] + [None], dtype=object)[:-1]


def _of_rows(values: np.ndarray, present: np.ndarray, name: str, notices: tuple[str, ...] = ()) -> TargetValues:
    if present.all():
        return TargetValues(values, None, notices, f"the target {name!r}")
    notice = f"{name} is missing in {int((~present).sum())} of {len(present)} rows, which are left out"
    return TargetValues(values, np.flatnonzero(present), (*notices, notice), f"the target {name!r}")


def read_event(series: nw.Series[Any], name: str, value: str | None) -> tuple[TargetValues, list[Problem]]:
    """Whether the event has happened, from a column of a file: 0/1, 1/2, true/false, or words; or the value that says so."""
    texts = texts_of(series)
    present = np.array([text is not None for text in texts], dtype=bool)
    plain = np.array([_plain(text) for text in texts[present]], dtype=object)
    found = sorted(set(plain))
    listed = ", ".join(found[:6]) + (", ..." if len(found) > 6 else "")
    if value is None and len(found) > MOST_EVENT_VALUES:
        what = f"the event {name!r} has {len(found)} different values (such as {found[0]})"
        return TargetValues(np.zeros(0), name=name), [
            Problem(what, "name the column that says whether the event has happened, such as 0 or 1")
        ]
    notice = ""
    words = {word for word in found if word.lower() in EVENT_WORDS}
    if value is not None:
        happened = {_plain(value)}
    elif found == ["1", "2"]:
        happened, notice = {"2"}, f"{name}: 2 is taken for the event, 1 for censored"
    elif set(found) <= {"0", "1"} or ((len(words), len(found)) == (1, 2) and words != {"1"}):
        happened = words
        obvious = any({word.lower() for word in found} <= pair for pair in OBVIOUS_EVENTS)
        notice = "" if obvious else _which_event(name, happened, found)
    elif "0" in found and len(found) <= 5 and all(word.lstrip("-").isdecimal() for word in found):
        happened = set(found) - {"0"}
        notice = (
            f"{name} has the values {listed}: 0 is taken for censored, all others for the event; if only one is, say "
            f"--event {name}=VALUE"
        )
    else:
        return TargetValues(np.zeros(0), name=name), [
            Problem(f"the event {name!r} has the values {listed}", f"say which one is the event: --event {name}=VALUE")
        ]
    values = np.array([word in happened for word in plain], dtype=bool)
    if not values.any():
        remedy = f"say which value is the event: --event {name}=VALUE (values are {listed})"
        return TargetValues(np.zeros(0), name=name), [Problem(f"the event {name!r} happens in no row", remedy)]
    target = _of_rows(values, present, name)
    return replace(target, notices=(*target.notices, *([notice] if notice else []))), []


def _which_event(name: str, happened: set[str], found: list[str]) -> str:
    event, censored = *happened, *(word for word in found if word not in happened)
    return (
        f"{name}: {event!r} is taken for the event, {censored!r} for censored; if it is the other way round, say "
        f"--event {quoted(f'{name}={censored}')}"
    )


def _plain(text: str) -> str:
    """Whole numbers without their decimals, so that 1.0 is 1."""
    return text[:-2] if text.endswith(".0") else text


def survival_target(time: TargetValues, event: TargetValues, n_rows: int) -> tuple[TargetValues, list[Problem]]:
    """Times and events as one record for every row that has both."""
    if time.values.dtype.kind not in "iuf":
        remedy = "with --event the target must be a time in numbers"
        example = time.values["label"][0] if time.values.dtype == RANKS else time.values[0]
        return time, [Problem(f"{time.name} holds {str(example)!r} for example", remedy)]
    values = np.zeros(n_rows, dtype=[(EVENT, bool), (TIME, np.float64)])
    rows = np.arange(n_rows)
    of_time, of_event = (rows if part.rows is None else part.rows for part in (time, event))
    values[TIME][of_time], values[EVENT][of_event] = time.values, event.values
    both = np.intersect1d(of_time, of_event)
    early = both[values[TIME][both] <= 0]
    if len(early):
        where = row_list(early, (float(value) for value in values[TIME][early]))
        remedy = "drop these rows or, where 0 means the first day, add half a day to all"
        return time, [Problem(f"{time.name}: times must be positive, which they are not in {where}", remedy)]
    return TargetValues(
        values[both], None if len(both) == n_rows else both, (*time.notices, *event.notices), time.name
    ), []
