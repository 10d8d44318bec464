"""Reads Parquet files for `grip2 select` block by block."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from grip2.commands.table import LoadedTable, TableOptions, TargetOptions, prepared, tell
from grip2.errors import Grip2Error
from grip2.progress import Progress
from grip2.streaming.parquet import open_parquet
from grip2.streaming.read import StreamedTable, look_through


@dataclass(frozen=True, eq=False)
class LoadedStream:
    """The table for the selector, and what was done to make it."""

    table: StreamedTable
    notices: tuple[str, ...]
    left_out: dict[str, list[str]]  # for every representative, the columns that it stands for


def load_stream(
    options: TableOptions, target: TargetOptions, executor: Executor | None, progress: Progress | None
) -> LoadedStream:
    """The first pass over the files, and the units of their columns; raises if they cannot be read block by block."""
    _refuse(options, target)
    assert target.target is not None
    looked = look_through(
        open_parquet(options.path),
        target.target,
        roles=options.roles,
        missing=options.missing,
        executor=executor,
        progress=progress,
    )
    loaded = LoadedTable(looked.examined, looked.y[looked.rows], None, looked.features, looked.notices)
    tell(loaded)
    table, left_out = prepared(loaded, options)
    return LoadedStream(looked.streamed(table), looked.notices, left_out)


def _refuse(options: TableOptions, target: TargetOptions) -> None:
    for option, given in (("--event", target.event), ("--cluster", target.cluster), ("--weights", target.weights)):
        if given is not None:
            raise Grip2Error(
                f"{options.path}: {option} needs all rows in memory, and this table is read block by block. Take a sample of its "
                "rows, or, if it fits into memory, say --stream never."
            )
