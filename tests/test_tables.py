"""Tables from files: formats, text columns, missing values, and everything that can be wrong with a file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from grip2.datasets.tables import TableError, prepare, read_table


@pytest.fixture
def frame():
    return pd.DataFrame({"age": [30.0, 40, 50, 60], "city": ["Rome", "Oslo", "Rome", "Bern"], "y": [1.0, 2, 3, 4]})


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "semicolon.csv"])
def test_every_format_gives_the_same_table(frame, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "semicolon.csv": lambda: frame.to_csv(path, index=False, sep=";"),
        "parquet": lambda: frame.to_parquet(path),
        "feather": lambda: frame.to_feather(path),
    }[ending]()
    read = read_table(path)
    assert list(read.columns) == ["age", "city", "y"]
    assert read["city"].tolist() == frame["city"].tolist()


def test_text_is_encoded_without_its_most_frequent_value(frame):
    prepared = prepare(frame, "y")
    assert list(prepared.X.columns) == ["age", "city=Bern", "city=Oslo"]
    assert prepared.X["city=Oslo"].tolist() == [0, 1, 0, 0]
    assert any("city: text, encoded as city=Bern, city=Oslo" in notice for notice in prepared.notices)


def test_two_valued_text_gives_one_column():
    prepared = prepare(pd.DataFrame({"sex": ["f", "m", "f", "f"], "y": range(4)}), "y")
    assert list(prepared.X.columns) == ["sex=m"]


def test_identifiers_are_refused():
    frame = pd.DataFrame({"id": [f"p{k}" for k in range(100)], "x": range(100), "y": range(100)})
    with pytest.raises(TableError, match="'id' is text with 100 distinct values"):
        prepare(frame, "y")
    assert list(prepare(frame, "y", drop=["id"]).X.columns) == ["x"]


def test_missing_values_are_named_or_filled(frame):
    frame.loc[0, "age"] = np.nan
    frame.loc[1, "city"] = None
    with pytest.raises(TableError, match=r"missing values in age \(1\), city \(1\).*--impute"):
        prepare(frame, "y")
    filled = prepare(frame, "y", impute=True)
    assert filled.X["age"][0] == 50
    assert len(filled.notices) == 3
    frame["age"] = np.nan
    with pytest.raises(TableError, match="'age' has no values at all"):
        prepare(frame, "y", impute=True)


def test_missing_target_is_an_error(frame):
    frame.loc[2, "y"] = np.nan
    with pytest.raises(TableError, match="target 'y' is missing in 1 of 4 rows"):
        prepare(frame, "y", impute=True)


def test_infinite_values_are_named(frame):
    frame.loc[2, "age"] = np.inf
    with pytest.raises(TableError, match="infinite values in column age"):
        prepare(frame, "y")


def test_unknown_target_suggests_the_nearest_name(frame):
    with pytest.raises(TableError, match=r"no column 'aeg'. Did you mean 'age'"):
        prepare(frame, "aeg")
    with pytest.raises(TableError, match=r"no column 'Y'. Did you mean 'y'"):
        prepare(frame, "Y")
    with pytest.raises(TableError, match="Columns are: age, city, y"):
        prepare(frame, "temperature")


def test_no_columns_besides_the_target(frame):
    with pytest.raises(TableError, match=r"no columns are left"):
        prepare(frame[["y"]], "y")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "the file is empty"),
        ("header.csv", b"a,b\n", "0 rows"),
        ("latin.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), "not UTF-8 text .*iconv"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\x00", "photo.csv: not"),
        ("prose.txt", b"Dear reader\nthis is no table\n", "single column"),
        ("twice.csv", b"a,y,y\n1,2,3\n", "names occur more than once: y"),
        ("index.csv", b",a,y\n0,1,2\n1,3,4\n", "column 1 has no name; often it is a saved row index"),
        ("longer.csv", b"a,y\n1,2,3\n4,5,6\n", "header has 2 names but the first row has 3 values"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3,4\n", "not a readable csv table"),
        ("broken.parquet", b"PAR1 and then nothing", "not a readable parquet table"),
        ("broken.feather", b"nothing of the kind", "not a readable feather table"),
        ("table.xlsx", b"PK", "unknown ending '.xlsx'; expected one of"),
        ("twice.parquet", None, "no such file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(path)


def test_a_misspelt_file_suggests_its_neighbour(tmp_path, frame):
    frame.to_csv(tmp_path / "patients.csv", index=False)
    with pytest.raises(TableError, match=r"no such file. Did you mean patients.csv"):
        read_table(tmp_path / "patient.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


def test_nullable_columns_can_be_imputed():
    frame = pd.DataFrame(
        {
            "count": pd.array([1, 2, None, 4], dtype="Int64"),
            "flag": pd.array([True, None, True, False], dtype="boolean"),
            "y": [1.0, 2, 3, 4],
        }
    )
    prepared = prepare(frame, "y", impute=True)
    assert prepared.X["count"].tolist() == [1, 2, 2, 4]
    assert prepared.X["flag"].tolist() == [1, 1, 1, 0]
    assert "count: 1 missing values filled with 2" in prepared.notices


def test_a_text_target_of_many_values_is_refused():
    frame = pd.DataFrame({"x": range(100), "y": [f"1,{k}" for k in range(100)]})
    with pytest.raises(TableError, match="target 'y' is text with 100 distinct values"):
        prepare(frame, "y")
    with pytest.raises(TableError, match="holds dates"):
        prepare(pd.DataFrame({"x": range(9), "y": pd.date_range("2020-01-01", periods=9)}), "y")
