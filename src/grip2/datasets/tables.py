"""Tables read from CSV, Parquet and Feather files and prepared for selection; every error says where, and what to do."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error

READERS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".feather": "feather", ".arrow": "feather",
}  # fmt: skip

# A text column with more distinct values than this many, or than this share of the rows, is an identifier, not a category.
MAX_CATEGORY_SHARE = 0.5
MAX_CATEGORIES = 50


class TableError(Grip2Error):
    """A table that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class PreparedTable:
    """Numeric features, the response (None without a target), and a notice of every change made to the table."""

    X: pd.DataFrame
    y: pd.Series | None
    notices: tuple[str, ...]
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the 0/1 columns of every text column


def read_table(path: Path) -> pd.DataFrame:
    """Read a table; the file's ending determines the format."""
    path = Path(path)
    kind = READERS.get(path.suffix.lower())
    if kind is None:
        raise TableError(f"{path}: unknown ending {path.suffix!r}; expected one of {', '.join(READERS)}.")
    if not path.exists():
        near = difflib.get_close_matches(path.name, [f.name for f in _siblings(path)], n=1)
        raise TableError(f"{path}: no such file." + (f" Did you mean {near[0]}?" if near else ""))
    if path.is_dir():
        raise TableError(f"{path}: is a folder, not a file.")
    if path.stat().st_size == 0:
        raise TableError(f"{path}: the file is empty.")
    try:
        frame = _read(path, kind)
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path}: not UTF-8 text (byte {error.start}). Save it as UTF-8, for example with "
            "'iconv -f latin1 -t utf-8', and try again."
        ) from None
    except PermissionError:
        raise TableError(f"{path}: no permission to read it.") from None
    except Exception as error:
        raise TableError(f"{path}: not a readable {kind} table ({_first_line(error)}).") from None
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise TableError(f"{path}: the table has {frame.shape[0]} rows and {frame.shape[1]} columns.")
    return _with_unique_text_names(frame, path)


def prepare(
    frame: pd.DataFrame, target: str | None, *, drop: Sequence[str] = (), impute: bool = False
) -> PreparedTable:
    """Separate the target, drop columns, impute or refuse missing values, and encode text columns."""
    names = list(frame.columns)
    unused = [*drop] if target is None else [target, *drop]
    for name in unused:
        if name not in names:
            raise TableError(f"there is no column {name!r}." + _suggestion(name, names))
    notices: list[str] = []
    y = None if target is None else _target(frame[target])
    X = frame.drop(columns=unused)
    if X.shape[1] == 0:
        raise TableError(f"no columns are left besides the target {target!r}.")
    X = _impute(X, notices) if impute else _refuse_missing(X)
    X, categories = _encode_text(X, notices)
    if X.shape[1] == 0:
        raise TableError("no columns are left: every text column holds a single value.")
    infinite = [str(name) for name in X.columns if not np.isfinite(X[name].to_numpy(float)).all()]
    if infinite:
        raise TableError(f"infinite values in column {', '.join(infinite[:10])}; replace or drop them.")
    return PreparedTable(X, y, tuple(notices), categories)


def _read(path: Path, kind: str) -> pd.DataFrame:
    if kind == "parquet":
        return pd.read_parquet(path)
    if kind == "feather":
        return pd.read_feather(path)
    with path.open(encoding="utf-8", newline="") as file:
        head = file.readline()
        if "\x00" in head:
            raise Grip2Error("binary content")
        separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=head.count)
        if separator not in head:
            raise Grip2Error("its first line holds a single column; expected names separated by commas")
        file.seek(0)
        lines = csv.reader(file, delimiter=separator)
        names, first = next(lines), next(lines, [])
    _check_header(names, first)
    return pd.read_csv(path, sep=separator, encoding="utf-8", index_col=False)


def _check_header(names: list[str], first: list[str]) -> None:
    """Raise for errors that pandas would silently accept: repeated or empty names, rows longer or shorter than the header."""
    repeated = sorted({name for name in names if names.count(name) > 1 and name})
    if repeated:
        raise Grip2Error(f"column names occur more than once: {', '.join(repeated[:10])}")
    if "" in names:
        raise Grip2Error(
            f"column {names.index('') + 1} has no name; often it is a saved row index: remove it or give it a name"
        )
    if first and len(first) != len(names):
        raise Grip2Error(f"the header has {len(names)} names but the first row has {len(first)} values")


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _with_unique_text_names(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    frame.columns = [str(name) for name in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()].unique()
    if len(repeated):
        raise TableError(f"{path}: column names occur more than once: {', '.join(repeated[:10])}.")
    return frame


def _suggestion(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not near:
        folded = [other for other in names if other.lower() == name.lower()]
        near = folded[:1]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f" Did you mean {near[0]!r}?" if near else f" Columns are: {listed}."


def _refuse_missing(X: pd.DataFrame) -> pd.DataFrame:
    counts = X.isna().sum()
    missing = counts[counts > 0]
    if len(missing):
        listed = ", ".join(f"{name} ({count})" for name, count in missing.head(10).items())
        more = f" and {len(missing) - 10} more columns" if len(missing) > 10 else ""
        raise TableError(
            f"missing values in {listed}{more}. Use --impute to fill them with the median (numbers) or the most "
            "frequent value (text), or remove them first."
        )
    return X


def _impute(X: pd.DataFrame, notices: list[str]) -> pd.DataFrame:
    filled = X.copy()
    for name in X.columns[X.isna().any()]:
        column = X[name]
        if column.isna().all():
            raise TableError(f"column {name!r} has no values at all; drop it with --drop.")
        if _is_number(column) and not pd.api.types.is_bool_dtype(column):
            column = column.astype(float)
            value = column.median()
        else:
            value = column.mode().iloc[0]
        filled[name] = column.fillna(value)
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        notices.append(f"{name}: {int(column.isna().sum())} missing values filled with {shown}")
    return filled


def _encode_text(X: pd.DataFrame, notices: list[str]) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """The table in numbers, and the 0/1 columns that stand for each text column.

    There is one, named ``column=value``, for every value except the most frequent one, the reference. With a
    column for every value, each would be determined by the others, and none could be important given the rest.
    """
    parts: list[pd.DataFrame] = []
    categories: dict[str, list[str]] = {}
    for name in X.columns:
        column = X[name]
        if _is_number(column):
            parts.append(column.astype(float).to_frame())
            continue
        column = column.astype(str)
        counts = column.value_counts()
        if _too_many(len(counts), len(column)):
            raise TableError(
                f"column {name!r} is text with {len(counts)} distinct values (such as {counts.index[0]!r}): an "
                "identifier or a damaged number rather than a category. Drop it with --drop, or clean it."
            )
        reference, levels = counts.index[0], sorted(counts.index[1:])
        encoded = {f"{name}={level}": (column == level).astype(float) for level in levels}
        parts.append(pd.DataFrame(encoded, index=X.index))
        if encoded:
            categories[str(name)] = list(encoded)
        notices.append(
            f"{name}: text, encoded as {', '.join(encoded) or 'nothing (one value)'}; {reference!r} is the reference"
        )
    encoded_table = pd.concat(parts, axis=1)
    if encoded_table.columns.duplicated().any():
        clash = encoded_table.columns[encoded_table.columns.duplicated()][0]
        raise TableError(f"encoding text columns gives two columns the name {clash!r}; rename one of them.")
    return encoded_table, categories


def _is_number(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def _target(y: pd.Series) -> pd.Series:
    if y.isna().any():
        raise TableError(
            f"the target {y.name!r} is missing in {int(y.isna().sum())} of {len(y)} rows; remove these rows first."
        )
    if _is_number(y) and not pd.api.types.is_bool_dtype(y):
        return y.astype(float) if pd.api.types.is_float_dtype(y) else y
    if pd.api.types.is_datetime64_any_dtype(y):
        raise TableError(f"the target {y.name!r} holds dates; convert them to numbers first.")
    if _too_many(y.nunique(), len(y)):
        raise TableError(
            f"the target {y.name!r} is text with {y.nunique()} distinct values (such as {y.iloc[0]!r}): damaged numbers or "
            "identifiers rather than classes. Clean it first."
        )
    return y.astype(str)


def _too_many(n_distinct: int, n_rows: int) -> bool:
    """Whether a text column has too many distinct values to be a category."""
    return n_distinct > min(MAX_CATEGORIES, max(5, MAX_CATEGORY_SHARE * n_rows))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
