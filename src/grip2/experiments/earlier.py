"""Fills in rows of a report from the tables of an earlier report, for which the store has no finished trials.

Stores of trials are large and stay where they were computed; the tables of a report are kept with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error
from grip2.experiments.plan import Cell, Plan
from grip2.experiments.sources import SOURCES
from grip2.experiments.summary import varying

Key = tuple[str, ...]

# Columns that identify a method; parameters that vary in the plan identify the design.
_METHOD = ("method", "ensemble")


@dataclass(frozen=True)
class CombinedTables:
    """Summary and single trials of a store and of an earlier report together, and a note for the reader."""

    summary: pd.DataFrame
    trials: pd.DataFrame
    note: str


def with_earlier_tables(plan: Plan, summary: pd.DataFrame, trials: pd.DataFrame, folder: Path) -> CombinedTables:
    """The tables of a store with those rows of an earlier report (cell, method, ensemble) that the store lacks.

    Rows are in the plan's order. The earlier report need not have ``tables/trials.csv``; comparisons of single trials are
    then made for the methods of the store alone.
    """
    path = Path(folder) / "tables" / "summary.csv"
    if not path.is_file():
        raise Grip2Error(f"--earlier: {path} is missing; give the folder of a report of {plan.name}.")
    parameters = varying(plan)
    order = {_key_of_cell(cell, parameters): number for number, cell in enumerate(plan.cells())}
    own = {_key(row, parameters) for row in summary.to_dict("records")}
    wanted = set(order) - own
    both, taken = _combined(plan, summary, _read(path), parameters, wanted, order)
    single = path.with_name("trials.csv")
    if single.is_file():
        trials, _ = _combined(plan, trials, _read(single), parameters, wanted, order)
    missing = sorted({name for *_, name, _ in wanted - taken})
    note = (
        f"{len(taken)} of the {len(own) + len(taken)} combinations of data, method and ensemble size are taken from the "
        f"earlier report {Path(folder).name}, {len(own)} from the trials of this run."
    )
    if taken and not single.is_file():
        note += " Single trials are missing there, so that comparisons trial by trial leave these out."
    if missing:
        note += f" In neither, for some or all data: {', '.join(missing)}."
    return CombinedTables(both, trials, note)


def _combined(
    plan: Plan,
    ours: pd.DataFrame,
    theirs: pd.DataFrame,
    parameters: Sequence[str],
    wanted: set[Key],
    order: dict[Key, int],
) -> tuple[pd.DataFrame, set[Key]]:
    """Both tables in the plan's order, and the keys that came from the second."""
    theirs = _of_the_plan(plan, theirs, parameters)
    keys = [_key(row, parameters) for row in theirs.to_dict("records")]
    chosen = [key in wanted for key in keys]
    taken = {key for key in keys if key in wanted}
    both = pd.concat([table for table in (ours, theirs[chosen]) if not table.empty] or [ours], ignore_index=True)
    places = [order[_key(row, parameters)] for row in both.to_dict("records")]
    return both.iloc[np.argsort(np.array(places, dtype=int), kind="stable")].reset_index(drop=True), taken


def _of_the_plan(plan: Plan, table: pd.DataFrame, parameters: Sequence[str]) -> pd.DataFrame:
    """Rows at the plan's levels; if the earlier plan varied more parameters, only those with the values of this plan.

    Options of a source that were added after the report was written are filled in with their defaults.
    """
    options = SOURCES[plan.designs[0].source].options
    added = {name: options[name].default for name in parameters if name in options and options[name].added_later}
    table = table.assign(**{name: value for name, value in added.items() if name not in table})
    absent = [name for name in (*parameters, *_METHOD, "target_fdr") if name not in table]
    if absent:
        raise Grip2Error(
            f"--earlier: its tables have no column {absent[0]!r}, which tells the data of {plan.name} apart; "
            "it is the report of another plan."
        )
    table = table[table["target_fdr"].isin(plan.fdr)]
    design = plan.designs[0].parameters
    for name in [name for name in table if name in design and name not in parameters]:
        table = table[[_plain(value) == _plain(design[name]) for value in table[name]]]
    extra = [name for name in table if name in design and name not in parameters and name not in ("n", "p")]
    return table.drop(columns=extra)


def _key_of_cell(cell: Cell, parameters: Sequence[str]) -> Key:
    row = {**cell.design.parameters, "method": cell.method.name, "ensemble": cell.method.ensemble}
    return _key(row, parameters)


def _key(row: dict[Any, Any], parameters: Sequence[str]) -> Key:
    return tuple(_plain(row.get(name)) for name in (*parameters, *_METHOD))


def _plain(value: Any) -> str:
    """A value in the form in which it compares after it was written to a CSV file and read again."""
    return value if isinstance(value, str) else "" if pd.isna(value) else f"{float(value):g}"


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise Grip2Error(f"--earlier: {path} cannot be read ({error}).") from None
