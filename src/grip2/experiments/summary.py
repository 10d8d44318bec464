"""Summarises stored trials: power, realised FDR and stability of every method, at every target level.

Features are judged by unit: each for itself, or for example by the position of a mutation (appendix C.2). Selections are
computed from the stored W, so that a report may use target levels at which no trial was run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error
from grip2.experiments.store import DesignRow, Store, TrialRow
from grip2.filter import knockoff_threshold
from grip2.metrics import false_discovery_proportion, jaccard_stability, power

if TYPE_CHECKING:
    from grip2.experiments.plan import Cell, Design, Plan

_METHOD = ("method", "ensemble")
_OF_A_TRIAL = (*_METHOD, "trial", "target_fdr", "selected", "power", "fdp", "seconds", "knockoff_seconds")
_OF_TRIALS = (
    *("n", "p", *_METHOD, "target_fdr", "trials", "power", "power_se", "fdr", "fdr_se", "stability"),
    *("selected", "seconds"),
)


def trial_table(plan: Plan, store: Store) -> pd.DataFrame:
    """One row per design, method, ensemble size, trial and target level."""
    records = []
    for cell, rows, design in _cells(plan, store):
        for row in rows:
            for level in plan.fdr:
                chosen = selected_units(row, design, level)
                records.append(
                    {
                        **_shown(plan, cell.design),
                        "method": cell.method.name,
                        "ensemble": cell.method.ensemble,
                        "trial": row.trial,
                        "target_fdr": level,
                        "selected": len(chosen),
                        "power": power(chosen, set(design.truth)),
                        "fdp": false_discovery_proportion(chosen, set(design.truth)),
                        "seconds": row.seconds,
                        "knockoff_seconds": row.knockoff_seconds,
                    }
                )
    return _frame(plan, records, _OF_A_TRIAL)


def summary_table(plan: Plan, store: Store) -> pd.DataFrame:
    """One row per design, method, ensemble size and target level: means over trials with their standard errors.

    Stability is the mean Jaccard index over pairs of trials; it needs two trials. Two empty selections agree completely, so it
    means little without power.
    """
    records = []
    for cell, rows, design in _cells(plan, store):
        for level in plan.fdr:
            sets = [selected_units(row, design, level) for row in rows]
            powers = [power(chosen, set(design.truth)) for chosen in sets]
            fdps = [false_discovery_proportion(chosen, set(design.truth)) for chosen in sets]
            records.append(
                {
                    "n": design.n,
                    "p": design.p,
                    **cell.design.sizes,
                    **_shown(plan, cell.design),
                    "method": cell.method.name,
                    "ensemble": cell.method.ensemble,
                    "target_fdr": level,
                    "trials": len(rows),
                    "power": float(np.mean(powers)),
                    "power_se": standard_error(powers),
                    "fdr": float(np.mean(fdps)),
                    "fdr_se": standard_error(fdps),
                    "stability": jaccard_stability(sets) if len(sets) > 1 else float("nan"),
                    "selected": float(np.mean([len(chosen) for chosen in sets])),
                    "seconds": float(np.mean([row.seconds for row in rows])),
                }
            )
    return _frame(plan, records, _OF_TRIALS)


def average_over(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means over the values of a column, such as the drugs (the paper's average table of section 4.3).

    ``power_se`` and ``fdr_se`` are means of the standard errors, which is what the paper prints; ``*_se_of_mean`` are those
    of the average itself, the designs being independent. Numbers of copies, and groups or columns, are never averaged over.
    """
    keys = [*_METHOD, "target_fdr", *(name for name in ("copies", "grouped") if name in table)]
    grouped = table.groupby(keys, sort=False)
    columns = ["power", "power_se", "fdr", "fdr_se", "stability", "selected", "seconds"]
    average = grouped[columns].mean().reset_index()
    for name in ("power", "fdr"):
        squares = grouped[f"{name}_se"].agg(lambda errors: float(np.sqrt(np.sum(np.square(errors))) / len(errors)))
        average[f"{name}_se_of_mean"] = squares.to_numpy()
    average["trials"] = grouped["trials"].min().to_numpy()
    average[f"n_{column}"] = grouped[column].nunique().to_numpy()
    return average


def selected_units(row: TrialRow, design: DesignRow, level: float) -> set[int]:
    """Units with at least one selected feature."""
    if row.W is None:
        raise Grip2Error("a failed trial has no selection.")
    units = np.asarray(design.units)
    return set(units[row.W >= knockoff_threshold(row.W, level, copies=design.parameters.get("copies", 1))].tolist())


def standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def varying(plan: Plan) -> list[str]:
    """Design parameters that take several values in the plan."""
    names = dict.fromkeys(name for design in plan.designs for name in design.parameters)
    return [name for name in names if len({str(design.parameters.get(name)) for design in plan.designs}) > 1]


def _frame(plan: Plan, records: list[dict[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """The records as a table, which has its columns even if there is no record yet."""
    return pd.DataFrame(records, columns=list(dict.fromkeys([*varying(plan), *columns])))


def _shown(plan: Plan, design: Design) -> dict[str, object]:
    return {name: design.parameters.get(name) for name in varying(plan)}


def _cells(plan: Plan, store: Store) -> Iterator[tuple[Cell, list[TrialRow], DesignRow]]:
    """Cells with finished trials."""
    for cell in plan.cells():
        design = store.design(cell.design.key)
        rows = store.rows(cell.configuration, cell.method.name, cell.method.ensemble)
        done = [row for row in rows if row.status == "done" and row.trial < cell.trials]
        if done and design is not None:
            yield cell, done, design
