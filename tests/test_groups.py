"""Groups in every form that users give them, and the units they become."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grip2.errors import Grip2Error
from grip2.groups import units_from

COLUMNS = ("a", "b", "c", "d", "e")


def columns_of(groups, columns=COLUMNS):
    named = units_from(groups, columns, who="test")
    return {name: [columns[j] for j in places] for name, places in zip(named.names, named.units.columns, strict=True)}


def test_without_groups_every_column_is_a_unit_under_its_own_name():
    named = units_from(None, COLUMNS, who="test")
    assert named.names == COLUMNS
    assert named.units.all_single
    assert named.stands_for() == {}


@pytest.mark.parametrize(
    "groups",
    [
        {"left": ["a", "c"], "right": ["d", "e"]},
        {"left": [0, 2], "right": np.array([3, 4])},
        ["left", None, "left", "right", "right"],
        pd.Series(["left", np.nan, "left", "right", "right"]),
        np.array(["left", "", "left", "right", "right"], dtype=object),
    ],
    ids=["names", "numbers", "labels", "series", "array"],
)
def test_all_forms_mean_the_same(groups):
    assert columns_of(groups) == {"left": ["a", "c"], "b": ["b"], "right": ["d", "e"]}


def test_a_file(tmp_path):
    file = tmp_path / "groups.csv"
    file.write_text("column,group\na,left\nc,left\nd,right\ne,right\nb,\n", encoding="utf-8")
    assert columns_of(file) == columns_of(str(file)) == {"left": ["a", "c"], "b": ["b"], "right": ["d", "e"]}


def test_a_unit_stands_for_its_columns():
    assert units_from({"left": ["a", "c"]}, COLUMNS, who="test").stands_for() == {
        "left": ["a", "c"], "b": ["b"], "d": ["d"], "e": ["e"],
    }  # fmt: skip


def test_a_group_may_be_called_like_one_of_its_columns_but_not_like_another():
    assert columns_of({"a": ["a", "c"]})["a"] == ["a", "c"]
    with pytest.raises(Grip2Error, match="'b' is the name of a group and of a column outside it"):
        columns_of({"b": ["a", "c"]})
    with pytest.raises(Grip2Error, match="'b' is the name of a group and of a column outside it"):
        columns_of({"b": ["a", "c"], "d": ["b", "d"]})


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"left": ["a", "bb"]}, "'bb', which is no column"),
        ({"left": ["a", "b"], "right": ["b"]}, "column 'b' is in 'left' and in 'right'"),
        ({"left": [9]}, "columns 0 to 4"),
        ({"left": []}, "'left' has no columns"),
        ({"left": "a"}, "must be a list of names or numbers"),
        (["left", "left"], "a label for each of the 5 columns, got 2"),
        ([["a", "b"]] * 5, "one label for each column"),
        ({"left": [["a", "b"]]}, r"\['a', 'b'\], which is no column"),
        (3, "must be a mapping, a list of labels or the path of a CSV file, got 3"),
    ],
    ids=["unknown", "twice", "number", "nothing", "text", "length", "nested", "nested in a mapping", "no groups"],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(Grip2Error, match=message):
        columns_of(groups)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,unit\na,left\n", "expected a header with column,group"),
        ("column,group\n", "holds no groups"),
        (None, "no such file"),
    ],
    ids=["header", "empty", "missing"],
)
def test_bad_files_are_refused(tmp_path, text, message):
    file = tmp_path / "groups.csv"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(Grip2Error, match=message):
        columns_of(file)
