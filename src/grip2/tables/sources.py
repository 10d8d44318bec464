"""Splits tables of any library into columns of a few kinds: numbers, texts, levels, dates."""

from __future__ import annotations

import datetime
import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from grip2._validation import column_names
from grip2.tables.dates import Dates
from grip2.tables.levels import Levels
from grip2.tables.numbers import Numbers
from grip2.tables.reading import Reading, asked_to_leave_out, row_list
from grip2.tables.records import Problem, Role
from grip2.tables.roles import Asked, Missing, say
from grip2.tables.texts import Texts


class Column(Protocol):
    """A column of a table that can be read by the rules of `grip2.tables.roles`."""

    @property
    def name(self) -> str: ...

    def read(self, asked: Asked | None, policy: Missing) -> Reading: ...


@dataclass(frozen=True)
class Unreadable:
    """A column whose cells are neither numbers, nor texts, nor dates."""

    name: str
    what: str

    def read(self, asked: Asked | None, policy: Missing) -> Reading:
        unwanted = asked_to_leave_out(asked, 0)
        if unwanted is not None:
            return unwanted
        problem = Problem(
            f"column {self.name}: the argument must be a table whose cells are a string, a number or a date, got {self.what}",
            f"convert the column or leave it out: {say(self.name, 'drop')}",
            bad_type=True,
        )
        return Reading(Role.DROPPED, self.what, done="to be decided", problems=(problem,))


@dataclass(frozen=True, eq=False)
class Source:
    """A table as the user gave it, split into columns."""

    columns: tuple[Column, ...]
    n_rows: int
    matrix: np.ndarray | None = None  # the numbers themselves, if the table is an array of them
    views: tuple[np.ndarray, ...] = ()  # the columns of this array
    named: bool = True  # False: an array, whose columns have no names of their own


def is_frame(table: Any) -> bool:
    """Is it a data frame of pandas, polars, pyarrow or another library that narwhals knows?"""
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Some rows of a frame or array, in the order of their numbers."""
    if is_frame(table):
        return nw.to_native(nw.from_native(table, eager_only=True)[rows.tolist()])
    return np.ma.asarray(table)[rows] if isinstance(table, np.ma.MaskedArray) else np.asarray(table)[rows]


def take_columns(frame: Any, columns: np.ndarray) -> Any:
    """Some columns of a data frame, in its own library."""
    return nw.to_native(nw.from_native(frame, eager_only=True)[:, [int(j) for j in columns]])


def source_of(table: Any, who: str) -> Source:
    """The columns of a data frame, of a structured array, or of a plain or masked array (x0, x1, ...)."""
    given = column_names(table, who)
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
        series = zip(given or (), frame.iter_columns(), strict=True)
        return Source(tuple(column_of(name, values) for name, values in series), len(frame))
    fields = getattr(getattr(table, "dtype", None), "names", None)
    if fields:
        return Source(tuple(_of_array(name, np.asarray(table)[name], True) for name in fields), len(table))
    if isinstance(table, np.ma.MaskedArray):
        return _of_masked(table)
    matrix = np.asarray(table)
    names = tuple(f"x{j}" for j in range(matrix.shape[1]))
    if matrix.dtype in (np.float32, np.float64):
        # One layout in memory: sums over it then do not depend on how the caller stored the table.
        matrix = np.ascontiguousarray(matrix)
        views = tuple(matrix.T)
        columns = tuple(Numbers(name, view, named=False) for name, view in zip(names, views, strict=True))
        return Source(columns, len(matrix), matrix, views, named=False)
    return Source(tuple(_of_array(name, matrix[:, j], False) for j, name in enumerate(names)), len(matrix), named=False)


def _of_masked(table: np.ma.MaskedArray[Any, Any]) -> Source:
    """The columns of a masked array: masked values are missing."""
    masks = np.ma.getmaskarray(table)
    columns: list[Column] = []
    for j in range(table.shape[1]):
        values, mask = np.asarray(table.data[:, j]), masks[:, j]
        if values.dtype.kind in "iub":
            columns.append(Numbers.of_integers(f"x{j}", _wide(values), mask, named=False))
        elif values.dtype.kind == "f":
            real = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
            columns.append(Numbers(f"x{j}", np.where(mask, np.asarray(np.nan, real.dtype), real), named=False))
        else:
            columns.append(_of_array(f"x{j}", _blanked(values.astype(object), mask), False))
    return Source(tuple(columns), len(table), named=False)


def _blanked(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Objects, None where they are missing."""
    out = values.copy()
    out[missing] = None
    return out


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)


def _of_array(name: str, values: np.ndarray, named: bool) -> Column:
    kind = values.dtype.kind
    if values.dtype in (np.float32, np.float64):
        return Numbers(name, values, named=named)
    if kind == "f":
        return Numbers(name, values.astype(np.float64), named=named)
    if kind in "iub":
        return Numbers.of_integers(name, _wide(values), np.zeros(len(values), dtype=bool), named=named)
    if kind == "M":
        return Dates(name, values.astype("datetime64[ns]"))
    if kind == "m":
        return Numbers(name, _days(values), named=named)
    return _of_objects(name, values.astype(object), named)


def _days(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "D"))


def _stamps(values: list[Any]) -> np.ndarray:
    """Dates and times in local time: time zones are dropped."""
    local = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in values]
    found = pd.to_datetime(pd.Series(local, dtype=object), errors="coerce")
    return np.asarray(found.to_numpy()).astype("datetime64[ns]")


def column_of(name: str, series: nw.Series[Any]) -> Column:
    """A column of a data frame."""
    dtype = series.dtype
    if dtype == nw.Boolean or dtype.is_integer():
        missing = series.is_null().to_numpy().astype(bool)
        filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
        return Numbers.of_integers(name, _wide(np.asarray(filled.to_numpy())), missing)
    if dtype.is_float():
        return _of_array(name, np.asarray(series.to_numpy()), True)
    if dtype in (nw.Datetime, nw.Date):
        return Dates(name, _stamps(series.to_list()))
    if dtype == nw.Duration:
        spans = pd.to_timedelta(pd.Series(series.to_list(), dtype=object))
        return Numbers(name, _days(spans.to_numpy().astype("timedelta64[ns]")), why="spans of time, in days")
    if dtype in (nw.Categorical, nw.Enum):
        return _of_categories(name, series)
    values = np.array([*series.to_list(), None], dtype=object)[:-1]
    return Texts.of(name, values) if dtype == nw.String else _of_objects(name, values, True)


def _of_categories(name: str, series: nw.Series[Any]) -> Column:
    """Levels as their library declares them; only pandas says whether they have an order."""
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        labels = tuple(str(label) for label in native.cat.categories)
        codes = native.cat.codes.to_numpy().astype(np.int64)
        return Levels(name, codes, labels, ordered=bool(native.cat.ordered), why="categories")
    return Levels.of_texts(name, series.cast(nw.String).to_list(), why="categories")


def _of_objects(name: str, values: np.ndarray, named: bool) -> Column:
    """A column of Python objects: numbers, texts, dates, spans or times of day, whichever all of them are."""
    missing = np.array([value is None or value is pd.NaT for value in values], dtype=bool)
    missing |= np.array(
        [(isinstance(v, numbers.Real) and v != v) or type(v).__name__ == "NAType" for v in values], dtype=bool
    )
    missing |= np.array([isinstance(v, Decimal) and v.is_nan() for v in values], dtype=bool)
    present = values[~missing]
    kinds = {type(value) for value in present}
    if all(issubclass(kind, numbers.Real | Decimal | np.bool_) for kind in kinds):
        return _of_real(name, values, missing, named)
    if all(issubclass(kind, str) for kind in kinds):
        return Texts.of(name, _blanked(values, missing), named=named)
    if all(issubclass(kind, datetime.date | np.datetime64) for kind in kinds):
        return Dates(name, _stamps(_blanked(values, missing).tolist()))
    if all(issubclass(kind, datetime.timedelta | np.timedelta64) for kind in kinds):
        return Numbers(name, _days(pd.to_timedelta(pd.Series(_blanked(values, missing))).to_numpy()), named=named)
    if all(issubclass(kind, datetime.time) for kind in kinds):
        hours = [
            np.nan if absent else v.hour + v.minute / 60 + v.second / 3600
            for v, absent in zip(values, missing, strict=True)
        ]
        return Numbers(name, np.array(hours), why="times of day, in hours", named=named)
    simple = (str, numbers.Real, Decimal, np.bool_, datetime.date)
    if all(issubclass(kind, simple) for kind in kinds):
        texts = [None if absent else str(value) for value, absent in zip(values, missing, strict=True)]
        return Texts.of(name, np.array(texts, dtype=object))
    odd = np.flatnonzero(
        [not isinstance(value, simple) and not absent for value, absent in zip(values, missing, strict=True)]
    )
    return Unreadable(name, f"{type(values[odd[0]]).__name__} in {row_list(odd)}")


def _of_real(name: str, values: np.ndarray, missing: np.ndarray, named: bool) -> Column:
    """A column of Python numbers of any type."""
    present = values[~missing]
    if all(isinstance(value, float | np.floating) for value in present):
        out = np.full(len(values), np.nan)
        out[~missing] = present.astype(np.float64)
        return Numbers(name, out, named=named)
    finite = np.array(
        [not isinstance(value, float | np.floating | Decimal) or abs(value) != float("inf") for value in present]
    )
    if not finite.all():
        out = np.full(len(values), np.nan)
        out[~missing] = [float(value) for value in present]
        return Numbers(name, out, named=named)
    plain = [int(value) if isinstance(value, np.integer | np.bool_) else value for value in values]
    plain = [float(value) if isinstance(value, np.floating) else value for value in plain]
    return Numbers.exactly(name, plain, missing, named=named)
