"""Which kind of response a user's y is, and what is refused in words."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from grip2._validation import plain_values
from grip2.errors import Grip2Error
from grip2.responses import (
    Counts,
    Measurement,
    OrderedClasses,
    SeveralClasses,
    Survival,
    TwoClasses,
    response_from,
    rows_of,
    times_and_events,
)

RNG = np.random.default_rng


TIMES = np.arange(1.0, 21.0)
EVENTS = np.arange(20) % 3 > 0


@pytest.mark.parametrize(
    ("values", "task", "kind"),
    [
        ([1.5, 2.5, 3.5], "auto", Measurement),
        ([0.0, 1.0] * 5, "auto", TwoClasses),
        ([3, 7] * 5, "auto", TwoClasses),
        ([True, False] * 5, "auto", TwoClasses),
        (["a", "b"] * 5, "auto", TwoClasses),
        (["a", "b", "c"] * 5, "auto", SeveralClasses),
        (np.arange(50), "auto", Measurement),
        ([0.0, 1.0, 1.0], "regression", Measurement),
        (["1", "2", "4"], "regression", Measurement),
        ([0.0, 1.0] * 5, "classification", TwoClasses),
        ([1.5, 2.5, 3.5] * 5, "classification", SeveralClasses),
        ([0, 1, 5] * 5, "counts", Counts),
        ([0.0, 1.0] * 5, "counts", Counts),
        ([1, 2, 5] * 5, "ordered", OrderedClasses),
        (np.column_stack([TIMES, EVENTS]), "auto", Survival),
        (np.column_stack([TIMES, EVENTS]), "survival", Survival),
        (np.reshape([1.5, 2.5, 3.5], (3, 1)), "auto", Measurement),
    ],
)
def test_recognition(values, task, kind):
    assert type(response_from(np.array(values), task)) is kind


DECREASING = [0] * 60 + [1] * 25 + [2] * 10 + [3] * 4 + [7]


@pytest.mark.parametrize("kind", [np.int64, np.uint8, float])
def test_skewed_whole_numbers_that_are_most_often_zero_are_counts(kind):
    with pytest.warns(UserWarning, match="y has whole numbers from 0, most often 0, as counts have"):
        found = response_from(np.array(DECREASING, dtype=kind))
    assert type(found) is Counts
    assert type(response_from(np.array(DECREASING, dtype=kind), "regression")) is Measurement


@pytest.mark.parametrize(
    "values",
    [
        [1 + one for one in DECREASING],  # no zeros
        [-one for one in DECREASING],
        [0.5 * one for one in DECREASING],  # no whole numbers
        [0] * 30 + [1] * 40 + [2] * 20 + [9] * 10,  # zeros are not the most frequent
        [0] * 27 + [1] * 24 + [2] * 24 + [3] * 25,  # codes of classes
        [0] * 80 + [1] * 15 + [2] * 5,  # few different ones
        [0] * 60 + list(range(1, 120)),  # amounts: many different ones
        [100 * one for one in DECREASING],  # amounts
    ],
)
def test_other_numbers_are_no_counts_unless_asked_for(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert type(response_from(np.array(values))) is Measurement


def test_counts_are_not_guessed_where_tables_are_long_or_read_block_by_block():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert type(response_from(np.array(DECREASING * 1001))) is Measurement
        assert type(response_from(np.array(DECREASING), guess_counts=False)) is Measurement
        assert type(response_from(np.array(DECREASING), "counts", guess_counts=False)) is Counts


def test_two_columns_are_times_and_events_however_they_are_held():
    expected = response_from(times_and_events(TIMES, EVENTS))
    structured = np.empty(20, dtype=[("cens", bool), ("t", float)])
    structured["cens"], structured["t"] = EVENTS, TIMES
    frame = pd.DataFrame({"died": EVENTS.astype(int), "years": TIMES})
    for held in (structured, frame, frame[["years", "died"]], frame.to_numpy(), np.column_stack([TIMES, EVENTS])):
        found = response_from(held)
        assert type(found) is Survival
        np.testing.assert_array_equal(found.times, expected.times)
        np.testing.assert_array_equal(found.events, expected.events)
    assert expected.describe() == "times to an event: 13 events and 7 censored rows"
    # Where both columns could be the event, names decide, then their order.
    ones = np.ones(20)
    for held in (pd.DataFrame({"status": EVENTS * 1.0, "years": ones}), np.column_stack([ones, EVENTS])):
        assert rows_of(held)["time"].tolist() == ones.tolist()
    assert rows_of(times_and_events(TIMES, EVENTS))[[3, 1]]["time"].tolist() == [4.0, 2.0]


def test_ordered_categories_are_ordered_classes():
    sizes = pd.Categorical(["mid", "low", "high"] * 5, categories=["low", "mid", "high", "huge"], ordered=True)
    for held in (sizes, pd.Series(sizes)):
        found = response_from(held)
        assert type(found) is OrderedClasses
        assert found.names == ("low", "mid", "high")
        assert found.y[:3].tolist() == [1, 0, 2]
        assert found.describe() == "ordered classes: low < mid < high"
    unordered = pd.Series(["mid", "low", "high"] * 5, dtype="category")
    assert type(response_from(unordered)) is SeveralClasses
    with pytest.raises(Grip2Error, match="Input y contains NaN in 1 of 16 rows"):
        rows_of(pd.Categorical([*sizes, None], categories=["low", "mid", "high"], ordered=True))


def test_few_whole_numbers_are_a_measurement_with_a_warning():
    with pytest.warns(UserWarning, match="y has 3 distinct whole numbers and is treated as a measurement") as told:
        assert type(response_from(np.repeat([1, 2, 3], 5))) is Measurement
    assert "counts, task='counts'" in str(told[0].message)
    with pytest.warns(UserWarning, match="task='ordered'") as told:
        response_from(np.repeat([-1, 2, 3], 5))
    assert "counts" not in str(told[0].message)


def test_skewed_whole_numbers_are_a_measurement_that_may_count():
    days = np.repeat(np.arange(16), [10, 40, 30, 22, 16, 12, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1])
    with pytest.warns(UserWarning, match=r"from 0 to 15, skewed .* a measurement .* say so: task='counts'") as told:
        assert type(response_from(days)) is Measurement
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for others in (days + 20, 15 - days, 100 * days, days / 2, np.arange(16).repeat(9)):
            assert type(response_from(others)) is Measurement


def test_small_classes_are_told_at_once_by_label():
    y = ["a"] * 10 + ["b"] * 4 + ["c"] + ["d"] * 5
    with pytest.warns(UserWarning, match=r"fewer than 5 rows.*'b' \(4 rows\), 'c' \(1 row\)\.") as told:
        response_from(np.array(y), "classification", who="who")
    assert "'a'" not in str(told[0].message)
    assert "'d'" not in str(told[0].message)
    with pytest.warns(UserWarning, match=r"'3' \(2 rows\)"):
        response_from(np.repeat([1, 2, 3], [10, 10, 2]), "ordered")


def test_extreme_values_are_moved_with_a_warning():
    y = RNG(0).standard_normal(200)
    expected = Measurement.encode(y, "who").y
    y[7], y[9] = 1e300, -1e308
    with pytest.warns(UserWarning, match="who: 2 of 200 values of y lie beyond 10 robust standard deviations") as told:
        found = Measurement.encode(y, "who")
    assert "take its logarithm" in str(told[0].message)
    with pytest.warns(UserWarning, match=r"such as 48,090 \(median 1,562\); they are moved"):
        Measurement.encode(np.append(1558 + RNG(0).integers(-50, 51, 400) // 2 * 2.0, [1558, 48090]), "who")
    others = np.delete(np.arange(200), [7, 9])
    assert np.corrcoef(found.y[others], expected[others])[0, 1] > 1 - 1e-12
    assert 5 < found.y[7] < 20
    skewed = RNG(0).standard_normal(1000) ** 2
    assert np.ptp(Measurement.encode(skewed, "who").y) == pytest.approx(np.ptp(skewed) / skewed.std())
    mostly_zero = np.where(
        np.arange(200) % 10 == 0, np.abs(y), 0.0
    )  # of which few are not zero, and none far from the others
    assert Measurement.encode(mostly_zero, "who").y.max() < 10
    with pytest.warns(UserWarning, match="1 of 200"):
        Measurement.encode(np.where(np.arange(200) == 10, 1e6, mostly_zero), "who")


def test_a_value_that_stands_apart_is_moved():
    y = RNG(0).standard_normal(150)
    y[3] = 20.0
    with pytest.warns(UserWarning, match="1 of 150 values of y"):
        found = Measurement.encode(y, "who")
    assert found.y[3] < 10
    y[:10] = np.linspace(11.0, 20.0, 10)  # a tail: more than one in 200 rows, each with another near it
    assert np.ptp(Measurement.encode(y, "who").y) == pytest.approx(np.ptp(y) / y.std())


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e200, 1e307])
def test_no_scale_is_constant_or_too_large(scale):
    y = RNG(0).standard_normal(50)
    np.testing.assert_allclose(Measurement.encode(y * scale, "who").y, Measurement.encode(y, "who").y, atol=2e-3)
    assert len(np.unique(Measurement.encode(y * scale, "who").y)) > 40


@pytest.mark.parametrize("base", [2**60, -(2**62), 2**63])
def test_whole_numbers_beyond_doubles_keep_their_differences(base):
    steps = RNG(0).integers(0, 100, 50)
    values = np.array([base + int(step) for step in steps])
    found = response_from(values)
    np.testing.assert_allclose(found.y, Measurement.encode(steps, "who").y, atol=1e-12)
    assert found.scale == pytest.approx(steps.std())


def survival(**changed):
    columns = {"time": TIMES, "event": EVENTS * 1.0, **changed}
    return np.column_stack([columns["time"], columns["event"]])


def first(column, value):
    return np.where(np.arange(20) == 0, value, column)


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        (
            [1.0, 2.0],
            "rank",
            "who: task must be one of auto, regression, classification, counts, ordered, survival, got 'rank'",
        ),
        ([1.0, np.nan], "auto", "who: y must be finite, got NaN or infinity"),
        ([1.0, np.inf], "regression", "who: y must be finite"),
        ([1.0, np.inf], "classification", "who: y must be finite"),
        (["a", "b"], "regression", "who: regression needs a numeric y, got values such as .*'a'"),
        (["1", "inf"], "regression", "who: y must be finite"),
        ([2.0, 2.0], "auto", r"who: y is a constant \(.*2.0.* in every row\); there is nothing to explain"),
        (["a", "a"], "auto", r"who: y is one class \(.*'a'.* in every row\)"),
        ([1.5, 2.5, 3.5, 4.5], "classification", "who: y has 4 classes in 4 rows .* measurements or identifiers"),
        (list("abcdefgh"), "auto", "who: y has 8 classes in 8 rows"),
        ([1.0, 2.0], "count", "Did you mean 'counts'"),
        ([1, -2, 3], "counts", "who: counts must not be negative, got -2 in 1 of 3 rows"),
        ([1, 2.5, 3], "counts", "who: counts must be whole numbers, got 2.5 and other fractions in 1 of 3 rows"),
        ([3, 3, 3], "counts", r"who: y is a constant \(3 in every row\)"),
        (["a", "b"], "counts", "who: counts needs a numeric y"),
        ([1, 2**60], "counts", "who: counts must be below 2"),
        (survival(), "counts", "who: counts must be one column of whole numbers, got time, event"),
        (survival(), "regression", "who: regression needs one column, got time and event"),
        (survival(), "classification", "who: classification needs one column, got time and event"),
        (["low", "high"] * 5, "ordered", "who: the order of classes such as .*'low'.* is not known"),
        ([1.0, 2.0], "survival", "who: survival needs a time and an event for every row"),
        (np.zeros((4, 3)), "auto", "who: y must be one column, or two for times to an event .*, got 3 columns"),
        (
            survival(time=first(TIMES, np.nan)),
            "survival",
            "who: times must be finite, got NaN or infinity in 1 of 20 rows",
        ),
        (survival(time=first(TIMES, 0.0)), "survival", "who: times must be positive, got 0 .* in 1 of 20 rows"),
        (
            survival(event=EVENTS + 1.0),
            "survival",
            r"who: events must be 1 \(seen\) or 0 .*, got 1, 2\. Say which value",
        ),
        (
            survival(event=first(EVENTS, np.nan)),
            "survival",
            "who: events must be finite, got NaN or infinity in 1 of 20",
        ),
        (survival(event=0.0 * TIMES), "survival", "who: at least 5 events are needed, got 0 in 20 rows"),
        (survival(event=TIMES < 5), "auto", "who: at least 5 events are needed, got 4 in 20 rows"),
        (survival(time=np.full(20, 3.0)), "survival", r"who: y is a constant \(time 3 in every row\)"),
    ],
)
def test_refusals(values, task, message):
    with pytest.raises(Grip2Error, match=message):
        response_from(np.array(values), task, who="who")


def test_plain_values():
    with pytest.raises(Grip2Error, match="who: Input y contains NaN in 1 of 3 rows"):
        plain_values(pd.Series(["a", None, "b"]), "who")
    with pytest.raises(Grip2Error, match="who: Input y contains NaN in 1 of 2 rows"):
        plain_values([1.0, np.nan], "who")
    with pytest.raises(Grip2Error, match="who: y holds dates"):
        plain_values(pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), "who")
    numbers = plain_values(np.array([1, 2.5], dtype=object), "who")
    assert numbers.dtype == np.float64
    assert plain_values(["a", "b"], "who").tolist() == ["a", "b"]


def test_numbers_and_texts_in_one_response_are_refused():
    with pytest.raises(Grip2Error, match="who: y must hold numbers or texts, not both, got int, str"):
        plain_values(np.array(["a", 1, "b"], dtype=object), "who")
