"""Checks and prepares the table and the response that a selector is given; of a long table, a sample of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from grip2._validation import MIN_FEATURES, MIN_ROWS
from grip2.draws import OneRowEach
from grip2.errors import Grip2Error
from grip2.groups import Groups, NamedUnits
from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response, check_varies, response_from
from grip2.statistics.base import Statistic
from grip2.streaming.dask_frames import is_dask
from grip2.streaming.long_table import LongTable
from grip2.streaming.of_memory import long_table_of
from grip2.streaming.of_stream import long_table_of_stream
from grip2.streaming.read import StreamedTable
from grip2.tables import PreparedTable
from grip2.tables.checked import checked_input, independent_rows, refuse_undrawn, remember_names, warn_of_changes


@dataclass(frozen=True, eq=False)
class SelectionInput:
    """The prepared data of a selection."""

    table: PreparedTable  # of a long table, a sample of its rows
    response: Response  # of all rows
    one_row_each: OneRowEach | None  # the clusters, if rows come in clusters
    long: LongTable | None  # the whole table, if it is read block by block

    @property
    def response_of_table(self) -> Response:
        """The response of the rows of ``table``."""
        return self.response if self.long is None else self.response.take(self.long.rows)


class Reading(NamedTuple):
    """The parameters of the selector that decide how a table and its response are read."""

    roles: Mapping[str, str] | None
    groups: Groups | None
    missing: str
    task: str


def selection_input(
    selector: BaseEstimator,
    X: Any,
    y: Any,
    clusters: Any,
    reading: Reading,
    *,
    statistic: Statistic,
    sampler: KnockoffSampler,
) -> SelectionInput:
    """Check and prepare; the names and number of columns are remembered on the ``selector``, as scikit-learn does."""
    who = type(selector).__name__
    if is_dask(X):
        raise Grip2Error(
            f"{who}: a Dask data frame is read block by block, with its target among its columns: "
            'from grip2.streaming import read_stream; fit(read_stream(table, target="y")).'
        )
    if isinstance(X, StreamedTable):
        remember_names(selector, X.table)
        check_varies(X.y, who)
        response = response_from(X.y, reading.task, who=who, guess_counts=False)
        long = long_table_of_stream(X, response, y, clusters, statistic, sampler)
        found = SelectionInput(X.table, response, None, long)
    else:
        found = _in_memory(selector, X, y, clusters, reading, sampler)
        if found.one_row_each is None:
            read = long_table_of(found.table.X, found.response, statistic, sampler)
            if read is not None:
                found = replace(found, table=replace(found.table, X=read.sample), long=read)
    _check_units(found.table.units, who)
    return found


def _in_memory(
    selector: BaseEstimator, X: Any, y: Any, clusters: Any, reading: Reading, sampler: KnockoffSampler
) -> SelectionInput:
    who = type(selector).__name__
    if y is None:
        raise Grip2Error(f"{who}: requires y to be passed, but the target y is None. Write fit(X, y).")
    data = checked_input(
        selector, X, y, clusters, roles=reading.roles, groups=reading.groups, missing=reading.missing, who=who
    )
    if not sampler.completes:
        refuse_undrawn(data.table, type(sampler).__name__, who)
    if data.clusters is None:
        data = independent_rows(data, who)
    warn_of_changes(data.notices, who)
    check_varies(data.y, who)
    rows = None if data.clusters is None else OneRowEach.of(data.clusters, len(data.table), who)
    if rows is not None and len(rows) < MIN_ROWS:
        raise Grip2Error(
            f"{who}: clusters must be at least {MIN_ROWS} different ones, got {len(rows)}: a draw takes one row of each. "
            "Name the column that says which rows belong together, or leave clusters out."
        )
    return SelectionInput(data.table, response_from(data.y, reading.task, who=who), rows, None)


def _check_units(named: NamedUnits, who: str) -> None:
    if len(named.units) < MIN_FEATURES:
        raise Grip2Error(
            f"{who}: at least {MIN_FEATURES} units are needed, but groups put all columns into {named.names[0]!r}: a false "
            "discovery rate over a single unit says nothing."
        )
