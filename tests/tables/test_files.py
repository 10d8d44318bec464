"""Files of every format and dialect, and everything that can be wrong with them."""

from __future__ import annotations

import gzip
import importlib.util
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from grip2.tables import TableError, prepare
from grip2.tables.files import READERS, read_table

FRAME = pd.DataFrame(
    {"age": [30.5, 40, 50, 60], "city": ["Rome", "Oslo", "São, Paulo", "Bern"], "n": [1, 2, 3, 4], "y": [1.25, 2, 3, 4]}
)


def table_of(path):
    table = read_table(path).table
    return table.to_pandas() if isinstance(table, pa.Table) else table


def check(path):
    found = table_of(path)
    assert list(found.columns) == list(FRAME.columns)
    assert found["city"].tolist() == FRAME["city"].tolist()
    np.testing.assert_array_equal(found[["age", "n", "y"]].to_numpy(float), FRAME[["age", "n", "y"]])


def zstd(path, content):
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(content)


CSV = FRAME.to_csv(index=False)
WRITERS = {
    "table.csv": lambda path: path.write_text(CSV, encoding="utf-8"),
    "mark.csv": lambda path: path.write_text(CSV, encoding="utf-8-sig"),
    "utf16.csv": lambda path: path.write_text(CSV, encoding="utf-16"),
    "utf16le.csv": lambda path: path.write_text(CSV, encoding="utf-16-le"),
    "windows.csv": lambda path: path.write_text(CSV.replace("\n", "\r\n"), encoding="utf-8", newline=""),
    "latin.csv": lambda path: path.write_text(CSV, encoding="latin-1"),
    "tabs.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "tabs.txt": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "bars.csv": lambda path: FRAME.to_csv(path, index=False, sep="|"),
    "semicolon.csv": lambda path: FRAME.to_csv(path, index=False, sep=";"),
    "comma.csv": lambda path: FRAME.to_csv(path, index=False, sep=";", decimal=","),
    "table.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "table.csv.zst": lambda path: zstd(path, CSV.encode()),
    "table.parquet": lambda path: FRAME.to_parquet(path),
    "table.feather": lambda path: FRAME.to_feather(path),
    "table.jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True),
    "table.json": lambda path: FRAME.to_json(path, orient="records"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_and_dialect_gives_the_same_table(tmp_path, name):
    WRITERS[name](tmp_path / name)
    check(tmp_path / name)
    notices = read_table(tmp_path / name).notices
    assert ("Western European" in " ".join(notices)) == (name == "latin.csv")
    assert ("decimal comma" in " ".join(notices)) == (name == "comma.csv")


def test_cells_with_line_breaks_missing_values_and_codes(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        'name,x,zip,long,d\n"two\nlines",1,01234,12345678901234567890123,\nb,NA,04321,12345678901234567890124,?\n'
    )
    found = table_of(path)
    assert found["name"].tolist() == ["two\nlines", "b"]
    np.testing.assert_array_equal(found["x"], [1, np.nan])
    assert found["zip"].tolist() == ["01234", "04321"]
    assert found["long"].tolist() == ["12345678901234567890123", "12345678901234567890124"]


def test_a_saved_index_is_an_identifier_and_no_error(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    frame.to_csv(tmp_path / "index.csv")
    prepared = prepare(read_table(tmp_path / "index.csv").table)
    assert [str(v.role) for v in prepared.variables] == ["identifier", "number", "number", "number"]
    text = "\n".join(["a b c".replace(" ", ","), *(f"r{i},1.{i},2,{i * i}" for i in range(12))])
    (tmp_path / "r.csv").write_text(text)
    found = read_table(tmp_path / "r.csv")
    assert found.table.column_names == ["Unnamed: 0", "a", "b", "c"]
    assert "names of rows" in found.notices[0]
    trailing = "a,b,\n" + "".join(f"{i},{i * i},\n" for i in range(12))
    (tmp_path / "trailing.csv").write_text(trailing)
    assert read_table(tmp_path / "trailing.csv").table.column_names == ["a", "b"]
    (tmp_path / "nameless.csv").write_text("a,,y\n1,2,3\n4,5,6\n")
    assert read_table(tmp_path / "nameless.csv").table.column_names == ["a", "column 2", "y"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "the file is empty"),
        ("blank.csv", b"\n\n", "the file is empty"),
        ("header.csv", b"a,b\n", "0 rows"),
        ("numbers.csv", b"1,2\n3,4\n", "there is no header; put a line with the names"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "is an image, not a .csv table"),
        ("workbook.csv", b"PK\x03\x04 and so on", "zip archive or an Excel workbook.*ending .xlsx"),
        ("prose.txt", b"Dear reader\nthis is no table\n", "single column"),
        ("twice.csv", b"a,y,y\n1,2,3\n", "names occur more than once: y"),
        ("longer.csv", b"a,y\n1,2,3\n4,5,6\n", "header has 2 names but the first row has 3 values"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n5,6\n", "every row must have 2 values, but row 2 has 4"),
        ("broken.parquet", b"PAR1 and then nothing", "not a readable parquet table"),
        ("broken.feather", b"nothing of the kind", "is not a .feather table, whatever its ending says"),
        ("broken.jsonl", b"nothing of the kind", "expected one JSON object in each line"),
        ("list.json", b"[1, 2]", "expected a list of objects"),
        ("broken.csv.gz", b"no gzip", "cannot be read"),
        ("table.xls", b"x", r"\.xls is an old Excel format"),
        ("table.sav", b"x", "unknown ending '.sav'; save the table as .csv"),
        ("twice.parquet", None, "no such file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TableError, match=message) as told:
        read_table(path)
    assert name in str(told.value)


def test_excel(tmp_path, monkeypatch):
    assert ".xlsx" in READERS
    path = tmp_path / "table.xlsx"
    if importlib.util.find_spec("openpyxl"):
        FRAME.to_excel(path, index=False)
        check(path)
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match=r"pip install 'grip2\[excel\]'"):
        read_table(path)


def test_a_misspelt_file_suggests_its_neighbour(tmp_path):
    FRAME.to_csv(tmp_path / "patients.csv", index=False)
    with pytest.raises(TableError, match=r"no such file. Did you mean patients.csv"):
        read_table(tmp_path / "patient.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


def test_decimal_commas_outnumber_semicolons(tmp_path):
    """Every value has a comma: splitting rows at commas would give one column more than at semicolons."""
    path = tmp_path / "wide.csv"
    path.write_text(
        "a;b;c\n" + "".join(f"{k},5;{k + 1 + k % 3},5;{k + 2 * (k % 2) + 2},5\n" for k in range(12)), encoding="utf-8"
    )
    prepared = prepare(read_table(path).table, missing="refuse")
    assert [variable.name for variable in prepared.variables] == ["a", "b", "c"]
    np.testing.assert_array_equal(prepared.X[0], [0.5, 1.5, 2.5])
