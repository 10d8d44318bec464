"""Tables as files: numbers and texts come back as they were written, whatever the format, separator and decimal mark."""

from __future__ import annotations

import tempfile
from pathlib import Path

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.tables.files import read_table

FEW = settings(max_examples=25, deadline=None, derandomize=True)
NUMBERS = st.floats(-1e15, 1e15, allow_nan=False, allow_subnormal=False).map(lambda x: float(f"{x:.12g}"))


@st.composite
def frames(draw) -> pd.DataFrame:
    rows, columns = draw(st.integers(2, 8)), draw(st.integers(2, 4))
    return pd.DataFrame(
        {
            f"c{j}": draw(st.lists(NUMBERS | st.integers(-99, 99).map(float), min_size=rows, max_size=rows))
            for j in range(columns)
        }
    )


def read(frame_to_file, ending: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        frame_to_file(path)
        return nw.from_native(read_table(path).table, eager_only=True).to_pandas()


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(found.columns) == list(expected.columns)
    np.testing.assert_array_equal(found.to_numpy(float), expected.to_numpy(float))


@given(frames(), st.sampled_from([(",", "."), (";", "."), ("\t", "."), ("|", "."), (";", ","), ("\t", ",")]))
@FEW
def test_numbers_in_text_files(frame, marks):
    separator, decimal = marks
    found = read(lambda path: frame.to_csv(path, index=False, sep=separator, decimal=decimal), ".csv")
    if decimal == "," and (frame == frame.round()).all(axis=None):
        return  # whole numbers such as 1000,0 may be read either way
    assert_same(found, frame)


@given(frames())
@FEW
def test_numbers_in_binary_files(frame):
    assert_same(read(frame.to_parquet, ".parquet"), frame)
    assert_same(read(frame.to_feather, ".feather"), frame)
    assert_same(read(lambda path: frame.to_csv(path, index=False, compression="gzip"), ".csv.gz"), frame)


@given(frames(), st.randoms(use_true_random=False))
@FEW
def test_the_order_of_rows_and_columns_is_kept(frame, random):
    rows, columns = list(range(len(frame))), list(frame.columns)
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = frame.iloc[rows][columns].reset_index(drop=True)
    assert_same(read(lambda path: shuffled.to_csv(path, index=False), ".csv"), shuffled)


WORDS = st.text(st.sampled_from("abc \"',;|\n\té日"), min_size=1, max_size=8).map(lambda word: f"w{word}w")


@given(st.lists(WORDS, min_size=2, max_size=8))
@FEW
def test_texts_come_back(words):
    frame = pd.DataFrame({"word": words, "number": np.arange(len(words), dtype=float)})
    found = read(lambda path: frame.to_csv(path, index=False), ".csv")
    assert [str(word) for word in found["word"]] == words
    np.testing.assert_array_equal(found["number"].to_numpy(float), frame["number"])
