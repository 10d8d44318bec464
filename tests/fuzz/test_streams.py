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


FILES = [_file(100, "snappy"), _file(90, None), _file(60, "gzip"), _file(80, "zstd")]


@st.composite
def with_other_bytes(draw) -> bytes:
    """A file of which a few bytes are others: its length and its end, which every reader checks first, stay as they are."""
    content = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 12))):
        content[draw(st.integers(4, len(content) - 9))] = draw(st.integers(0, 255))
    return bytes(content)


def read(content: bytes) -> bool:
    """Was it read through? Only errors in words are let through."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path(folder) / "rows.parquet"
        path.write_bytes(content)
        try:
            found = read_stream(path, target="y")
            rows = sum(len(block.X) for span in found.source.spans for block in found.source.read(span))
        except Grip2Error as error:
            if not str(error).strip():
                raise AssertionError("an error without words") from error
            return False
        assert rows == len(found)
        return True


@pytest.mark.parametrize("content", FILES)
def test_whole_files_are_read(content):
    assert read(content)


@given(with_other_bytes())
@bounded(150)
def test_files_with_other_bytes(content):
    read(content)


@given(changed(FILES, [b"", b"PAR1", b"\0" * 8]))
@bounded(50)
def test_changed_files(content):
    read(content)
