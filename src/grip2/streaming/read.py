"""Prepares a stored table to be read block by block: roles of columns come from a sample of rows, checks cover all rows.

Columns must be numbers or truth values, because levels and dates of all rows cannot be known from a sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from grip2.groups import Groups
from grip2.progress import Progress
from grip2.rows import check_repeats_of_sample
from grip2.streaming.dask_frames import DaskTable, is_dask
from grip2.streaming.long_table import sampled_rows
from grip2.streaming.parquet import open_parquet
from grip2.streaming.passes import run_pass
from grip2.streaming.scan import Scan, Scanned
from grip2.streaming.stored import StoredBlocks, StoredTable
from grip2.streaming.target import read_whole_target
from grip2.tables.prepare import Examined, assemble, examine
from grip2.tables.records import PreparedTable, Problem, Role, error_of
from grip2.tables.roles import nearest, say
from grip2.tables.target import TargetValues

_NO_ROLES = {str(Role.CATEGORY), str(Role.ORDERED), str(Role.DATE)}
_LEFT_OUT = {str(Role.DROPPED), str(Role.IDENTIFIER)}
_EXACT = 2**53
IN_MEMORY = "read it in memory: --stream never"


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """A table that is read block by block, with its target; `KnockoffSelector.fit` takes it in place of X and y."""

    source: StoredBlocks
    rows: np.ndarray  # numbers of the rows of the sample
    table: PreparedTable  # these rows
    y: np.ndarray  # of all rows
    complete: bool  # True: no value is missing in any row
    kind: str  # "file", "folder" or "dask"
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.source.n_rows


@dataclass(frozen=True, eq=False)
class Looked:
    """The result of the first pass: enough to decide which columns form which units."""

    stored: StoredTable
    rows: np.ndarray
    features: pd.DataFrame  # the sample
    examined: Examined
    y: np.ndarray
    scanned: Scanned

    @property
    def notices(self) -> tuple[str, ...]:
        read = f"read block by block: {self.stored.n_rows:,} rows, of which {len(self.rows):,} decide on the roles of columns"
        return (read, *self.examined.notices)

    def streamed(self, table: PreparedTable) -> StreamedTable:
        """The table for a selector; ``table``: the sample, assembled with its units."""
        used = [variable.name for variable in table.variables if variable.columns]
        places = [self.features.columns.get_loc(name) for name in used]
        source = self.stored.blocks(used, table.X.dtype)
        complete = not self.scanned.missing[places].any()
        return StreamedTable(source, self.rows, table, self.y, complete, self.stored.kind, self.notices)


def read_stream(
    table: Any,
    target: str,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Groups | None = None,
    missing: str = "draw",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> StreamedTable:
    """A table beyond memory for ``KnockoffSelector().fit(read_stream("rows.parquet", target="y"))``.

    ``table`` is the path of a Parquet file, that of a folder of Parquet files, or a Dask data frame. ``columns``, ``groups`` and
    ``missing`` are those of `KnockoffSelector`. ``executor``: workers that read the table, such as ``client.get_executor()`` of a
    Dask cluster; `KnockoffSelector.fit` takes it too.
    """
    stored = DaskTable.of(table) if is_dask(table) else open_parquet(Path(table))
    looked = look_through(stored, target, roles=columns, missing=missing, executor=executor, progress=progress)
    return looked.streamed(assemble(looked.examined, groups=groups, who=stored.who))


def look_through(
    stored: StoredTable,
    target: str,
    *,
    roles: Mapping[str, str] | None = None,
    missing: str = "draw",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Looked:
    """The first pass; raises with all problems if the table cannot be used."""
    who, roles, names = stored.who, dict(roles or {}), stored.schema.names
    unknown = [name for name in (target, *roles) if name not in names]
    if unknown:
        raise error_of([Problem(f"there is no column {name!r}", nearest(name, names)) for name in unknown], who)
    problems = _refused(stored, target, roles, missing)
    if problems:
        raise error_of(problems, who)
    features = [name for name in names if name != target and _is_number(stored.schema.field(name).type)]
    features = [name for name in features if roles.get(name) not in _LEFT_OUT]
    single = all(stored.schema.field(name).type == pa.float32() for name in features)
    source = stored.blocks(features, np.dtype(np.float32 if single else np.float64))
    rows = sampled_rows(stored.n_rows, max(1, len(features)))
    scanned = run_pass(source, Scan(rows), executor=executor, progress=progress)
    y = read_whole_target(stored, target)
    sample = _sample_of(scanned, stored, features)
    return _examined(stored, rows, sample, y, scanned, roles, target, missing)


def _examined(
    stored: StoredTable,
    rows: np.ndarray,
    sample: pd.DataFrame,
    y: np.ndarray,
    scanned: Scanned,
    roles: Mapping[str, str],
    target: str,
    missing: str,
) -> Looked:
    """The roles of the columns, from the sample; raises with its problems and those that only all rows show."""
    who = stored.who
    own = {name: role for name, role in roles.items() if name in sample.columns}
    own |= {name: str(Role.IDENTIFIER) for name in sample.columns if _counts_rows(sample[name].to_numpy(), rows)}
    examined = examine(sample, roles=own, missing=missing, target=TargetValues(y[rows], name=target), who=who)
    problems = [problem for problem in examined.problems if "infinity" not in problem.what]
    for name, count in zip(sample.columns, scanned.infinite, strict=True):
        if count:
            remedy = f"replace these cells or leave the column out: {say(name, 'drop')}"
            problems.append(Problem(f"column {name} holds infinity in {count:,} rows", remedy))
    for name, size in zip(sample.columns, np.fmax(-scanned.low, scanned.high), strict=True):
        if size > _EXACT and pa.types.is_integer(stored.schema.field(name).type):
            what = f"column {name} holds whole numbers beyond 2^53"
            problems.append(Problem(what, f"subtract a constant, leave it out: {say(name, 'drop')}, or {IN_MEMORY}"))
    for variable, reading in zip(examined.variables, examined.readings, strict=True):
        if reading.values is not None and not np.array_equal(
            reading.values, sample[variable.name].to_numpy(), equal_nan=True
        ):
            what = f"column {variable.name} holds numbers that have to be scaled before they can be used"
            problems.append(Problem(what, "divide them by a constant, or " + IN_MEMORY))
    if problems:
        raise error_of(problems, who)
    check_repeats_of_sample(np.concatenate(scanned.keys), sample.to_numpy(), who)
    return Looked(stored, rows, sample, examined, y, scanned)


def _sample_of(scanned: Scanned, stored: StoredTable, features: list[str]) -> pd.DataFrame:
    """The sample as a frame, every column of the precision that it has in the file."""
    values = np.concatenate(scanned.sample)
    kinds = [np.float32 if stored.schema.field(name).type == pa.float32() else np.float64 for name in features]
    return pd.DataFrame(
        {name: values[:, j].astype(kind) for j, (name, kind) in enumerate(zip(features, kinds, strict=True))}
    )


def _refused(stored: StoredTable, target: str, roles: Mapping[str, str], missing: str) -> list[Problem]:
    """Problems with reading the files block by block that follow from column types and the user's settings."""
    problems = []
    for field in stored.schema:
        asked = roles.get(field.name)
        if field.name == target or asked in _LEFT_OUT:
            continue
        remedy = f"leave it out: {say(field.name, 'drop')}, turn it into numbers, or {IN_MEMORY}"
        if not _is_number(field.type):
            what = f"column {field.name} holds {field.type}, and only numbers can be read block by block"
            problems.append(Problem(what, remedy))
        elif asked in _NO_ROLES or (asked is not None and "<" in asked):
            what = f"column {field.name} is to be taken for {asked!r}, and only numbers can be read block by block"
            problems.append(Problem(what, remedy))
    if missing not in ("draw", "refuse"):
        what = f"missing={missing!r} needs all rows in memory"
        problems.append(Problem(what, f"say missing='draw' (--missing draw), fill them in the file, or {IN_MEMORY}"))
    return problems


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _counts_rows(values: np.ndarray, rows: np.ndarray) -> bool:
    """Are they a saved index: the number of every row, from 0 or 1?"""
    return bool(
        values[0] - rows[0] in (0, 1) and np.array_equal(values - rows, np.full(len(rows), values[0] - rows[0]))
    )
