"""Compares one method with the best other one of every cell, trial by trial: methods of a trial see the same data."""

from __future__ import annotations

import pandas as pd

from grip2.experiments.summary import standard_error

# A cell counts if some method has at least this mean power.
POWER_THAT_COUNTS = 0.2
# A method is as good as the best if its mean power falls short by no more than this plus one standard error.
MARGIN = 0.05


def against_best(trials: pd.DataFrame, ours: str, cell: list[str]) -> pd.DataFrame:
    """One row for each cell that counts: the best other method, the mean difference to it and its standard error.

    ``trials`` has one row per cell, method and trial. Each method is compared with ``ours`` on the trials that both have; the
    best is the one with the largest mean lead. ``short`` is the part of its lead that neither the margin nor the standard
    error covers; 0 where ``ours`` is as good as the best. Cells without ``ours`` are left out.
    """
    found = []
    for key, rows in trials.groupby(cell, sort=False):
        powers = rows.pivot_table(index="trial", columns="method", values="power")
        if ours not in powers or powers.mean().max() < POWER_THAT_COUNTS:
            continue
        differences = {name: (powers[ours] - powers[name]).dropna() for name in powers if name != ours}
        differences = {name: values for name, values in differences.items() if len(values)}
        if not differences:
            continue
        best = min(differences, key=lambda name: differences[name].mean())
        difference = differences[best]
        error = standard_error(difference.tolist())
        gap = float(difference.mean())
        allowed = MARGIN + (error if pd.notna(error) else 0.0)
        found.append(
            {
                **dict(zip(cell, key, strict=True)),
                "trials": len(difference),
                "power": float(powers.loc[difference.index, ours].mean()),
                "best": best,
                "best_power": float(powers.loc[difference.index, best].mean()),
                "difference": gap,
                "error": error,
                "short": max(0.0, round(-gap - allowed, 9)),
            }
        )
    return pd.DataFrame(found)
