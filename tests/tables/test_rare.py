"""Columns of two values with very few of the rarer one are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from grip2.tables.prepare import examine
from grip2.tables.rare import rare_values

N = 60


def columns() -> dict[str, list[object]]:
    def few(count, rare, often):
        return [rare] * count + [often] * (N - count)

    rng = np.random.default_rng(0)
    return {
        "one": few(1, 1.0, 0.0),
        "four": few(4, "yes", "no"),
        "five": few(5, 1, 0),
        "gap": [None, *few(2, 1.0, 0.0)[:-1]],
        "most": few(57, 1, 0),
        "x": rng.standard_normal(N).tolist(),
        "level": rng.choice(["a", "b", "c"], N).tolist(),
    }


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_fewer_than_five_rows_are_told(frame):
    table = frame(columns())
    told = rare_values(table, examine(table).variables)
    assert [line.split(":")[0] for line in told] == ["one", "four", "gap", "most"]
    assert told[0].startswith(
        "one: only 1 of 60 rows has 1; it cannot be selected and can spoil the knockoffs of others: "
    )
    assert told[1].startswith("four: only 4 of 60 rows have yes; ")
    assert told[2].startswith("gap: only 2 of 60 rows have 1; ")
    assert told[3].startswith("most: only 3 of 60 rows have 0; ")
    assert "--drop one" in told[0]
