"""Reads text files with separated values: encoding, separator, header and decimal mark are detected."""

from __future__ import annotations

import codecs
import csv
import io
import statistics
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from grip2.errors import Grip2Error
from grip2.tables.text import NUMBER_MARKS, decimal_comma_numbers, has_decimal_comma, is_plain_number

SEPARATORS = ",;\t|"
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED_LINES = 50
SNIFFED_CHARACTERS = 1_000_000
SHOWN_ROWS = 5
ROW_NAMES = "Unnamed: 0"
# Texts of whole and of other numbers. Digits with leading zeros are codes; whole numbers too long for 64 bits stay texts, because
# they would be rounded.
WHOLE = r"^(0|-?[1-9]\d{0,17})$"
NUMBER = r"^[+-]?((0|[1-9]\d{0,16})(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_csv(content: bytes, separator: str | None = None) -> tuple[pa.Table, tuple[str, ...]]:
    """A table with columns of numbers, or of text if not every cell is a number; and notices."""
    text, notices = decode(content)
    if not text.strip():
        raise Grip2Error("the file is empty; check that it was saved or downloaded completely")
    separator = separator or _separator(text)
    names, rest, more = _header(text, separator)
    notices += more
    table = _cells(rest, names, separator)
    dropped = [name for name in table.column_names if name.startswith("\x00") and _all_empty(table[name])]
    table = table.drop_columns(dropped) if dropped else table
    table = table.rename_columns([name.lstrip("\x00") for name in table.column_names])
    return _with_numbers(table, separator, notices)


def decode(content: bytes) -> tuple[str, list[str]]:
    """The text of a file in UTF-8, UTF-16 or UTF-32; anything else is read as Western European, with a notice."""
    for mark, encoding in _ENCODINGS:
        if content.startswith(mark):
            return content.decode(encoding), []
    head = content[:4096]
    if b"\x00" in head:
        for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
            if head[first::2].count(0) > 0.8 * len(head) / 2 and head[1 - first :: 2].count(0) == 0:
                return content.decode(encoding), []
        raise Grip2Error("binary content, not a text file; check that the ending says what it is")
    if head.startswith((b"PK\x03\x04", b"\x89PNG", b"%PDF", b"\x1f\x8b")):
        raise Grip2Error("binary content, not a text file; check that the ending says what it is (.xlsx, .gz)")
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        notice = f"not UTF-8 (byte {error.start}); read as Western European text (Windows-1252)"
        return content.decode("cp1252", errors="replace"), [notice]


def _separator(text: str) -> str:
    """The separator that splits the first lines into the most columns, and most of them into the same number."""
    best, best_width = "", 1
    text = text[:SNIFFED_CHARACTERS]
    for separator in SEPARATORS:
        widths = [
            len(row)
            for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), SNIFFED_LINES)
            if row
        ]
        width = statistics.mode(widths) if widths else 1
        # A decimal comma is not taken for a separator, because the header has none.
        if width > best_width and widths[0] > 1 and widths.count(width) >= 0.5 * len(widths):
            best, best_width = separator, width
    if not best:
        raise Grip2Error(_single_column(text, "commas, semicolons, tabs or bars"))
    return best


def _single_column(text: str, separators: str) -> str:
    line = next(line.strip() for line in text.splitlines() if line.strip())
    return (
        f"its first line holds a single column, {line[:40] + '...' * (len(line) > 40)!r}; expected names separated by "
        f"{separators}. Remove titles above the names, or save it with commas"
    )


def _header(text: str, separator: str) -> tuple[list[str], str, list[str]]:
    """Names of the columns, the text after them, and notices; raises if names are missing or repeated."""
    stream = io.StringIO(text, newline="")
    lines = csv.reader(iter(stream.readline, ""), delimiter=separator)
    names = [name.strip() for name in next(row for row in lines if row)]
    rest = stream.read()
    rows = list(
        islice((row for row in csv.reader(io.StringIO(rest, newline=""), delimiter=separator) if row), SNIFFED_LINES)
    )
    if len(names) == 1:
        raise Grip2Error(_single_column(text, SEPARATOR_NAMES[separator]))
    if all(is_plain_number(name) or name in NUMBER_MARKS for name in names):
        raise Grip2Error(
            "the first line holds numbers: there is no header; put a line with the names of the columns before it"
        )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1 and name)
    if repeated:
        raise Grip2Error(
            f"column names occur more than once: {', '.join(repeated[:10])}; give every column a name of its own"
        )
    notices: list[str] = []
    if rows and all(len(row) == len(names) + 1 for row in rows) and _names_rows([row[0] for row in rows]):
        names = [ROW_NAMES, *names]
        notices.append(
            "the header has one name less than the rows have values: the first column is taken for names of rows"
        )
    if rows and len(rows[0]) != len(names):
        raise Grip2Error(
            f"the header has {len(names)} names but the first row has {len(rows[0])} values; give every column a name"
        )
    if names and not names[0]:
        names[0] = ROW_NAMES
    for j, name in enumerate(names):
        if not name:
            # Marked by \x00, to be dropped if it is empty: lines may end with a separator.
            names[j] = f"\x00column {j + 1}"
    return names, rest, notices


def _names_rows(values: list[str]) -> bool:
    """Do the values look like names of rows: all different, and texts or consecutive numbers?"""
    counted = all(value.isdecimal() for value in values) and [int(v) - int(values[0]) for v in values] == list(
        range(len(values))
    )
    return len(set(values)) == len(values) and (counted or not any(is_plain_number(value) for value in values))


def _cells(text: str, names: list[str], separator: str) -> pa.Table:
    """All cells as text."""
    bad: list[pa.csv.InvalidRow] = []

    def skip(row: pa.csv.InvalidRow) -> str:
        bad.append(row)
        return "skip"

    content = text.encode("utf-8")
    if not content.strip():
        return pa.table({name: pa.array([], pa.string()) for name in names})
    table = pa.csv.read_csv(
        io.BytesIO(content),
        read_options=pa.csv.ReadOptions(
            column_names=names, use_threads=False, block_size=min(len(content) + 1, 2**31 - 1)
        ),
        parse_options=pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=skip),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    if bad:
        listed = ", ".join(f"row {row.number} has {row.actual_columns}" for row in bad[:SHOWN_ROWS])
        more = f" and {len(bad) - SHOWN_ROWS} more rows" if len(bad) > SHOWN_ROWS else ""
        raise Grip2Error(
            f"every row must have {len(names)} values, but {listed}{more} (the first row after the header is 1). Quote texts "
            f"that hold {SEPARATOR_NAMES[separator]}, or mend these rows"
        )
    return table


def _all_empty(column: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.equal(column, "")).as_py())


def _with_numbers(table: pa.Table, separator: str, notices: list[str]) -> tuple[pa.Table, tuple[str, ...]]:
    """Columns in which every cell is a number or missing become numbers; with a decimal comma too, if the file has one."""
    marks = pa.array(sorted(NUMBER_MARKS))
    texts: list[int] = []
    columns: list[pa.ChunkedArray] = []
    for j, column in enumerate(table.columns):
        found = _numbers(column, marks)
        columns.append(column if found is None else found)
        if found is None:
            texts.append(j)
    if separator != ",":
        distinct = {j: [t.strip() for t in pc.unique(columns[j]).to_pylist()] for j in texts}
        with_comma = {
            j: decimal_comma_numbers([t for t in words if t not in NUMBER_MARKS]) for j, words in distinct.items()
        }
        found_in = [j for j, words in with_comma.items() if words is not None]
        if any(has_decimal_comma(distinct[j]) for j in found_in):
            for j in found_in:
                columns[j] = _translated(columns[j], distinct[j])
            notices = [*notices, f"a decimal comma was found in {len(found_in)} columns"]
    return pa.table(columns, names=table.column_names), tuple(notices)


def _numbers(column: pa.ChunkedArray, marks: pa.Array) -> pa.ChunkedArray | None:
    """A column of texts as whole or other numbers; None if some cell is neither a number nor missing."""
    found = _cast(column)  # most columns of numbers are complete
    if found is None:
        trimmed = pc.utf8_trim_whitespace(column)
        missing = pc.is_in(trimmed, value_set=marks)
        if pc.all(missing).as_py():
            return None
        column = pc.if_else(missing, None, trimmed)
        found = _cast(column)
    return found


def _cast(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The cells as numbers; None if one is no number. Matching first is much faster than a cast that fails in many cells."""
    for pattern, kind in ((WHOLE, pa.int64()), (NUMBER, pa.float64())):
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            return pc.cast(column, kind)
    return None


def _translated(column: pa.ChunkedArray, distinct: list[str]) -> pa.ChunkedArray:
    """A column of texts with a decimal comma as numbers; ``distinct``: its texts."""
    given = [text for text in distinct if text not in NUMBER_MARKS]
    number_of = dict(zip(given, decimal_comma_numbers(given) or (), strict=True))
    values = [float(number_of[text]) if (text := cell.strip()) in number_of else np.nan for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.float64(), from_pandas=True)])
