"""A table in numbers: copies, copies of the target, missing values, groups, arrays as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grip2.errors import Grip2Error
from grip2.tables import Role, TableError, TargetValues, examine, prepare

N = 100


def table(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.integers(0, 4, N).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Bern"], N),
            "sex": rng.choice(["m", "f"], N),
        }
    )


def copy_of(frame, name):
    return {v.name: v.copy_of for v in prepare(frame).variables}[name]


def test_copies_form_one_unit():
    frame = table()
    frame["b2"] = frame["b"].astype(int)
    frame["city2"] = frame["city"].map({"Rome": "r", "Oslo": "o", "Bern": "b"})
    frame["city3"] = frame["city"].map({"Rome": 10, "Oslo": 30, "Bern": 20})
    frame["male"] = frame["sex"] == "m"
    frame["female"] = 1 - frame["male"]
    prepared = prepare(frame)
    assert prepared.units.names == ("a", "b", "city", "sex")
    assert [v.copy_of for v in prepared.variables] == ["", "", "", "", "b", "city", "city", "sex", "sex"]
    assert all(v.role == Role.COPY and not v.columns for v in prepared.variables[4:])
    assert prepared.unit_of_variables().tolist() == [0, 1, 2, 3, 1, 2, 2, 3, 3]
    assert prepared.stands_for()["city"][2:] == ["city2", "city3"]
    assert prepared.stands_for()["b"] == ["b", "b2"]
    assert len([n for n in prepared.notices if "a copy of" in n]) == 5


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_linear_function_of_a_column_is_a_copy(name):
    frame = table()
    own = frame[name]
    assert copy_of(frame.assign(x=2.54 * own - 1), "x") == name
    assert copy_of(frame.assign(x=7 - own / 3), "x") == name
    gap = frame.assign(**{name: np.where(frame.index == 3, np.nan, own)})
    assert copy_of(gap.assign(x=2.54 * gap[name]), "x") == name
    assert copy_of(gap.assign(x=2.54 * own), "x") == "", "missing in other rows"
    assert copy_of(frame.assign(x=2.54 * own + 1e-4 * np.arange(N)), "x") == ""
    twice = pd.concat([frame, frame], ignore_index=True)
    late = twice[name] + (twice.index == 2 * N - 1)  # beyond the rows that are compared first
    assert copy_of(twice.assign(x=2.54 * late), "x") == ""
    assert prepare(frame.assign(x=2.54 * own - 1)).variables[-1].why == "a linear function of it"


def test_what_is_nearly_a_copy_is_none():
    frame = table()
    assert copy_of(frame.assign(x=frame["b"] ** 2), "x") == "", "numbers that correspond one to one have other shapes"
    assert copy_of(frame.assign(x=np.where(frame.index == 3, 9, frame["b"])), "x") == ""
    assert copy_of(frame.assign(x=np.where(frame.index == 3, np.nan, frame["b"])), "x") == ""
    gap = frame.assign(b=np.where(frame.index == 3, np.nan, frame["b"]))
    assert copy_of(gap.assign(x=gap["b"]), "x") == "b", "missing in the same rows"
    assert copy_of(frame.assign(x=-frame["a"] * 0.0 + frame["a"]), "x") == "a"
    zero = frame.assign(b=frame["b"] * 1.0)
    assert copy_of(zero.assign(x=np.where(zero["b"] == 0, -0.0, zero["b"])), "x") == "b"


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (lambda f: f["a"], lambda f: f["a"]),
        (lambda f: 3 - 2 * f["a"], lambda f: f["a"]),
        (lambda f: f["city"].map({"Rome": "r", "Oslo": "o", "Bern": "b"}), lambda f: f["city"]),
        (lambda f: f["city"].map({"Rome": 1, "Oslo": 2, "Bern": 3}), lambda f: f["city"]),
        (lambda f: f["sex"], lambda f: f["sex"] == "m"),
        (lambda f: f["sex"], lambda f: (f["sex"] == "m").astype(int)),
        (lambda f: f["a"].where(f.index > 5), lambda f: f["a"]),
        (lambda f: f["sex"].where(f.index > 5), lambda f: f["sex"]),
    ],
)
def test_copies_of_the_target_stop_with_their_name(column, target):
    frame = table()
    y = target(frame).to_numpy()
    y = y.astype(str) if y.dtype == object else y
    features = pd.DataFrame({"u": table(1)["a"], "v": table(2)["a"], "leak": column(frame)})
    with pytest.raises(TableError, match=r"column leak is a copy of the target; leave it out: .*--as leak=drop"):
        prepare(features, target=TargetValues(y))
    assert prepare(features, target=TargetValues(y), roles={"leak": "drop"}).X.shape[1] == 2
    mixed = np.roll(y, 1)
    assert prepare(features, target=TargetValues(mixed)).X.shape[1] >= 3


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (lambda a: np.exp(a), lambda a: a),
        (lambda a: -np.arctan(a), lambda a: a),
        (lambda a: np.exp(np.round(a, 1)), lambda a: np.round(a, 1)),
        (lambda a: np.exp(a).where(a.index > 5), lambda a: a),
        (lambda a: np.round(np.exp(a), 2), lambda a: a),
        (lambda a: np.exp(a), lambda a: np.round(a, 2)),
    ],
    ids=["rising", "falling", "ties", "missing", "rounded column", "rounded target"],
)
def test_monotone_functions_of_the_target_stop_with_their_name(column, target):
    a = table()["a"]
    features = pd.DataFrame({"u": table(1)["a"], "v": table(2)["a"], "leak": column(a)})
    with pytest.raises(
        TableError, match=r"column leak is a monotone function of the target; leave it out: .*leak=drop"
    ):
        prepare(features, target=TargetValues(target(a).to_numpy()))


@pytest.mark.parametrize(
    ("column", "target"),
    [
        (lambda a: np.exp(a).where(a.index > 0, 9.0), lambda a: a),
        (lambda a: np.exp(np.clip(np.round(a), -2, 2)), lambda a: np.clip(np.round(a), -2, 2)),
        (lambda a: np.round(np.exp(a)), lambda a: a),
        (lambda a: np.where(a > 0, a, 0.0), lambda a: np.where(a < 0, a, 0.0)),
        (lambda a: a**2, lambda a: a),
    ],
    ids=["but one row", "few values", "few values after rounding", "two halves", "not monotone"],
)
def test_what_is_nearly_monotone_in_the_target_may_stay(column, target):
    a = table()["a"]
    features = pd.DataFrame({"u": table(1)["a"], "v": table(2)["a"], "x": column(a)})
    assert examine(features, target=TargetValues(np.asarray(target(a)))).problems == ()


def test_levels_in_separate_ranges_of_the_target_are_told():
    a = table()["a"]
    y = (1000 * (a - a.min())).round().to_numpy()
    low, high = int(np.sort(y)[N // 3 - 1]), int(np.sort(y)[N // 3])
    features = pd.DataFrame({"u": table(1)["a"], "v": table(2)["a"], "low": (y <= low).astype(int)})
    (notice,) = examine(features, target=TargetValues(y)).notices
    assert notice.startswith(
        f"low: its levels occupy separate ranges of the target (0: {high:,} to {int(y.max()):,}; 1: 0 to {low:,}). Was it "
        "computed from it? If so, leave it out: columns={'low': 'drop'}"
    )
    size = pd.cut(y, 4, labels=["tiny", "short", "long", "huge"]).astype(object)
    for told in (size, np.where(features.index < 4, None, size), np.where(y <= low, "low", "not low")):
        assert len(examine(features[["u", "v"]].assign(x=told), target=TargetValues(y)).notices) == 1
    mixed = np.where(features.index < 20, np.roll(size, 1), size)
    few = np.where(y >= np.sort(y)[-4], "x", "y")
    for silent in (mixed, few, features["u"] > 0):
        assert examine(features[["u", "v"]].assign(x=silent), target=TargetValues(y)).notices == ()


def test_ranges_that_touch_are_separate_among_many_values():
    weight = np.resize(np.arange(1, 10.5, 0.5), N)
    low = np.where((weight < 5.5) | (np.cumsum(weight == 5.5) % 2 == 1) & (weight == 5.5), "low", "not low")
    features = table(1)[["a", "b"]].assign(low=low)
    (notice,) = examine(features, target=TargetValues(weight)).notices
    assert "low: 1 to 5.5" in notice
    assert "not low: 5.5 to 10" in notice
    assert examine(features, target=TargetValues(np.round(weight / 2))).notices == ()


def test_a_number_in_separate_ranges_of_two_classes_is_told():
    weight = table()["a"]
    low = np.where(weight < weight.quantile(0.3), "low", "not low")
    features = table(1)[["a", "b"]].assign(weight=weight)
    (notice,) = examine(features, target=TargetValues(low)).notices
    assert notice.startswith("weight: it has separate ranges in the classes of the target (")
    assert "; low: -" in notice
    assert examine(features, target=TargetValues(np.roll(low, 1))).notices == ()


def test_parts_of_a_survival_target_are_looked_for():
    frame = table()
    y = np.zeros(N, dtype=[("event", bool), ("time", float)])
    y["time"], y["event"] = np.exp(frame["a"]), frame["sex"] == "m"
    for column, part in ((np.exp(frame["a"]), "time"), (frame["sex"], "event")):
        found = examine(frame[["b", "city"]].assign(leak=column), target=TargetValues(y)).problems
        assert f"({part})" in str(found[0])


def with_gaps():
    frame = table()
    frame.loc[:9, "a"] = np.nan
    frame.loc[5:14, "city"] = None
    frame.loc[[1, 2], "sex"] = None
    return frame


def test_missing_values_are_left_to_be_drawn():
    frame = with_gaps()
    prepared = prepare(frame)
    assert prepared.has_missing
    assert np.isnan(prepared.X).sum() == 10 + 2 * 10 + 2
    assert [v.n_missing for v in prepared.variables] == [10, 0, 10, 2]
    assert prepared.notices == ()


def test_what_is_done_to_missing_values_is_listed():
    done = {variable.name: variable.done for variable in prepare(with_gaps()).variables}
    assert done["a"] == "10 missing values drawn from the model"
    assert done["city"].endswith("; 10 missing values drawn from the model")
    assert done["b"] == ""
    assert "10 missing values filled with" in prepare(with_gaps(), missing="median").variables[0].done


def test_missing_values_filled():
    frame = with_gaps()
    prepared = prepare(frame, missing="median")
    assert not prepared.has_missing
    assert prepared.X[0, 0] == pytest.approx(frame["a"].median())
    assert (prepared.X[5:15, 2:4] == 0).all(), "the most frequent level is the reference"
    assert any(notice.startswith("a: 10 missing values filled with") for notice in prepared.notices)


def test_missing_values_told_by_an_indicator():
    frame = with_gaps()
    frame["a2"] = frame["a"] ** 2
    prepared = prepare(frame, missing="indicator")
    assert not prepared.has_missing
    assert "a is missing" in prepared.columns
    assert "a2 is missing" not in prepared.columns, "the same rows as those of a: one column would copy the other"
    assert "sex is missing" not in prepared.columns, "too rare"
    variables = {v.name: v for v in prepared.variables}
    assert len(variables["a"].columns) == 2
    assert prepared.X[:, variables["a"].columns[1]].sum() == 10
    assert "(missing)" in variables["city"].levels
    assert prepared.X[5:15, list(variables["city"].columns)].sum() == 10
    assert prepared.units.names == ("a", "b", "city", "sex", "a2")


def test_missing_values_refused():
    with pytest.raises(TableError, match=r"missing values in a \(10\), city \(10\), sex \(2\); .*--missing draw"):
        prepare(with_gaps(), missing="refuse")
    with pytest.raises(Grip2Error, match="missing must be one of draw, indicator, median, refuse, got 'impute'"):
        prepare(with_gaps(), missing="impute")


def test_groups_are_of_variables():
    prepared = prepare(table(), groups={"where": ["city", "a"]})
    assert prepared.units.names == ("where", "b", "sex")
    assert prepared.stands_for()["where"][0] == "a"
    assert len(prepared.stands_for()["where"]) == 3
    assert prepare(table(), groups=["g", "g", "h", None]).units.names == ("g", "h", "sex")
    assert prepare(table(), groups={"g": [0, 1]}).units.names == ("g", "city", "sex")
    with pytest.raises(Grip2Error, match="'city=Rome' is one value of 'city'; name the whole column"):
        prepare(table(), groups={"g": ["city=Rome", "a"]})


def test_too_little_is_left():
    with pytest.raises(TableError, match="at least 10 rows are needed, got 9"):
        prepare(table().head(9))
    with pytest.raises(TableError, match=r"at least 2 features are needed, got 1 feature\(s\) \(1 more are constant"):
        prepare(pd.DataFrame({"a": table()["a"], "k": 1}))
    with pytest.raises(Grip2Error, match="column names must differ, got a more than once"):
        prepare(pd.DataFrame(np.zeros((20, 2)), columns=["a", "a"]))
    clash = table().assign(**{"city=Rome": table(3)["a"]})
    with pytest.raises(TableError, match="encoding gives two columns the name 'city=Rome'"):
        prepare(clash)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_numbers_are_not_copied(dtype):
    X = np.random.default_rng(0).normal(size=(50, 6)).astype(dtype)
    assert prepare(X).X is X
    assert prepare(X).columns == ("x0", "x1", "x2", "x3", "x4", "x5")
    X[:, 2] = 1
    kept = prepare(X)
    np.testing.assert_array_equal(kept.X, X[:, [0, 1, 3, 4, 5]])
    assert (kept.X.dtype, kept.columns) == (dtype, ("x0", "x1", "x3", "x4", "x5"))
    assert kept.unit_of_variables().tolist() == [0, 1, -1, 2, 3, 4]
    assert prepare(np.asfortranarray(X)).X.flags.c_contiguous
    assert prepare(pd.DataFrame(X)).X.dtype == dtype


def test_other_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    masked = np.ma.MaskedArray(X, mask=np.arange(150).reshape(50, 3) == 4)
    assert np.flatnonzero(np.isnan(prepare(masked).X)).tolist() == [4]
    whole = np.ma.MaskedArray(rng.integers(0, 9, (50, 3)), mask=np.arange(150).reshape(50, 3) == 4)
    assert np.flatnonzero(np.isnan(prepare(whole).X)).tolist() == [4]
    np.testing.assert_array_equal(prepare(X.astype(object)).X, X)
    mixed = np.column_stack([X[:, 0], np.resize(["a", "b", "c"], 50), X[:, 1]]).astype(object)
    assert [v.role for v in prepare(mixed).variables] == [Role.NUMBER, Role.CATEGORY, Role.NUMBER]
    records = np.zeros(50, dtype=[("u", float), ("n", int)])
    records["u"], records["n"] = X[:, 0], rng.integers(0, 9, 50)
    assert prepare(records).columns == ("u", "n")
    counted = np.column_stack([np.arange(50.0), X])
    assert prepare(counted).X.shape[1] == 4, "columns of arrays have no names, so none is taken for an identifier"


def test_a_copy_of_the_target_in_an_array_is_told():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert any("x1 is a copy of the target" in notice for notice in prepare(X, target=TargetValues(X[:, 1])).notices)
