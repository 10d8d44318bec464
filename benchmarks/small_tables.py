"""Tables of a few hundred rows: power of the Bayesian model of effects beside the lasso.

    python benchmarks/small_tables.py --statistics lcd effects --jobs 2             # goes on where it was stopped
    python benchmarks/small_tables.py --statistics effects --label before           # in a checkout of another version
    python benchmarks/small_tables.py --report                                      # only writes README.md

Normal columns with AR(1) correlation, exact Gaussian knockoffs (known covariance, s by MVR), fdr 0.1; effects of equal size with
random signs, noise of variance 1. Cells marked in the README are those on which the prior of basis functions was chosen; the
others were run once, afterwards. Data, knockoffs and the statistic's random numbers depend on the cell and the number of the
data set alone: rows of two labels are paired.

Writes ``trials.csv`` and ``README.md`` to ``results/small-tables`` (--out).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import simulated
from simulated import Simulated

RESULTS = Path(__file__).parents[1] / "results" / "small-tables"
FDR = 0.1

Shape = Callable[[np.ndarray], np.ndarray]


def half_and_half(first: Shape, second: Shape) -> Shape:
    """One shape for the first half of the true columns, another for the others."""
    return lambda x: np.hstack([first(x[:, : x.shape[1] // 2]), second(x[:, x.shape[1] // 2 :])])


def line(x: np.ndarray) -> np.ndarray:
    return x


def with_next(x: np.ndarray) -> np.ndarray:
    """Lines of the first half, products of each of them with one of the other half."""
    half = x.shape[1] // 2
    return np.hstack([x[:, :half], x[:, :half] * x[:, half:]])


class Cell(NamedTuple):
    signal: str
    shape: Shape
    n: int
    p: int
    n_true: int
    size: float  # of effects; or the share of the variance of y that they explain, over that of noise (snr)
    rho: float = 0.3
    copies: int = 5
    response: str = "measurement"  # or labels, times
    snr: bool = False
    chosen_on: bool = False


CELLS = {
    "lines-300x60": Cell("lines", line, 300, 60, 10, 0.22, chosen_on=True),
    "lines-300x20": Cell("lines", line, 300, 20, 5, 0.22, chosen_on=True),
    "lines-300x300": Cell("lines", line, 300, 300, 30, 0.3, 0.5, copies=1, chosen_on=True),
    "mixed-400x40": Cell("lines and |x|", half_and_half(line, np.abs), 400, 40, 8, 0.5, snr=True, chosen_on=True),
    "signs-400x40": Cell("sign(x - 0.5)", lambda x: np.sign(x - 0.5), 400, 40, 8, 0.5, snr=True, chosen_on=True),
    "tanh-400x40": Cell("tanh(3x)", lambda x: np.tanh(3 * x), 400, 40, 8, 0.35, snr=True, chosen_on=True),
    "labels-300x60": Cell("lines", line, 300, 60, 10, 0.6, response="labels", chosen_on=True),
    "times-400x20": Cell("lines", line, 400, 20, 5, 0.3, response="times", chosen_on=True),
    "products-600x40": Cell("lines and products", with_next, 600, 40, 8, 0.5, snr=True, chosen_on=True),
    "lines-150x30": Cell("lines", line, 150, 30, 5, 0.35),
    "lines-800x100": Cell("lines", line, 800, 100, 8, 0.16, 0.5),
    "waves-500x50": Cell("sin(2x)", lambda x: np.sin(2 * x), 500, 50, 8, 0.5, snr=True),
    "cubes-400x40": Cell("x^3", lambda x: x**3, 400, 40, 8, 0.5, snr=True),
    "bends-300x30": Cell("max(x, 0)", lambda x: np.maximum(x, 0), 300, 30, 6, 0.5, snr=True),
    "squares-400x60": Cell("lines and x^2", half_and_half(line, np.square), 400, 60, 8, 0.6, 0.5, snr=True),
    "labels-500x50": Cell("|x|", np.abs, 500, 50, 6, 1.0, response="labels"),
    "times-500x40": Cell("lines and |x|", half_and_half(line, np.abs), 500, 40, 6, 0.5, response="times"),
}


def data(cell: Cell, name: str, data_set: int) -> Simulated:
    from grip2.responses import times_and_events

    rng = simulated.generator(name, data_set, 0)
    covariance = cell.rho ** np.abs(np.subtract.outer(np.arange(cell.p), np.arange(cell.p)))
    X = rng.standard_normal((cell.n, cell.p)) @ np.linalg.cholesky(covariance).T
    support = np.sort(rng.choice(cell.p, cell.n_true, replace=False))
    effects = cell.shape(X[:, rng.permutation(support)])
    signal = effects @ rng.choice([-1.0, 1.0], effects.shape[1])
    signal -= signal.mean()
    signal *= np.sqrt(cell.size) / signal.std() if cell.snr else cell.size
    if cell.response == "measurement":
        return Simulated(X, signal + rng.standard_normal(cell.n), support, covariance)
    if cell.response == "labels":
        labels = (rng.random(cell.n) < 1 / (1 + np.exp(-signal))).astype(int)
        return Simulated(X, labels, support, covariance, "classification")
    events, limits = rng.exponential(np.exp(-signal)), rng.exponential(size=cell.n)
    limits *= np.median(events / limits)  # half of the rows are censored
    times = times_and_events(np.minimum(events, limits), events <= limits)
    return Simulated(X, times, support, covariance, "survival")


def one(name: str, data_set: int, statistic: str, label: str) -> dict[str, Any]:
    cell = CELLS[name]
    made = data(cell, name, data_set)
    return simulated.scored(statistic, made, fdr=FDR, cell=name, data_set=data_set, copies=cell.copies)


def table(trials: pd.DataFrame, chosen_on: bool) -> str:
    lines = [
        "| signal | response | n, p, true, rho | copies | statistic | version | data sets | power | FDP | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, cell in CELLS.items():
        mine = trials[trials["cell"] == name] if cell.chosen_on == chosen_on else trials[:0]
        for (statistic, label), rows in mine.groupby(["statistic", "label"], sort=False):
            above = " (above)" if simulated.above_level(rows["fdp"], FDR) else ""
            parts = (
                cell.signal,
                cell.response,
                f"{cell.n}, {cell.p}, {cell.n_true}, {cell.rho:g}",
                f"{cell.copies}",
                statistic,
                label,
                f"{len(rows)}",
                simulated.mean_and_error(rows["power"]),
                simulated.mean_and_error(rows["fdp"]) + above,
                f"{simulated.typical_seconds(rows):.1f}",
            )
            lines.append(f"| {' | '.join(part.replace('|', chr(92) + '|') for part in parts)} |")
    return "\n".join(lines)


def means(trials: pd.DataFrame) -> str:
    """Mean power over cells."""
    lines = ["| cells | statistic | version | mean power | mean FDP |", "|---|---|---|---|---|"]
    chosen_on = trials["cell"].map(lambda name: CELLS[name].chosen_on)
    for about, which in (("on which the prior was chosen", chosen_on), ("others", ~chosen_on)):
        for (statistic, label), rows in trials[which].groupby(["statistic", "label"], sort=False):
            of_cells = rows.groupby("cell")[["power", "fdp"]].mean().mean()
            lines.append(f"| {about} | {statistic} | {label} | {of_cells['power']:.3f} | {of_cells['fdp']:.3f} |")
    return "\n".join(lines)


def report(trials: pd.DataFrame, label: str) -> str:
    return f"""# Small tables

`python benchmarks/small_tables.py`: exact Gaussian knockoffs, fdr {FDR:g}; mean ± standard error over data sets; seconds a fit,
compilation left out. "(above)": the mean FDP is more than two standard errors above the level. Version "before": one learned
share for every set of basis functions (Dirichlet) in place of one learned chance for every function.

{means(trials)}

## Cells on which the prior of basis functions was chosen

{table(trials, True)}

## Others

{table(trials, False)}
"""


if __name__ == "__main__":
    simulated.study(__doc__, list(CELLS), one, report, results=RESULTS, statistics=("lcd", "effects"))
