"""From a table to numbers: the one preparation of library and command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grip2._validation import check_table, column_names
from grip2.groups import Groups, units_from
from grip2.tables.records import PreparedTable, Role, Variable


def prepare(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    groups: Groups | None = None,
    missing: str = "draw",
    who: str = "prepare",
) -> PreparedTable:
    """The prepared form of a table: a data frame (pandas, polars, pyarrow), or an array with columns called x0, x1, ...

    ``roles`` overrides the role of some columns. ``groups`` names columns that are selected together. ``missing`` says what
    happens to missing values: "draw" keeps them, to be completed by the sampler's model.
    """
    names = column_names(table, who)
    # One layout in memory: sums over it then do not depend on how the caller stored the table.
    X = np.ascontiguousarray(table)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    names = names or tuple(f"x{j}" for j in range(X.shape[1]))
    check_table(X, names, who)
    variables = tuple(Variable(name, Role.NUMBER, "numbers", columns=(j,)) for j, name in enumerate(names))
    return PreparedTable(X, variables, units_from(groups, names, who=who))
