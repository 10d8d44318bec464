"""Groups as units: power with block-diagonal S by MVR and maxent beside the equicorrelated choice.

    python benchmarks/group_power.py --data-sets 8 --jobs 2     # about ten minutes; goes on where it was stopped

n = 1,000 rows, p = 300 columns in consecutive groups of 10, 12 of the 30 groups true, each through some of its columns with
effects of random sign; noise of variance 1. ``ar1``: AR(1) with correlation 0.8 of neighbours; ``ar1-0.9``: with 0.9;
``ar1-0.9-wide``: the same with p = 1,000, so 12 of 100 groups.
``blocks``: correlation 0.9 inside groups and 0.5 between them. Exact Gaussian knockoffs, units scored by the norm of lasso
coefficients (lcd), fdr 0.1. Writes ``results/groups/trials.csv`` and ``README.md``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import toeplitz

import resumable

RESULTS = Path(__file__).parents[1] / "results" / "groups"
ROWS, COLUMNS, SIZE, TRUE, FDR = 1000, 300, 10, 12, 0.1
# Design, columns that act in a true group, size of an effect, copies.
SETTINGS = [
    ("ar1", 3, 0.1, 1),
    ("ar1", 3, 0.1, 5),
    ("ar1", 1, 0.15, 1),
    ("ar1", 1, 0.15, 5),
    ("ar1-0.9", 1, 0.2, 1),
    ("ar1-0.9", 1, 0.2, 5),
    ("blocks", 1, 0.2, 1),
    ("blocks", 3, 0.12, 1),
    ("ar1-0.9-wide", 1, 0.2, 1),
    ("ar1-0.9-wide", 1, 0.2, 3),
    ("ar1-0.9-wide", 1, 0.2, 5),
]
NEIGHBOURS = {"ar1": 0.8, "ar1-0.9": 0.9, "ar1-0.9-wide": 0.9}
WIDE, WIDE_COLUMNS = "ar1-0.9-wide", 1000
SOLVERS = ("equi", "mvr", "maxent")


def covariance(design: str) -> np.ndarray:
    if design in NEIGHBOURS:
        return np.asarray(toeplitz(NEIGHBOURS[design] ** np.arange(WIDE_COLUMNS if design == WIDE else COLUMNS)))
    group = np.arange(COLUMNS) // SIZE
    inside = np.where(group[:, None] == group, 0.9, 0.5)
    np.fill_diagonal(inside, 1.0)
    return inside


class Made(NamedTuple):
    """A data set with known truth."""

    X: np.ndarray
    y: np.ndarray
    true: set[int]  # numbers of the groups
    Sigma: np.ndarray
    groups: list[str]  # of the columns


def data_set(design: str, active: int, effect: float, number: int) -> Made:
    rng = np.random.default_rng(number)
    Sigma = covariance(design)
    p = len(Sigma)
    X = rng.standard_normal((ROWS, p)) @ np.linalg.cholesky(Sigma).T
    true = rng.choice(p // SIZE, TRUE, replace=False)
    y = rng.standard_normal(ROWS)
    for unit in true:
        columns = unit * SIZE + rng.choice(SIZE, active, replace=False)
        y += X[:, columns] @ (effect * rng.choice([-1.0, 1.0], active))
    return Made(X, y, set(true.tolist()), Sigma, [f"g{j // SIZE}" for j in range(p)])


def judged(made: Made, *, statistic: Any, s: str, copies: int, number: int) -> dict[str, Any]:
    """Select groups with exact knockoffs, and compare with the truth."""
    from grip2 import KnockoffSelector
    from grip2.knockoffs import GaussianKnockoffs

    sampler = GaussianKnockoffs(np.zeros(len(made.Sigma)), made.Sigma, s=s)
    began = time.perf_counter()
    selector = KnockoffSelector(statistic, sampler, fdr=FDR, copies=copies, groups=made.groups, random_state=number)
    result = selector.fit(made.X, made.y).result_
    found = set(np.flatnonzero(result.selected_mask).tolist())
    return {
        "power": len(found & made.true) / len(made.true),
        "fdp": len(found - made.true) / max(1, len(found)),
        "own correlation": result.knockoff_quality.mean_correlation,
        "seconds": time.perf_counter() - began,
    }


def one(design: str, active: int, effect: float, copies: int, s: str, number: int) -> dict[str, Any]:
    return judged(data_set(design, active, effect, number), statistic="lcd", s=s, copies=copies, number=number)


def summary(trials: pd.DataFrame) -> str:
    lines = [
        "| design | acting columns | effect | copies | S | power | FDP (se) | mean correlation with own knockoff | seconds | "
        "data sets |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for key, rows in trials.groupby(["design", "active", "effect", "copies", "S"], sort=False):
        error = rows["fdp"].std(ddof=1) / np.sqrt(len(rows))
        lines.append(
            f"| {' | '.join(str(value) for value in key)} | {rows['power'].mean():.2f} | "
            f"{rows['fdp'].mean():.3f} ({error:.3f}) | {rows['own correlation'].mean():.2f} | "
            f"{rows['seconds'].mean():.1f} | {len(rows)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [(*setting, s, number) for setting in SETTINGS for s in SOLVERS for number in range(given.data_sets)]
    trials = resumable.run(
        RESULTS / "trials.csv", ("design", "active", "effect", "copies", "S", "data set"), keys, one, jobs=given.jobs
    )
    text = summary(trials)
    (RESULTS / "README.md").write_text(
        f"# Groups as units\n\n`python benchmarks/group_power.py --data-sets {given.data_sets}`: {ROWS} rows, "
        f"{COLUMNS} columns ({WIDE}: {WIDE_COLUMNS}) in groups of {SIZE}, {TRUE} groups true, "
        f"fdr {FDR:g}, exact knockoffs, lcd.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
