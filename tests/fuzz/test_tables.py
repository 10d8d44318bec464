"""Files of tables that were cut, edited or mixed up: read, or refused in words; no traceback, no hang, nothing half written."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grip2 import cli
from grip2.commands.table import TableOptions, TargetOptions, load, look, prepared
from grip2.errors import Grip2Error
from tests.fuzz.examples import bounded, changed
from tests.fuzz.make_corpus import CORPUS

FILES = sorted((CORPUS / "tables").iterdir())
TEXTS = [path.read_bytes() for path in FILES if path.suffix in (".csv", ".tsv")]
PARQUET = [path.read_bytes() for path in FILES if path.suffix == ".parquet"]
JSON = [path.read_bytes() for path in FILES if path.suffix in (".json", ".jsonl")]
PIECES = [
    b",", b";", b"\t", b"|", b'"', b"'", b"\n", b"\r\n", b"\r", b"\0", b"NA", b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"",
    b"1,5", b"1.000,5", b"1 000", b"50 %", b"$3", b"2024-02-30", b"31/12/2023", b"12:61", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe9",
    b"true", b"yes", b"{", b"}", b"[", b"]", b"null", b"9" * 40, b"0007", b"-0", b"+", b"a" * 200, "日本".encode(),
    b"\x00column 1",
]  # fmt: skip


def use(path: Path) -> None:
    """What `grip2 columns` and `grip2 select` do with a file before they compute; only errors in words are let through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # notices
        for target in (TargetOptions(), TargetOptions("y")):
            for missing in ("draw", "indicator"):
                options = TableOptions(path, missing=missing)
                try:
                    look(options, target)
                    prepared(load(options, target), options)
                except Grip2Error as error:
                    if not str(error).strip():
                        raise AssertionError("an error without words") from error


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_the_kept_files(path, capsys, tmp_path):
    """Through the whole command: exit code 0 with all files, or 2 with none, and never a bug."""
    out = tmp_path / "out"
    try:
        cli.main(["select", str(path), "--target", "y", "--statistic", "lcd", "--copies", "1", "--out", str(out)])
        code = 0
    except SystemExit as stop:
        code = stop.code
    err = capsys.readouterr().err
    assert code in (0, 2), err
    assert "Traceback" not in err
    written = sorted(file.name for file in out.iterdir()) if out.exists() else []
    assert written == (["report.html", "selection.csv", "selection.json"] if code == 0 else [])


def check(content: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(content)
        use(path)


@given(changed(TEXTS, PIECES))
@bounded(80)
def test_changed_text_files(content):
    check(content, ".csv")


@given(changed(PARQUET, PIECES))
@bounded(40)
def test_changed_parquet_files(content):
    check(content, ".parquet")


@given(changed(JSON, PIECES), st.sampled_from([".json", ".jsonl"]))
@bounded(30)
def test_changed_json_files(content, ending):
    check(content, ending)


CELLS = st.one_of(
    st.sampled_from([piece.decode("utf-8", "replace").replace("\n", " ") for piece in PIECES]),
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.dates().map(str),
    st.text(max_size=6),
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=14)
)


@given(TABLES, st.sampled_from(",;\t|"), st.booleans())
@bounded(40)
def test_tables_of_any_cells(rows, separator, target):
    names = [f"c{j}" for j in range(len(rows[0]) - 1)] + (["y"] if target else ["last"])
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in row] for row in [names, *rows]]
    text = "\n".join(separator.join(row) for row in quoted)
    check(text.encode("utf-8", "surrogatepass"), ".csv")
