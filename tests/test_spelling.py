"""Which name was meant, against a plain definition of the distance."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from grip2.errors import did_you_mean
from grip2.spelling import edit_distance, nearest_name

COLUMNS = ("age", "height", "weight", "income", "Blood Pressure", "wage", "died", "patient", "x1", "x2")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Wages", "wage"),  # one letter too many, not 'age' with two
        ("WAGE", "wage"),
        (" wage ", "wage"),
        ("wag", "wage"),
        ("hieght", "height"),  # neighbours swapped
        ("incme", "income"),
        ("blood_pressure", "Blood Pressure"),
        ("blood", "Blood Pressure"),  # the beginning
        ("Patients", "patient"),
        ("x3", "x1"),
        ("salary", None),
        ("q", None),
        ("", None),
    ],
)
def test_the_nearest_name(typed, meant):
    assert nearest_name(typed, COLUMNS) == meant


def test_names_without_letters_are_compared_as_they_are():
    assert nearest_name("??", ["?!", "a"]) == "?!"
    assert nearest_name("日本", ["日木", "x"]) == "日木"


def test_the_sentence():
    assert did_you_mean("Wages", COLUMNS) == " Did you mean 'wage'?"
    assert did_you_mean("salary", COLUMNS) == ""


def naive_distance(one: str, other: str) -> int:
    """The recursive definition of the distance with swaps of neighbours."""

    @cache
    def of(i: int, j: int) -> int:
        if min(i, j) == 0:
            return max(i, j)
        found = min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (one[i - 1] != other[j - 1]))
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            found = min(found, of(i - 2, j - 2) + 1)
        return found

    return of(len(one), len(other))


def test_the_distance_agrees_with_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(300):
        one, other = ("".join(rng.choice(list("abc"), rng.integers(0, 8))) for _ in range(2))
        assert edit_distance(one, other) == naive_distance(one, other) == edit_distance(other, one)
