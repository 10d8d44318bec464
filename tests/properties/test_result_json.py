"""Results to JSON and back: any names and numbers survive, and a changed file is refused in words."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.errors import Grip2Error
from grip2.result import SelectionResult
from tests.test_result import make_result

FEW = settings(max_examples=60, deadline=None, derandomize=True)
NUMBERS = st.floats(-1e300, 1e300, allow_nan=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@st.composite
def results(draw) -> SelectionResult:
    W = draw(st.lists(NUMBERS, min_size=1, max_size=12))
    names = draw(st.lists(NAMES, min_size=len(W), max_size=len(W), unique=True))
    changes = {"feature_names": tuple(names)}
    if draw(st.booleans()):
        changes |= {"e_values": np.abs(W), "frequency": np.linspace(0, 1, len(W))}
    if draw(st.booleans()):
        changes["groups"] = {names[0]: draw(st.lists(NAMES, min_size=1, max_size=3))}
    return make_result(W, fdr=draw(st.sampled_from([0.05, 0.1, 0.5])), copies=draw(st.integers(1, 5)), **changes)


@given(results())
@FEW
def test_round_trip(result):
    again = SelectionResult.from_json(result.to_json())
    assert again == result
    assert again.feature_names == result.feature_names
    np.testing.assert_array_equal(again.W, result.W)
    assert again.to_json() == result.to_json()
    assert again.selected == result.selected
    result.to_json().encode("utf-8")


TEXT = make_result([3.0, 2.0, -1.0, 2.5]).to_json()
CONTENT = json.loads(TEXT)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def read_or_refused(text: str) -> SelectionResult | str:
    """The result, or the words by which the text is refused."""
    try:
        return SelectionResult.from_json(text)
    except Grip2Error as error:
        return str(error)


def check(text: str) -> None:
    """What is read can be written and read again; what is refused is refused by one sentence of the class."""
    found = read_or_refused(text)
    if isinstance(found, str):
        assert found.startswith("SelectionResult: expected")
    else:
        assert SelectionResult.from_json(found.to_json()).to_json() == found.to_json()


@given(st.sampled_from(sorted(CONTENT)), JSON)
@FEW
def test_a_file_with_another_value_is_read_or_refused(name, value):
    check(json.dumps({**CONTENT, name: value}))


@given(st.sampled_from(sorted(CONTENT)))
@FEW
def test_a_file_that_lacks_something_is_read_or_refused(name):
    check(json.dumps({key: value for key, value in CONTENT.items() if key != name}))


@given(st.integers(0, len(TEXT)), st.text(max_size=3))
@FEW
def test_a_file_that_was_cut_or_edited_is_read_or_refused(position, inserted):
    for text in (TEXT[:position], TEXT[:position] + inserted + TEXT[position + len(inserted) :]):
        check(text)
