"""Damaged Parquet files that are read block by block: read, or refused in words."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grip2.errors import Grip2Error
from grip2.streaming import read_stream
from tests.fuzz.examples import bounded, changed


def _file(rows: int, compression: str | None) -> bytes:
    rng = np.random.default_rng(rows)
    frame = pd.DataFrame(rng.standard_normal((rows, 3)).astype("float32"), columns=list("abc"))
    frame["b"] = frame["b"] > 0
    frame.loc[frame.index[::7], "c"] = np.nan
    frame["y"] = rng.standard_normal(rows)
    written = io.BytesIO()
    frame.to_parquet(written, row_group_size=40, index=False, compression=compression)
    return written.getvalue()


ROWS = (100, 90, 60, 80)
FILES = [_file(rows, how) for rows, how in zip(ROWS, ("snappy", None, "gzip", "zstd"), strict=True)]


@st.composite
def with_other_bytes(draw) -> bytes:
    """A file of which a few bytes are others: its length and its end, which every reader checks first, stay as they are."""
    content = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 12))):
        content[draw(st.integers(4, len(content) - 9))] = draw(st.integers(0, 255))
    return bytes(content)


def read(content: bytes) -> tuple[int, int] | str:
    """How many rows were read and how many were promised, or why the file is refused; other errors are let through."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path(folder) / "rows.parquet"
        path.write_bytes(content)
        try:
            found = read_stream(path, target="y")
            return sum(len(block.X) for span in found.source.spans for block in found.source.read(span)), len(found)
        except Grip2Error as error:
            return str(error).strip()


def is_read_or_refused_in_words(content: bytes) -> bool:
    found = read(content)
    return bool(found) if isinstance(found, str) else found[0] == found[1]


@pytest.mark.parametrize(("content", "rows"), list(zip(FILES, ROWS, strict=True)))
def test_whole_files_are_read(content, rows):
    assert read(content) == (rows, rows)


@given(with_other_bytes())
@bounded(150)
def test_files_with_other_bytes(content):
    assert is_read_or_refused_in_words(content)


@given(changed(FILES, [b"", b"PAR1", b"\0" * 8]))
@bounded(50)
def test_changed_files(content):
    assert is_read_or_refused_in_words(content)


def test_cut_files_are_refused():
    for content in FILES:
        assert isinstance(read(content[: len(content) // 2]), str)
