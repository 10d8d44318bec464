"""The target beside a table: alignment, rows without one, times and events."""

from __future__ import annotations

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from grip2.commands.table import TableOptions, TargetOptions, look
from grip2.errors import Grip2Error
from grip2.responses import response_from
from grip2.responses.given import RANKS
from grip2.tables import Role
from grip2.tables.roles import Asked
from grip2.tables.target import read_event, read_target, survival_target, target_of

X = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0) ** 2}, index=list("abcdef"))
Y = pd.Series([1.5, 2, 3, 4, 5, 6], index=X.index)


def test_a_series_with_the_same_labels_is_put_into_the_tables_order():
    assert target_of(Y, X, "who").notices == ()
    shuffled = target_of(Y.sample(frac=1, random_state=1), X, "who")
    np.testing.assert_array_equal(shuffled.values, Y.to_numpy())
    assert shuffled.notices == ("y was put into the order of the table's index",)


@pytest.mark.parametrize("index", [range(6), list("abcdeg"), list("aabcde")], ids=["numbers", "one other", "repeated"])
def test_a_series_with_other_labels_is_refused(index):
    with pytest.raises(Grip2Error, match=r"who: y has another index than X .*y\.to_numpy\(\)"):
        target_of(Y.set_axis(index), X, "who")
    target_of(Y.set_axis(index).to_numpy(), X, "who")


def test_repeated_labels_in_the_same_order_are_by_position():
    index = list("aabbcc")
    np.testing.assert_array_equal(target_of(Y.set_axis(index), X.set_axis(index), "who").values, Y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1.5, np.nan, 3, 4, 5, 6], index=X.index),
        pl.Series([1.5, None, 3, 4, 5, 6]),
        pl.Series([1.5, float("nan"), 3, 4, 5, 6]),
        pa.chunked_array([[1.5, None, 3, 4, 5, 6]]),
        np.ma.MaskedArray([1.5, 2, 3, 4, 5, 6], mask=[0, 1, 0, 0, 0, 0]),
    ],
    ids=["pandas", "polars", "NaN in polars", "pyarrow", "masked"],
)
def test_rows_without_a_target_are_left_out(y):
    target = target_of(y, X, "who")
    np.testing.assert_array_equal(target.rows, [0, 2, 3, 4, 5])
    np.testing.assert_array_equal(target.values, [1.5, 3, 4, 5, 6])
    assert target.notices == ("y is missing in 1 of 6 rows, which are left out",)


def test_texts_and_whole_numbers_keep_their_type_without_the_missing():
    assert target_of(pd.Series(["a", None, "b"]), None, "who").values.tolist() == ["a", "b"]
    assert target_of(pd.Series([1, None, 2], dtype="Int64"), None, "who").values.tolist() == [1, 2]
    assert target_of(pl.Series([1, None, 2]), None, "who").values.dtype.kind == "i"
    with pytest.raises(Grip2Error, match="y is missing in all 2 rows"):
        target_of(pd.Series([np.nan, np.nan]), None, "who")


def test_plain_arrays_with_nan_are_refused_and_pairs_are_passed_on():
    with pytest.raises(Grip2Error, match="contains NaN in 1 of 2 rows"):
        target_of(np.array([1.0, np.nan]), None, "who")
    pairs = np.column_stack([np.arange(6.0), [0, 1, 0, 1, 0, 1]])
    np.testing.assert_array_equal(target_of(pairs, X, "who").values, pairs)
    frame = pd.DataFrame(pairs, columns=["time", "event"], index=X.index)
    np.testing.assert_array_equal(target_of(frame, X, "who").values, pairs)
    records = np.zeros(6, dtype=[("event", bool), ("time", float)])
    assert target_of(records, X, "who").values is records


def series(values):
    return nw.from_native(pl.Series(values, strict=False), series_only=True)


def test_targets_from_a_file():
    found, problems = read_target(series(["yes ", "no", "", "yes", "NA", "no"]), "y")
    assert (found.values.tolist(), found.rows.tolist(), problems) == (["yes", "no", "yes", "no"], [0, 1, 3, 5], [])
    assert found.notices == ("y is missing in 2 of 6 rows, which are left out",)
    assert read_target(series([1, 2, None]), "y")[0].values.dtype.kind == "i"
    assert read_target(series(["1,5", "2,5", "3,25"]), "y")[0].values.tolist() == [1.5, 2.5, 3.25]
    assert set(read_target(series(["01", "02", "03"] * 30), "y")[0].values) == {"01", "02", "03"}  # codes
    for values, message in (
        ([f"x{k}" for k in range(100)], "the target 'y' is text with 100 distinct values"),
        ([f"2020-01-{k + 1:02d}" for k in range(20)], "the target 'y' holds dates"),
        ([*["1.5"] * 99, "x"], r"column y holds numbers, but not in row 100"),
        ([*["1", "2", "3"] * 33, "x"], r"the target 'y' holds numbers, but not in row 100 ('x')"),
    ):
        assert message in str(read_target(series(values), "y")[1][0])


@pytest.mark.parametrize(
    ("values", "value", "happened"),
    [
        ([0, 1, 1, 0], None, [0, 1, 1, 0]),
        ([0.0, 1.0, 1.0, 0.0], None, [0, 1, 1, 0]),
        ([True, False, True, False], None, [1, 0, 1, 0]),
        ([1, 2, 2, 1], None, [0, 1, 1, 0]),
        ([0, 1, 2, 0], None, [0, 1, 1, 0]),
        ([0, 1, 2, 0], "2", [0, 0, 1, 0]),
        (["alive", "dead", "dead", "alive"], None, [0, 1, 1, 0]),
        (["censored", "Relapse", "Relapse", "censored"], None, [0, 1, 1, 0]),
        (["in", "out", "out", "in"], "out", [0, 1, 1, 0]),
    ],
)
def test_events(values, value, happened):
    found, problems = read_event(series(values), "status", value)
    assert (found.values.astype(int).tolist(), problems) == (happened, [])


def test_unclear_events_are_problems():
    assert "say which one is the event: --event s=VALUE" in str(read_event(series(["in", "out"]), "s", None)[1][0])
    assert "happens in no row" in str(read_event(series([0, 0]), "s", None)[1][0])
    assert "happens in no row" in str(read_event(series(["in", "out"]), "s", "gone")[1][0])
    (notice,) = read_event(series([0, 1, 2]), "s", None)[0].notices
    assert "0 is taken for censored, all others for the event" in notice


def test_times_and_events_together():
    time, _ = read_target(series([3, None, 5, 7]), "t")
    event, _ = read_event(series([1, 1, None, 0]), "s", None)
    target, problems = survival_target(time, event, 4)
    assert problems == []
    assert target.rows.tolist() == [0, 3]
    assert target.values["time"].tolist() == [3, 7]
    assert target.values["event"].tolist() == [True, False]
    texts, _ = read_target(series(["a", "b", "a", "b"]), "t")
    assert "must be a time in numbers" in str(survival_target(texts, event, 4)[1][0])


def test_classes_that_differ_by_capitals_only_are_one():
    words = ["Yes", "yes", "yes", "no", "No ", "no", None]
    found, problems = read_target(nw.from_native(pl.Series(words), series_only=True), "y")
    assert not problems
    assert found.values.tolist() == ["yes", "yes", "yes", "no", "no", "no"]
    assert found.notices[0] == "y: classes that differ by capitals only are one: 'Yes' and 'yes'; 'no' and 'No'"
    letters, _ = read_target(nw.from_native(pl.Series(["a", "A", "b"]), series_only=True), "y")
    assert letters.values.tolist() == ["a", "A", "b"]
    assert letters.notices == ()


def test_how_numbers_were_read_is_told():
    found, _ = read_target(nw.from_native(pl.Series(["1.5 kg", "2 kg", "7 kg"]), series_only=True), "y")
    assert found.values.tolist() == [1.5, 2.0, 7.0]
    assert found.notices == ("y: read as numbers with the unit 'kg'",)


def test_an_order_of_the_target_makes_ordered_classes():
    words = ["mid", "low", "high", None, "mid", "low"]
    found, problems = read_target(series(words), "y", Asked(Role.ORDERED, ("low", "mid", "high")))
    assert problems == []
    assert found.values.dtype == RANKS
    assert found.values["rank"].tolist() == [1, 0, 2, 1, 0]
    assert found.values["label"].tolist() == ["mid", "low", "high", "mid", "low"]
    assert found.notices == ("y is missing in 1 of 6 rows, which are left out",)
    assert [values.tolist()[0] for _, values in found.parts] == [1, "mid"]
    assert response_from(np.tile(found.values, 5)).describe() == "ordered classes: low < mid < high"
    grades, _ = read_target(series([3, 1, 2, 3]), "y", Asked(Role.ORDERED))
    assert grades.values["label"].tolist() == ["3", "1", "2", "3"]
    unknown = read_target(series(words), "y", Asked(Role.ORDERED, ("low", "mid")))[1]
    assert "does not name 'high' (row 3)" in str(unknown[0])


def test_a_number_is_asked_for_where_cells_are_damaged():
    damaged = series([*map(str, range(50)), "oops"])
    (problem,) = read_target(damaged, "y")[1]
    assert "row 51 ('oops'); mend these cells, or count them as missing: --as y=number" in str(problem)
    assert "category" not in str(problem)
    found, problems = read_target(damaged, "y", Asked(Role.NUMBER))
    assert problems == []
    assert found.rows.tolist() == list(range(50))
    assert found.notices[1] == "y is missing in 1 of 51 rows, which are left out"
    assert "leave out --as y=number" in str(read_target(series(["a", "b"] * 20), "y", Asked(Role.NUMBER))[1][0])


@pytest.mark.parametrize("role", [Role.CATEGORY, Role.DATE, Role.BINARY, Role.IDENTIFIER])
def test_other_roles_of_the_target_are_refused(role):
    (problem,) = read_target(series([1, 2, 3]), "y", Asked(role))[1]
    assert f"the target 'y' cannot be taken for '{role}'; a target may be a number or have an order" in str(problem)


def test_the_command_line_takes_roles_of_the_target(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"Sales": np.resize(["low", "mid", "high"], 60), "a": rng.normal(size=60), "b": rng.normal(size=60)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)

    def look_at(**roles):
        return look(TableOptions(tmp_path / "t.csv", roles=roles), TargetOptions("Sales"))

    loaded, problems = look_at(Sales="low<mid<high", a="number")
    assert problems == []
    assert loaded.y["rank"][:3].tolist() == [0, 1, 2]
    found = [str(problem) for problem in look_at(sales="number", A="drop")[1]]
    assert found == [
        "there is no column 'sales'; did you mean 'Sales', the target?",
        "there is no column 'A'; did you mean 'a'?",
    ]
    assert "roles are number" in str(look_at(Sales="numeral")[1][0])


def test_early_times_are_named_with_their_rows():
    time, _ = read_target(series([3, 0, None, -2.5, 7]), "t")
    event, _ = read_event(series([1, 1, 0, 0, None]), "s", None)
    message = str(survival_target(time, event, 5)[1][0])
    assert (
        "the target 't': times must be positive, which they are not in rows 2 (0.0), 4 (-2.5); drop these rows"
        in message
    )


def test_the_example_of_a_time_that_is_text_is_plain():
    time, _ = read_target(series(["Bad", "Good"] * 5), "t")
    event, _ = read_event(series([0, 1] * 5), "s", None)
    assert "the target 't' holds 'Bad' for example" in str(survival_target(time, event, 10)[1][0])


def test_words_that_are_taken_for_the_event_are_told():
    (notice,) = read_event(series(["alive", "dead"]), "status", None)[0].notices
    assert notice == (
        "status: 'dead' is taken for the event, 'alive' for censored; if it is the other way round, say --event status=alive"
    )
    for obvious in ([0, 1], [True, False], ["true", "false"]):
        assert read_event(series(obvious), "status", None)[0].notices == ()
