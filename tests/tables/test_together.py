"""Identifiers that repeat, within which other columns never vary."""

from __future__ import annotations

import numpy as np
import pandas as pd

from grip2.tables.prepare import examine
from grip2.tables.together import rows_together


def courses() -> pd.DataFrame:
    """Five courses of each of 60 professors."""
    rng = np.random.default_rng(0)
    of_professor = pd.DataFrame(
        {
            "prof_id": rng.permutation(np.arange(100, 160)),
            "age": rng.integers(30, 70, 60),
            "rank": rng.choice(["tenured", "teaching"], 60),
            "gender": rng.choice(["f", "m"], 60),
        }
    )
    table = of_professor.loc[np.repeat(np.arange(60), 5)].reset_index(drop=True)
    return table.assign(students=rng.integers(10, 300, 300))


def told(table: pd.DataFrame) -> list[str]:
    return rows_together(table, examine(table).variables)


def test_columns_that_never_vary_within_an_identifier_are_named():
    assert told(courses()) == [
        "columns age, rank, gender never vary within prof_id: rows that belong together are not independent, and the guarantee "
        "does not hold. Use --cluster prof_id."
    ]


def test_of_many_columns_some_are_named():
    table = courses()
    more = {f"of_prof{j}": np.repeat(np.random.default_rng(j).standard_normal(60), 5) for j in range(4)}
    assert told(table.assign(**more))[0].startswith(
        "columns age, rank, gender, of_prof0, of_prof1 and 2 more never vary"
    )


def test_identifiers_of_which_that_is_not_so_are_not_told():
    rng = np.random.default_rng(1)
    table = courses()
    assert told(table.assign(prof_id=np.arange(300) + 7)) == []  # no value repeats
    assert told(table.assign(prof_id=rng.permutation(table["prof_id"]))) == []  # all vary
    assert told(table.assign(a=rng.standard_normal(300), b=rng.standard_normal(300))) == []  # three of six: not most


def test_a_few_repeats_within_which_columns_agree_by_chance_are_not_told():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.integers(0, 2, (100, 4)), columns=list("abcd"))
    table["user_id"] = rng.permutation(np.arange(1000, 1100))
    table.loc[1] = table.loc[0]
    assert told(table) == []
