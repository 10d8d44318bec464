"""Blocks of rows are the same whoever reads them and however files are divided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grip2.streaming.blocks import ArrayBlocks, RowBlocks
from grip2.streaming.parquet import is_parquet, open_parquet
from grip2.streaming.passes import run_pass
from grip2.tables import TableError
from tests.streaming.tables import folder_of, long_frame, parquet


def every_block(source: RowBlocks) -> list[tuple[int, int, np.ndarray]]:
    return [(block.number, block.start, block.X) for span in source.spans for block in source.read(span)]


@pytest.mark.parametrize("where", ["file", "folder"])
@pytest.mark.parametrize("row_group", [64, 700, 5000])
def test_files_have_the_blocks_of_the_array(tmp_path, where, row_group):
    frame = long_frame(2500)
    path = parquet(frame, tmp_path / "a.parquet", row_group) if where == "file" else folder_of(frame, tmp_path / "a")
    names = ["c3", "c0", "c7"]
    table = open_parquet(path)
    read = every_block(table.blocks(names, np.dtype(np.float32), 300))
    expected = every_block(ArrayBlocks(frame[names].to_numpy(), 300))
    assert len(read) == len(expected) == 9
    for (number, start, X), (own_number, own_start, own_X) in zip(read, expected, strict=True):
        assert (number, start) == (own_number, own_start)
        assert X.dtype == np.float32
        np.testing.assert_array_equal(X, own_X)


def test_missing_and_logical_values(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, 3.0], "b": [True, False, None], "c": pd.array([1, None, 3], "Int64")})
    frame["b"] = frame["b"].astype("boolean")
    table = open_parquet(parquet(frame, tmp_path / "m.parquet"))
    [(_, _, X)] = every_block(table.blocks(["a", "b", "c"], np.dtype(float)))
    np.testing.assert_array_equal(X, [[1.5, 1, 1], [np.nan, 0, np.nan], [3, np.nan, 3]])


def test_folders_with_different_columns_are_refused(tmp_path):
    folder = folder_of(long_frame(900), tmp_path / "f")
    parquet(long_frame(100).rename(columns={"c2": "d2"}), folder / "part-99.parquet")
    with pytest.raises(TableError, match="same columns"):
        open_parquet(folder)


def test_folders_hold_other_files_and_folders(tmp_path):
    frame = long_frame(900)
    folder = folder_of(frame, tmp_path / "f")
    (folder / "README.md").write_text("about")
    (folder / "_SUCCESS").touch()
    (folder / ".part-00.parquet.crc").write_bytes(b"1")
    (folder / "later").mkdir()
    (folder / "part-02.parquet").rename(folder / "later" / "part-02.parquet")
    parts = [part.path for part in open_parquet(folder).parts]
    assert [Path(path).name for path in dict.fromkeys(parts)] == [
        "part-02.parquet",
        "part-00.parquet",
        "part-01.parquet",
    ]
    assert is_parquet(folder)
    assert is_parquet(tmp_path)
    (tmp_path / "empty").mkdir()
    assert not is_parquet(tmp_path / "empty")


def test_columns_in_names_of_folders_and_columns_of_one_name_are_refused(tmp_path):
    folder = tmp_path / "f" / "year=2019"
    folder.mkdir(parents=True)
    parquet(long_frame(100), folder / "part.parquet")
    with pytest.raises(TableError, match="'year=2019' holds a column"):
        open_parquet(tmp_path / "f")
    twice = pa.table([pa.array([1.0, 2.0])] * 3, names=["a", "b", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(TableError, match="same name, 'a'"):
        open_parquet(tmp_path / "twice.parquet")


def test_files_with_fewer_rows_than_they_say_are_refused(tmp_path):
    table = open_parquet(parquet(long_frame(100), tmp_path / "a.parquet"))
    more = replace(table, parts=tuple(replace(part, stop=part.stop + 1) for part in table.parts))
    with pytest.raises(TableError, match="fewer rows than it says"):
        every_block(more.blocks(["c0"], np.dtype(np.float32)))


def test_workers_are_sent_what_a_span_needs(tmp_path):
    frame = long_frame(2500)
    source = open_parquet(folder_of(frame, tmp_path / "a")).blocks(["c3"], np.dtype(np.float32), 300)
    for span in source.spans:
        sent = source.for_span(span)
        assert len(sent.table.parts) < len(source.table.parts)
        assert sent.n_rows == 2500
        for own, whole in zip(sent.read(span), source.read(span), strict=True):
            assert (own.number, own.start) == (whole.number, whole.start)
            np.testing.assert_array_equal(own.X, whole.X)


class Rows:
    """The number of rows and a sum that shows the order of additions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, later: Rows) -> None:
        self.text += later.text


class Naming:
    def for_span(self, span):
        return lambda source, own: Rows(f"[{own.start}-{sum(len(block.X) for block in source.read(own))}]")


def test_a_pass_adds_spans_in_their_order():
    X = np.zeros((2500, 2))
    told = []
    found = run_pass(ArrayBlocks(X, 100), Naming(), progress=lambda done, total: told.append((done, total)))
    assert found.text == "".join(f"[{start}-{min(400, 2500 - start)}]" for start in range(0, 2500, 400))
    assert told == [(k, 7) for k in range(1, 8)]
