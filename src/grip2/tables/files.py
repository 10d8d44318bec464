"""Reads tables from files; every error names the file and says what to do."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from grip2.errors import Grip2Error
from grip2.spelling import nearest_name
from grip2.tables.csv_files import read_csv
from grip2.tables.file_kinds import mismatch
from grip2.tables.records import TableError

COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
OLD_EXCEL = (".xls", ".xlsb")


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table as a file has it: clean numbers are numbers, everything else is text."""

    table: Any  # a pyarrow table, or a pandas frame
    notices: tuple[str, ...] = ()


def read_table(path: Path) -> FileTable:
    """Read a table; the file's ending determines the format."""
    path = Path(path)
    _check_there(path)
    ending, compression = _ending(path)
    if ending in OLD_EXCEL:
        raise TableError(f"{path}: {ending} is an old Excel format; save it as .xlsx or .csv.")
    reader = READERS.get(ending)
    if reader is None:
        raise TableError(
            f"{path}: unknown ending {path.suffix!r}; save the table as .csv, .tsv, .xlsx, .parquet, .feather or .json, perhaps "
            "with .gz or .zst."
        )
    content = _content(path, compression)
    wrong = mismatch(ending, content)
    if wrong is not None:
        raise TableError(f"{path}: {wrong}.")
    try:
        found = reader(content, path)
    except TableError:
        raise
    except Grip2Error as error:
        raise TableError(f"{path}: {str(error).rstrip('.')}.") from None
    except MemoryError:
        raise
    except Exception as error:
        kind = ending.removeprefix(".")
        raise TableError(f"{path}: not a readable {kind} table ({_first_line(error)}).") from None
    rows, columns = found.table.shape
    if rows == 0 or columns == 0:
        raise TableError(
            f"{path}: the table has {rows} rows and {columns} columns; put rows of values below the names."
        )
    return _with_text_names(found, path)


def _ending(path: Path) -> tuple[str, str | None]:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        return (endings[-2] if len(endings) > 1 else ".csv"), COMPRESSED[endings[-1]]
    return (endings[-1] if endings else ""), None


def _check_there(path: Path) -> None:
    if not path.exists():
        near = _similar(path)
        raise TableError(f"{path}: no such file." + (f" Did you mean {near}?" if near else " Check the path."))
    if path.is_dir():
        raise TableError(f"{path}: is a folder; name the file in it that holds the table.")
    if path.stat().st_size == 0:
        raise TableError(f"{path}: the file is empty; check that it was saved or downloaded completely.")


def _content(path: Path, compression: str | None) -> bytes:
    try:
        if compression is None:
            return path.read_bytes()
        with pa.input_stream(str(path), compression=compression) as stream:
            return bytes(stream.read())
    except PermissionError:
        raise TableError(f"{path}: no permission to read it.") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({_first_line(error)}).") from None


def _similar(path: Path) -> str | None:
    """The table in the same folder whose name without ending is most like this one."""
    try:
        files = [file.name for file in path.parent.iterdir() if _ending(file)[0] in READERS and not file.is_dir()]
    except OSError:
        return None
    stems = {name.partition(".")[0]: name for name in sorted(files, reverse=True)}
    near = nearest_name(path.name.partition(".")[0], stems)
    return None if near is None else stems[near]


def _csv(content: bytes, path: Path) -> FileTable:
    separator = {".tsv": "\t", ".tab": "\t", ".psv": "|"}.get(_ending(path)[0])
    table, notices = read_csv(content, separator)
    return FileTable(table, notices)


def _parquet(content: bytes, path: Path) -> FileTable:
    return FileTable(pa.parquet.read_table(io.BytesIO(content)))


def _feather(content: bytes, path: Path) -> FileTable:
    return FileTable(pa.feather.read_table(io.BytesIO(content)))


def _json(content: bytes, path: Path) -> FileTable:
    """One object in every line, or a list of objects."""
    if content.lstrip()[:1] == b"[":
        rows = json.loads(content)
        if not all(isinstance(row, dict) for row in rows):
            raise Grip2Error('expected a list of objects, one for each row, such as [{"age": 40, "y": 1}, ...]')
        return FileTable(pd.DataFrame.from_records(rows))
    try:
        return FileTable(pa.json.read_json(io.BytesIO(content)))
    except pa.ArrowInvalid as error:
        raise Grip2Error(
            f'expected one JSON object in each line, such as {{"age": 40, "y": 1}} ({_first_line(error)})'
        ) from None


def _excel(content: bytes, path: Path) -> FileTable:
    """The first sheet of a workbook."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise Grip2Error(
            "reading Excel files needs openpyxl: pip install 'grip2[excel]', or save the sheet as .csv"
        ) from None
    sheets = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
    frame = sheets.parse(sheets.sheet_names[0], dtype=object, keep_default_na=False, na_values=[""])
    others = len(sheets.sheet_names) - 1
    notice = f"the first of {others + 1} sheets, {sheets.sheet_names[0]!r}, was read"
    return FileTable(frame, (notice,) if others else ())


READERS: dict[str, Callable[[bytes, Path], FileTable]] = {
    ".csv": _csv, ".tsv": _csv, ".tab": _csv, ".psv": _csv, ".txt": _csv, ".parquet": _parquet, ".pq": _parquet,
    ".feather": _feather, ".arrow": _feather, ".jsonl": _json, ".ndjson": _json, ".json": _json, ".xlsx": _excel,
}  # fmt: skip


def _with_text_names(found: FileTable, path: Path) -> FileTable:
    """The table with its names as texts; raises if a name occurs twice."""
    table = found.table
    names = [str(name) for name in (table.column_names if isinstance(table, pa.Table) else table.columns)]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise TableError(f"{path}: column names occur more than once: {', '.join(repeated[:10])}.")
    table = table.rename_columns(names) if isinstance(table, pa.Table) else table.set_axis(names, axis=1)
    return FileTable(table, found.notices)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
