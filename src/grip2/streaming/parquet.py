"""Parquet files as blocks of rows: one file, or all files of a folder in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from grip2.streaming.stored import BATCH_ROWS, StoredTable
from grip2.tables.records import TableError

ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class Part:
    """A row group of a file: the rows from ``start`` to ``stop`` of the table."""

    path: str
    row_group: int
    start: int
    stop: int


@dataclass(frozen=True)
class ParquetTable(StoredTable):
    """The metadata of Parquet files; no rows have been read."""

    path: Path
    parts: tuple[Part, ...]
    schema: pa.Schema

    @property
    def who(self) -> str:  # type: ignore[override]
        return str(self.path)

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "folder" if self.path.is_dir() else "file"

    @property
    def n_rows(self) -> int:
        return self.parts[-1].stop if self.parts else 0

    def only(self, start: int, stop: int) -> ParquetTable:
        return replace(self, parts=tuple(part for part in self.parts if part.start < stop and part.stop > start))

    def batches(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            if part.stop <= start or part.start >= stop:
                continue
            at = part.start
            for batch in _batches_of(part, list(columns)):
                first, last = max(start - at, 0), min(stop - at, len(batch))
                if first < last:
                    yield batch.slice(first, last - first)
                at += len(batch)
                if at >= stop:
                    break
            if at < min(stop, part.stop):
                raise TableError(f"{part.path}: damaged, it has fewer rows than it says. Write it anew.")


def is_parquet(path: Path) -> bool:
    """Is it a Parquet file, or a folder that holds some?"""
    if path.is_dir():
        return any(True for _ in _inside(path))
    return path.suffix.lower() in ENDINGS


def open_parquet(path: Path) -> ParquetTable:
    """The metadata of a file, or of a folder, in whose files names and types of columns must be the same."""
    path = Path(path)
    files = _files(path)
    parts: list[Part] = []
    schema: pa.Schema | None = None
    start = 0
    for file in files:
        with _in_words(f"{file}: not a readable Parquet file"), pa.parquet.ParquetFile(file, memory_map=True) as opened:
            found, metadata = opened.schema_arrow, opened.metadata
        repeated = sorted({name for name in found.names if found.names.count(name) > 1})
        if repeated:
            raise TableError(f"{file}: two columns have the same name, {repeated[0]!r}. Rename one of them.")
        if schema is not None and not found.equals(schema):
            other = next((a.name for a, b in zip(found, schema, strict=False) if not a.equals(b)), "their number")
            raise TableError(
                f"{file}: all files of a folder must have the same columns of the same types, and this one differs from "
                f"{files[0].name} in {other}. Write them anew with one schema, or move it away."
            )
        schema = found
        for group in range(metadata.num_row_groups):
            stop = start + metadata.row_group(group).num_rows
            parts.append(Part(str(file), group, start, stop))
            start = stop
    assert schema is not None
    if start == 0:
        raise TableError(f"{path}: the table has no rows.")
    return ParquetTable(path, tuple(parts), schema)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise TableError(f"{path}: no such file or folder. Check the path.")
    if not path.is_dir():
        return [path]
    found = sorted(_inside(path), key=str)
    if not found:
        raise TableError(f"{path}: the folder holds no Parquet files (.parquet).")
    for file in found:
        column = next((part for part in file.parent.relative_to(path).parts if "=" in part), None)
        if column is not None:
            raise TableError(
                f"{path}: the name of the folder {column!r} holds a column, and its files do not. Write the table with this "
                "column in its files, or move the files into a folder without it to leave it out."
            )
    return found


def _inside(folder: Path) -> Iterator[Path]:
    """The Parquet files of a folder and of those inside it; names that begin with a dot or _ are those of other programs."""
    for path in folder.iterdir():
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir():
            yield from _inside(path)
        elif path.suffix.lower() in ENDINGS:
            yield path


@contextmanager
def _in_words(what: str) -> Iterator[None]:
    """Turns what Arrow says of files that it cannot read into an error for the user."""
    try:
        yield
    except MemoryError:  # some of Arrow's errors are this one, too
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        said = str(error).strip().splitlines()
        raise TableError(f"{what} ({said[0] if said else type(error).__name__}).") from None


def _batches_of(part: Part, columns: list[str]) -> Iterator[pa.RecordBatch]:
    damaged = f"{part.path}: damaged, its rows from {part.start + 1:,} of the table on cannot be read; write it anew"
    # Neither mapped into memory nor read ahead: both take memory that grows with the size of a row group.
    with _in_words(damaged):
        file = pa.parquet.ParquetFile(part.path, buffer_size=2**20, pre_buffer=False)
    with file:
        with _in_words(damaged):
            found = file.iter_batches(BATCH_ROWS, row_groups=[part.row_group], columns=columns, use_threads=False)
        while True:
            with _in_words(damaged):
                batch = next(found, None)
            if batch is None:
                return
            yield batch
