"""Every role by its rule, in every library's tables, and every role that a user may give."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from grip2.tables import Role, TableError, examine, prepare

N = 200
RNG = np.random.default_rng(0)


def frame(**columns):
    """A table with two columns of noise beside those given."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({"u": rng.normal(size=N), "v": rng.normal(size=N), **columns})


def variable(values, name="x", **settings):
    """The variable that a column becomes, its numbers, and the notices."""
    table = prepare(frame(**{name: values}), **settings)
    found = table.variables[2]
    return found, table.X[:, list(found.columns)], table.notices


def problems_of(values, name="x", **settings):
    return [str(problem) for problem in examine(frame(**{name: values}), **settings).problems]


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


@pytest.mark.parametrize(
    ("values", "role", "n_columns"),
    [
        (RNG.normal(size=N), Role.NUMBER, 1),
        (RNG.integers(0, 9, N), Role.NUMBER, 1),
        (cycle(0, 1), Role.BINARY, 1),
        (cycle(5.5, 7.5), Role.BINARY, 1),
        (cycle(True, False), Role.BINARY, 1),
        (pd.array(cycle(True, None, False), dtype="boolean"), Role.BINARY, 1),
        (cycle("m", "f"), Role.BINARY, 1),
        (cycle("a", "b", "c"), Role.CATEGORY, 2),
        (pd.Categorical(cycle("a", "b", "c"), categories=["c", "b", "a", "unused"]), Role.CATEGORY, 2),
        (pd.Categorical(cycle("lo", "mid", "hi"), categories=["lo", "mid", "hi"], ordered=True), Role.ORDERED, 1),
        (pd.date_range("2020-01-01", periods=N), Role.DATE, 1),
        (pd.date_range("2015-01-01", periods=N, freq="10D"), Role.DATE, 3),
        (pd.date_range("2015-01-01 00:00", periods=N, freq="241h"), Role.DATE, 5),
        (pd.date_range("2015-01-01", periods=N, tz="Europe/Rome"), Role.DATE, 1),
        ([datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)], Role.DATE, 1),
        ([f"2020-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(N)], Role.DATE, 1),
        ([f"{i % 28 + 1}/{i % 12 + 1}/2020" for i in range(N)], Role.DATE, 1),
        ([f"{i % 12 + 1}/{i % 28 + 1}/2020" for i in range(N)], Role.DATE, 1),
        (cycle("Jan-2018", "Feb-2018", "Mar-2018"), Role.DATE, 1),
        ([f"{value:.3f}" for value in RNG.normal(size=N)], Role.NUMBER, 1),
        ([f"{value:.3f}".replace(".", ",") for value in RNG.normal(size=N)], Role.NUMBER, 1),
        ([f"{1000 + 7 * i:,}" for i in range(N)], Role.NUMBER, 1),
        ([f"{1000 + 7 * i:,}".replace(",", " ") for i in range(N)], Role.NUMBER, 1),
        ([f"{7 * i % 41} %" for i in range(N)], Role.NUMBER, 1),
        (cycle("01234", "04321", "99999"), Role.CATEGORY, 2),
        ([f"p{i}" for i in range(N)], Role.IDENTIFIER, 0),
        ([f"p{i // 4}" for i in range(N)], Role.IDENTIFIER, 0),
        (np.arange(N), Role.IDENTIFIER, 0),
        (np.arange(1, N + 1).astype(float), Role.IDENTIFIER, 0),
        (np.delete(np.arange(N + 7), range(50, 57)), Role.IDENTIFIER, 0),
        (RNG.permutation(N) + 5, Role.NUMBER, 1),
        (np.ones(N), Role.CONSTANT, 0),
        (np.full(N, np.nan), Role.CONSTANT, 0),
        ([None] * N, Role.CONSTANT, 0),
        (cycle("only"), Role.CONSTANT, 0),
        ([1.0, 2.0, *[np.nan] * (N - 2)], Role.DROPPED, 0),
        (pd.to_timedelta(RNG.integers(0, 99, N), unit="h"), Role.NUMBER, 1),
        ([datetime.time(i % 24, 30) for i in range(N)], Role.NUMBER, 1),
        ([Decimal(i % 7) / 3 for i in range(N)], Role.NUMBER, 1),
    ],
)  # fmt: skip
def test_roles_by_rule(values, role, n_columns):
    found, X, _ = variable(values)
    assert (found.role, X.shape[1]) == (role, n_columns)


def test_names_make_identifiers_of_numbers():
    values = RNG.permutation(N) + 5
    for name in ("id", "patient_id", "Patient ID", "customerId", "rownames", "Index", "Unnamed: 0"):
        assert variable(values, name)[0].role == Role.IDENTIFIER, name
    for name in ("paid", "grid", "idle", "void"):
        assert variable(values, name)[0].role == Role.NUMBER, name
    found, _, notices = variable(np.repeat(RNG.permutation(N // 2), 2) + 3, "job_id")
    assert found.role == Role.IDENTIFIER
    assert any("--cluster job_id" in notice for notice in notices)


def test_a_category_has_its_most_frequent_level_as_the_reference():
    values = ["Rome"] * 100 + ["Oslo"] * 60 + ["Bern"] * 39 + [None]
    found, X, _ = variable(values)
    assert found.levels == ("Rome", "Bern", "Oslo")
    assert X[:100].sum() == 0
    np.testing.assert_array_equal(X[100], [0, 1])
    assert np.isnan(X[-1]).all()
    assert found.n_missing == 1
    table = prepare(frame(city=values))
    assert table.columns == ("u", "v", "city=Bern", "city=Oslo")
    assert table.units.names == ("u", "v", "city")
    assert table.categories == ((2, 3),)
    assert table.unit_of_variables().tolist() == [0, 1, 2]


def test_ordered_levels_are_numbers_in_their_order():
    ordered = pd.Categorical(cycle("mid", "lo", "hi"), categories=["lo", "mid", "hi"], ordered=True)
    np.testing.assert_array_equal(variable(ordered)[1][:3, 0], [1, 0, 2])
    np.testing.assert_array_equal(variable(cycle("mid", "lo", "hi"), roles={"x": "lo<mid<hi"})[1][:3, 0], [1, 0, 2])
    found, X, _ = variable(cycle("6-10", "1-5", "11+"), roles={"x": "ordered"})
    assert (found.levels, X[:3, 0].tolist()) == (("1-5", "6-10", "11+"), [1, 0, 2])
    assert "give it" in problems_of(cycle("mid", "lo", "hi"), roles={"x": "ordered"})[0]
    assert "does not name 'hi'" in problems_of(cycle("mid", "lo", "hi"), roles={"x": "lo<mid"})[0]


def test_dates_are_days_and_season():
    found, X, _ = variable(pd.date_range("2015-01-01", periods=N, freq="10D"))
    np.testing.assert_allclose(X[:, 0], 10 * np.arange(N))
    np.testing.assert_allclose((X[:, 1:] ** 2).sum(axis=1), 1)
    assert found.done == "days since 2015-01-01 and season"
    day_first = [f"{i % 28 + 1}/{i % 12 + 1}/2020" for i in range(N)]
    month_first = [f"{i % 12 + 1}/{i % 28 + 1}/2020" for i in range(N)]
    np.testing.assert_array_equal(variable(day_first)[1], variable(month_first)[1])
    unclear = problems_of([f"{i % 12 + 1}/{(i + 3) % 12 + 1}/2020" for i in range(N)])
    assert "every one may be day/month/year or month/day/year" in unclear[0]
    with_gap, X, notices = variable(["2020-01-05", "", "no date", *[f"2020-03-{i % 28 + 1:02d}" for i in range(N - 3)]])
    assert np.isnan(X[[1, 2], 0]).all()
    assert any("1 cells that are no dates count as missing" in notice for notice in notices)
    assert with_gap.role == Role.DATE
    years = variable(RNG.integers(1990, 2020, N), roles={"x": "date"})
    assert years[0].role == Role.DATE
    assert "cannot be read as dates" in problems_of(RNG.normal(size=N), roles={"x": "date"})[0]


def test_rare_levels_are_pooled():
    values = ["a"] * 100 + ["b"] * 90 + ["c"] * 4 + ["d"] * 3 + ["e"] * 3
    found, _, notices = variable(values)
    assert found.levels == ("a", "b", "other")
    assert any("3 rare levels (c, d, e; 10 rows) pooled into 'other'" in notice for notice in notices)
    found, _, notices = variable(["a"] * 100 + ["b"] * 50 + ["c"] * 47 + ["d"] * 3)
    assert found.levels == ("a", "b", "other"), "a single rare level goes with the next"
    assert any("'d' pooled with the next, 'c'" in notice for notice in notices)
    found, _, _ = variable(["a"] * 100 + ["other"] * 94 + ["b"] * 3 + ["c"] * 3)
    assert found.levels == ("a", "other", "other levels")
    assert variable(["a"] * 198 + ["b"] * 2)[0].role == Role.BINARY, "two values are never pooled"


def test_many_levels_are_pooled_or_an_identifier():
    n = 6000
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "some": [f"s{i}" for i in np.minimum(rng.geometric(0.03, n), 90)],
            "flat": [f"f{i}" for i in rng.integers(0, 1000, n)],
            "state": [f"t{i}" for i in rng.integers(0, 51, n)],
        }
    )
    found = {v.name: v for v in examine(table).variables}
    assert (found["some"].role, found["some"].levels[-1].startswith("s")) == (Role.CATEGORY, True)
    assert "other" in found["some"].levels
    assert len(found["some"].levels) <= 50
    assert len(found["state"].levels) == 50
    assert found["flat"].role == Role.IDENTIFIER
    declared = {v.name: v for v in examine(table, roles={"flat": "category"}).variables}
    assert declared["flat"].role in (Role.CATEGORY, Role.BINARY, Role.CONSTANT)


def test_roles_that_are_given():
    codes = RNG.integers(0, 4, N)
    assert variable(codes, roles={"x": "category"})[0].levels[0] in set("0123")
    assert variable(codes, roles={"x": "drop"})[0].role == Role.DROPPED
    assert variable(codes, roles={"x": "identifier"})[0].role == Role.IDENTIFIER
    assert variable(np.arange(N), roles={"x": "number"})[0].role == Role.NUMBER
    assert variable(codes, roles={"x": "ordered"})[0].role == Role.ORDERED
    assert variable([f"p{i // 8}" for i in range(N)], roles={"x": "category"})[0].role == Role.CATEGORY
    assert "not two" in problems_of(cycle("a", "b", "c"), roles={"x": "0/1"})[0]
    assert "more than two values" in problems_of(codes, roles={"x": "0/1"})[0]
    assert "cannot be read as numbers" in problems_of(cycle("a", "b", "c"), roles={"x": "number"})[0]
    assert "did you mean 'x'?" in problems_of(codes, roles={"X": "number"})[0]
    assert "Did you mean 'category'?" in problems_of(codes, roles={"x": "categori"})[0]


def test_damaged_cells_are_named_with_their_rows():
    values = [f"{i / 7:.2f}" for i in range(N)]
    values[4], values[17] = "12,5", "3 apples"
    (problem,) = problems_of(values)
    assert "column x holds numbers, but not in rows 5 ('12,5'), 18 ('3 apples')" in problem
    assert "columns={'x': 'number'} (--as x=number)" in problem
    found, X, notices = variable(values, roles={"x": "number"})
    assert (found.n_missing, np.flatnonzero(np.isnan(X[:, 0])).tolist()) == (2, [4, 17])
    assert any("2 cells that are no numbers count as missing" in notice for notice in notices)


@pytest.mark.parametrize("mark", ["", "NA", "N/A", "?", ".", "null", "-", "None"])
def test_marks_of_missing_numbers(mark):
    found, X, _ = variable([mark, *[f"{i / 7:.2f}" for i in range(N - 1)]])
    assert (found.role, found.n_missing, bool(np.isnan(X[0, 0]))) == (Role.NUMBER, 1, True)


def test_not_available_may_be_a_level():
    values = cycle("a", "b", "c", "NA", "c")
    found, X, notices = variable(values)
    assert found.levels == ("c", "a", "b")
    assert np.isnan(X[3]).all()
    assert any("'NA' in 40 rows is taken for a missing value; if it is a level" in notice for notice in notices)
    assert variable(values, roles={"x": "category"})[0].levels == ("c", "NA", "a", "b")
    found, _, notices = variable(["", *values[1:]])
    assert "NA" in found.levels
    assert any("'NA' in 40 rows is a level, as there are empty cells too" in notice for notice in notices)


def test_mostly_empty_texts_have_a_level_for_it():
    found, X, notices = variable(["shed"] * 40 + ["pool"] * 30 + [None] * 130)
    assert found.levels == ("(missing)", "pool", "shed")
    assert not np.isnan(X).any()
    assert any("130 empty cells are the level '(missing)'" in notice for notice in notices)
    assert variable(["yes"] * 40 + [None] * 160)[0].role == Role.BINARY
    assert variable(["yes"] * 40 + [None] * 160, missing="median")[0].role == Role.CONSTANT


def test_numbers_that_mislead():
    tiny = RNG.normal(size=N) * 1e-300
    found, X, notices = variable(tiny)
    assert found.role == Role.NUMBER
    np.testing.assert_allclose(X[:, 0] / X[0, 0], tiny / tiny[0], rtol=1e-12)
    assert 0.01 < X.std() < 10
    assert any("scaled" in notice for notice in notices)
    huge = variable(RNG.normal(size=N) * 1e300)[1]
    assert np.isfinite(huge.std())
    steps = RNG.integers(0, 9, N)
    big_ones = (
        np.int64(2**62) + steps,
        np.uint64(2**63) + steps.astype(np.uint64),
        [2**80 + int(step) for step in steps],
        [Decimal(2**80) + int(step) for step in steps],
        [str(2**80 + int(step)) for step in steps],
        pd.array([None, *(2**62 + steps[1:]).tolist()], dtype="Int64"),
    )
    for values in big_ones:
        found, X, notices = variable(values)
        assert found.role == Role.NUMBER
        np.testing.assert_array_equal(X[1:, 0], steps[1:] - steps[1:].min())
        assert any("2^53" in notice for notice in notices)
    spread = np.array([-(2**63), 2**63 - 1, *[0] * (N - 2)], dtype=np.int64)
    np.testing.assert_allclose(np.ptp(variable(spread)[1]), 2.0**64)


def test_infinity_and_cells_of_odd_types_are_problems():
    assert (
        "column x holds infinity in row 3;" in problems_of(np.where(np.arange(N) == 2, np.inf, RNG.normal(size=N)))[0]
    )
    (odd,) = problems_of([{"a": 1}, *["b"] * (N - 1)])
    assert "got dict in row 1" in odd
    with pytest.raises(TypeError):
        prepare(frame(x=[[1, 2]] * N))
    assert prepare(frame(x=[[1, 2]] * N), roles={"x": "drop"}).X.shape == (N, 2)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "pandas of arrow"])
def test_every_library_gives_the_same_numbers(library):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
            "count": pd.array([None, *rng.integers(0, 5, N - 1).tolist()], dtype="Int64"),
            "city": rng.choice(["Rome", "Oslo", "Bern"], N),
            "flag": rng.random(N) < 0.5,
            "when": pd.date_range("2020-01-01", periods=N),
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], N)),
        }
    )
    table.loc[3, "city"] = None
    expected = prepare(table)
    made = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "pyarrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
        "pandas of arrow": lambda: pa.Table.from_pandas(table, preserve_index=False).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
    }[library]()
    found = prepare(made)
    np.testing.assert_array_equal(found.X, expected.X)
    assert found.columns == expected.columns
    assert [v.role for v in found.variables] == [v.role for v in expected.variables]
    assert [v.n_missing for v in found.variables] == [v.n_missing for v in expected.variables]


def test_all_problems_are_told_at_once():
    table = frame(inf=np.inf, text=[*["1.5"] * (N - 1), "x"], copy=0.0).assign(copy=lambda f: f.u)
    with pytest.raises(TableError, match="the table has 4 problems") as told:
        prepare(table, roles={"nobody": "drop", "u": "numbr"})
    lines = str(told.value).splitlines()
    assert len(lines) == 5
    assert all(f"  {number}. " in line for number, line in enumerate(lines[1:], 1))


@pytest.mark.parametrize(
    ("texts", "numbers", "notice"),
    [
        (cycle("63.1 kg", "70 kg", "81.25 kg"), cycle(63.1, 70, 81.25), "x: read as numbers with the unit 'kg'"),
        (cycle("12 Months", "36 months", "60 months"), cycle(12, 36, 60), "x: read as numbers with the unit 'Months'"),
        (cycle("1,200 m²", "980 m²", "15,000 m²"), cycle(1200, 980, 15000), "x: read as numbers with the unit 'm²'"),
        (
            cycle("1,5 mg/dl", "2,25 mg/dl", "3,0 mg/dl"),
            cycle(1.5, 2.25, 3),
            "x: read as numbers with the unit 'mg/dl'",
        ),
        (cycle("8:30", "23:45", "00:06"), cycle(8.5, 23.75, 0.1), "x: read as times such as 8:30, in hours"),
        (
            cycle("01:00:36", "02:30:00", "00:00:09"),
            cycle(1.01, 2.5, 0.0025),
            "x: read as times such as 8:30, in hours",
        ),
    ],
)
def test_numbers_with_a_unit_and_times(texts, numbers, notice):
    found, values, notices = variable(texts)
    assert found.role == Role.NUMBER
    np.testing.assert_allclose(values[:, 0], numbers)
    assert notice in notices


@pytest.mark.parametrize(
    "texts",
    [
        cycle("63.1 kg", "140 lb", "81 kg"),  # two units
        cycle("1st", "2nd", "3rd"),
        cycle("05 kg", "07 kg", "11 kg"),  # codes
        cycle("8:30", "9:75", "10:00"),  # no time
        cycle("A1", "B2", "C3"),
        cycle("<5", ">5", "<5 "),  # nothing but limits: two levels
    ],
)
def test_texts_that_are_no_numbers_in_one_unit(texts):
    assert variable(texts)[0].role in (Role.CATEGORY, Role.BINARY)


def test_cells_beyond_a_limit_count_as_the_limit():
    values = [f"{i / 7:.2f}" for i in range(N)]
    values[3], values[50] = "<0.1", "> 900"
    found, numbers, notices = variable(values)
    assert found.role == Role.NUMBER
    assert numbers[[3, 50], 0].tolist() == [0.1, 900.0]
    assert "x: 2 cells beyond a limit, such as '<0.1', count as the limit" in notices
    # Asked for numbers they are missing, as all other damaged cells; among other damaged cells they are told with these.
    assert np.isnan(variable(values, roles={"x": "number"})[1][[3, 50], 0]).all()
    values[9] = "65+"
    assert variable(values)[1][9, 0] == 65.0
    values[7] = "broken"
    assert "'<0.1'" in problems_of(values)[0]
    assert "'broken'" in problems_of(values)[0]


def test_few_numbers_with_other_texts_are_levels():
    values = cycle("9", "10", "11", "12")
    values[5], values[9], values[17] = "other", "other", "ungraded"
    found, _, notices = variable(values)
    assert found.role == Role.CATEGORY
    assert set(found.levels) == {"9", "10", "11", "12", "other"}  # rare ones are pooled
    assert any("few numbers and 'other': taken for levels" in notice for notice in notices)
    declared, numbers, _ = variable(values, roles={"x": "number"})
    assert (declared.role, declared.n_missing) == (Role.NUMBER, 3)
    assert np.isnan(numbers[[5, 9, 17], 0]).all()


def test_words_that_differ_by_capitals_only_are_one_level():
    texts = cycle("Yes", "no", "yes", "NO", "no", "Not  known", "not known")
    found, _, notices = variable(texts)
    assert found.role == Role.CATEGORY
    assert set(found.levels) == {"Yes", "no", "Not  known"}
    told = [notice for notice in notices if "differ by capitals only" in notice]
    assert len(told) == 1
    assert "'NO' and 'no'" in told[0]
    assert set(variable(texts, roles={"x": "category"})[0].levels) == {*texts}
    # Single letters may mean different things.
    assert set(variable(cycle("m", "M", "f"))[0].levels) == {"m", "M", "f"}
    # Two levels that are one make a constant.
    found, _, notices = variable(cycle("Same", "same"))
    assert found.role == Role.CONSTANT


@pytest.mark.parametrize(("no", "yes"), [("No", "Yes"), ("no", "YES"), ("N", "y"), ("False", "TRUE")])
def test_yes_is_one_however_frequent(no, yes):
    for values in ([yes] * 150 + [no] * 50, [no] * 150 + [yes] * 50):
        found, X, _ = variable(values)
        assert (found.role, found.levels, found.done) == (Role.BINARY, (no, yes), f"0/1 of {yes!r}")
        np.testing.assert_array_equal(X[:, 0], [value == yes for value in values])
    gaps = [yes] * 150 + [no] * 40 + [None] * 10
    _, X, notices = variable(gaps, missing="median")
    assert X[-10:].all()
    assert notices == (f"x: 10 missing values filled with {yes!r}",)


@pytest.mark.parametrize(
    ("levels", "role"),
    [
        (["1. < HS Grad", "2. HS Grad", "5. Advanced"], "ordered"),
        (["1_Good", "2_Fair", "3_Poor"], "ordered"),
        (["18-24", "25-34", "35+"], "ordered"),
        (["High", "Low", "Medium", "Very_High"], "Low<Medium<High<Very_High"),
        (["fair", "good", "bad"], "bad<fair<good"),
        (["Rome", "Oslo", "Bern"], None),
        (["low", "high", "unknown"], None),
        (["1010 Wien", "1020 Wien", "3030 Graz"], None),
        (["bad", "poor", "good"], None),  # two words for the same
    ],
)
def test_levels_that_seem_to_have_an_order(levels, role):
    found, _, notices = variable(cycle(*levels))
    assert found.role == Role.CATEGORY
    if role is None:
        assert notices == ()
        return
    assert notices[0].startswith("x: its levels seem to have an order, and are taken without one; if they have it: ")
    assert f"columns={{'x': {role!r}}}" in notices[0]
    assert variable(cycle(*levels), roles={"x": role})[0].role == Role.ORDERED
    assert variable(cycle(*levels), roles={"x": "category"})[2] == ()


def test_few_filled_cells_are_told_as_such():
    found, _, notices = variable([1.0, 2.0, 3.0, *[np.nan] * (N - 3)])
    assert (found.role, found.why) == (Role.DROPPED, f"only 3 of {N} cells are filled")
    assert notices == (f"x: only 3 of {N} cells are filled, left out",)
