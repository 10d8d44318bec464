"""Rows that belong together: an identifier that repeats, and other columns that never vary within its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from grip2.tables.records import Role, Variable
from grip2.tables.roles import quoted

MOST = 0.5  # of the other columns must be constant within the values
BY_CHANCE = 1e-3  # a column counts if it would be constant within them by chance with at most this probability
SHOWN = 5


def rows_together(table: Any, variables: Sequence[Variable]) -> list[str]:
    """A warning for every identifier of a data frame within which most of the other columns never vary."""
    frame = nw.from_native(table, eager_only=True)
    identifiers = {v.name: _codes(frame[v.name].to_list()) for v in variables if v.role == Role.IDENTIFIER}
    repeat = {name: codes for name, codes in identifiers.items() if len(np.unique(codes)) < len(codes)}
    if not repeat:
        return []
    unused = (Role.IDENTIFIER, Role.CONSTANT, Role.DROPPED)
    others = {v.name: _codes(frame[v.name].to_list()) for v in variables if v.role not in unused}
    warnings = []
    for identifier, of_row in repeat.items():
        constant = [name for name, codes in others.items() if _constant_within(codes, of_row)]
        if len(constant) <= MOST * len(others):
            continue
        more = f" and {len(constant) - SHOWN} more" if len(constant) > SHOWN else ""
        warnings.append(
            f"columns {', '.join(constant[:SHOWN])}{more} never vary within {identifier}: rows that belong together are not "
            f"independent, and the guarantee does not hold. Use --cluster {quoted(identifier)}."
        )
    return warnings


def _codes(values: list[Any]) -> np.ndarray:
    return np.asarray(pd.factorize(pd.Series(values, dtype=object), use_na_sentinel=False)[0])


def _constant_within(column: np.ndarray, of_row: np.ndarray) -> bool:
    """Has every value of the identifier one value of the column, and would chance not explain it?"""
    first = np.unique(of_row, return_index=True)[1]
    if not np.array_equal(column, column[first][of_row]):
        return False
    agree = float(np.sum((np.bincount(column) / len(column)) ** 2))
    return bool(agree ** (len(of_row) - len(first)) <= BY_CHANCE)
