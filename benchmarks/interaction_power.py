"""Power on features that act together or along steep curves, and on signals where nothing may be lost.

    python benchmarks/interaction_power.py --jobs 2                               # goes on where it was stopped
    python benchmarks/interaction_power.py --cells gates switches --statistics effects --data-sets 5
    python benchmarks/interaction_power.py --cells linear --statistics lcd effects effects+interactions=False --data-sets 60
    python benchmarks/interaction_power.py --label before                         # in a checkout of another version
    python benchmarks/interaction_power.py --report                               # only writes README.md

20 of 200 features with AR(1) correlation 0.5 and SNR 0.5 unless the cell says otherwise; exact Gaussian knockoffs (known
covariance, s by MVR), one copy, fdr 0.1. Data, knockoffs and the statistic's random numbers depend on the cell and the number of
the data set alone: rows of two labels are paired. Rows of other labels stay in the file and are shown beside.

Writes ``trials.csv`` and ``README.md`` to ``results/interactions`` (--out).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import simulated

RESULTS = Path(__file__).parents[1] / "results" / "interactions"
FDR, SNR = 0.1, 0.5
LOSS = 0.02  # power that a cell without a bar may lose against another version


class Cell(NamedTuple):
    family: str
    n: int
    rho: float = 0.5
    bar: float | None = None  # power to be reached; None: no loss against the version before
    p: int = 200
    n_signals: int = 20


CELLS = {
    "products-1000": Cell("products", 1000, bar=0.80),
    "products-2000": Cell("products", 2000, bar=0.93),
    "products-2000-rho-0.8": Cell("products", 2000, 0.8, bar=0.80),
    "interactions": Cell("interactions", 2000, bar=0.88),
    "gates": Cell("gates", 2000, bar=0.65),
    "switches": Cell("switches", 3000, bar=0.60),
    "cosines": Cell("cosines", 12_000, 0.3, bar=0.97, p=100, n_signals=16),
    "linear": Cell("linear", 1000),
    "abs": Cell("abs", 2000),
    "signs": Cell("signs", 2000),
    "cubic": Cell("cubic", 2000),
}


def one(name: str, data_set: int, statistic: str, label: str) -> dict[str, Any]:
    from grip2.datasets import make_family

    cell = CELLS[name]
    made = make_family(
        cell.family,
        cell.n,
        cell.p,
        cell.rho,
        SNR,
        n_signals=cell.n_signals,
        truth=simulated.generator(name, data_set, 0),
        random_state=simulated.generator(name, data_set, 1),
    )
    data = simulated.Simulated(made.X, made.y, made.support, made.covariance)
    return simulated.scored(statistic, data, fdr=FDR, cell=name, data_set=data_set)


def power_table(trials: pd.DataFrame) -> str:
    lines = [
        "| signal | n, p, true, rho | statistic | version | data sets | power | bar | FDP | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, cell in CELLS.items():
        mine = trials[trials["cell"] == name]
        for (statistic, label), rows in mine.groupby(["statistic", "label"], sort=False):
            bar = "" if cell.bar is None else f"{cell.bar:.2f}"
            reached = cell.bar is not None and rows["power"].mean() >= cell.bar
            above = " (above)" if simulated.above_level(rows["fdp"], FDR) else ""
            parts = (
                cell.family,
                f"{cell.n:,}, {cell.p}, {cell.n_signals}, {cell.rho:g}",
                statistic,
                label,
                f"{len(rows)}",
                simulated.mean_and_error(rows["power"]),
                bar + (", reached" if reached else ""),
                simulated.mean_and_error(rows["fdp"]) + above,
                f"{simulated.typical_seconds(rows):.1f}",
            )
            lines.append(f"| {' | '.join(parts)} |")
    return "\n".join(lines)


def difference_table(trials: pd.DataFrame, label: str) -> str:
    """Power of one version minus that of every other one, on the same data sets."""
    lines = ["| signal, n, rho | statistic | minus | data sets | difference | |", "|---|---|---|---|---|---|"]
    powers = trials.set_index(["cell", "statistic", "label", "data_set"])["power"]
    known = set(powers.index.droplevel("data_set"))
    for name, cell in CELLS.items():
        for statistic, other in [(s, o) for c, s, o in sorted(known) if c == name and o != label]:
            if (name, statistic, label) not in known:
                continue
            change = (powers[name, statistic, label] - powers[name, statistic, other]).dropna()
            if len(change):
                lost = "more than 0.02 lost" if change.mean() < -LOSS else ""
                lines.append(
                    f"| {cell.family}, {cell.n:,}, {cell.rho:g} | {statistic} | {other} | {len(change)} | "
                    f"{simulated.mean_and_error(change)} | {lost} |"
                )
    return "\n".join(lines) if len(lines) > 2 else "No data set was fitted by two versions."


def report(trials: pd.DataFrame, label: str) -> str:
    return f"""# Power on interactions and steep curves

`python benchmarks/interaction_power.py`: exact Gaussian knockoffs, one copy, fdr {FDR:g}, SNR {SNR:g}; mean ± standard error over
data sets; seconds a fit on one thread, compilation left out. "(above)": the mean FDP is more than two standard errors above the
level.

{power_table(trials)}

## Version "{label}" minus others, paired

{difference_table(trials, label)}
"""


if __name__ == "__main__":
    simulated.study(__doc__, list(CELLS), one, report, results=RESULTS)
