"""Columns of two values of which few rows have one: they cannot be selected, and can spoil the knockoffs of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw

from grip2.tables.records import Role, Variable
from grip2.tables.roles import quoted

FEWEST = 5  # rows that must have the rarer value


def rare_values(table: Any, variables: Sequence[Variable]) -> list[str]:
    """A notice for every 0/1 column of a data frame in which fewer than five rows have the rarer value."""
    frame = nw.from_native(table, eager_only=True)
    notices = []
    for variable in variables:
        if variable.role != Role.BINARY:
            continue
        counts = frame[variable.name].drop_nulls().value_counts(name="rows").sort("rows")
        if len(counts) != 2 or counts["rows"][0] >= FEWEST:
            continue
        value, rows = counts[variable.name][0], counts["rows"][0]
        shown = int(value) if isinstance(value, float) and value.is_integer() else value
        notices.append(
            f"{variable.name}: only {rows} of {len(frame)} rows {'has' if rows == 1 else 'have'} {shown}; "
            f"it cannot be selected and can spoil the knockoffs of others: leave it out with --drop {quoted(variable.name)}"
        )
    return notices
