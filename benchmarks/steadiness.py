"""One draw beside ten on tables with a known truth: power, false discoveries, and agreement between seeds.

    python benchmarks/steadiness.py --jobs 2     # about half an hour; goes on where it was stopped

``linear``: n = 2,000, p = 200, AR(1) 0.5, 20 effects of 0.15 with random signs, noise of variance 1. ``demo``: the table of
`grip2 demo` with other seeds. The default selector at fdr 0.1 with estimated copula knockoffs; lcd beside it. Three seeds on
every data set. Writes ``results/steadiness/trials.csv`` and ``README.md``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import resumable
from agreement import mean_jaccard

RESULTS = Path(__file__).parents[1] / "results" / "steadiness"
SEEDS, FDR = 3, 0.1
DATA_SETS = {"linear": {"lcd": 10, "staged": 2}, "demo": {"staged": 1}}


def data(name: str, number: int) -> tuple[np.ndarray, np.ndarray, set[int]]:
    if name == "demo":
        from grip2.datasets import make_hidden_interactions

        made = make_hidden_interactions(random_state=number + 1)
        return made.X, made.y, {int(j) for j in made.support}
    rng = np.random.default_rng(number)
    X = rng.standard_normal((2000, 200))
    for j in range(1, 200):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    true = rng.choice(200, 20, replace=False)
    effects = 0.15 * rng.choice([-1.0, 1.0], 20)
    return X, X[:, true] @ effects + rng.standard_normal(2000), set(true.tolist())


def one(name: str, method: str, number: int, draws: int, seed: int) -> dict[str, Any]:
    from grip2 import KnockoffSelector
    from grip2.statistics.registry import STATISTICS

    X, y, true = data(name, number)
    statistic = None if method == "staged" else STATISTICS.create(method)
    began = time.perf_counter()
    result = KnockoffSelector(statistic, fdr=FDR, n_draws=draws, random_state=seed).fit(X, y).result_
    found = set(np.flatnonzero(result.selected_mask).tolist())
    return {
        "copies": result.copies,
        "selected": "|".join(str(j) for j in sorted(found)),
        "power": len(found & true) / len(true),
        "fdp": len(found - true) / max(1, len(found)),
        "seconds": time.perf_counter() - began,
    }


def summary(trials: pd.DataFrame) -> str:
    lines = [
        "| set | statistic | copies | draws | power | FDP | mean Jaccard between seeds | data sets | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, method, draws), rows in trials.groupby(["set", "statistic", "draws"], sort=False):
        agreement = []
        for _, of_set in rows.groupby("data set"):
            agreement.append(
                mean_jaccard([set(filter(None, str(text).split("|"))) for text in of_set["selected"].fillna("")])
            )
        lines.append(
            f"| {name} | {method} | {rows['copies'].iloc[0]} | {draws} | {rows['power'].mean():.2f} | {rows['fdp'].mean():.3f} | "
            f"{np.mean(agreement):.2f} | {rows['data set'].nunique()} | {rows['seconds'].mean():.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [
        (name, method, number, draws, seed)
        for name, methods in DATA_SETS.items()
        for method, count in methods.items()
        for number in range(count)
        for draws in (1, 10)
        for seed in range(SEEDS)
    ]
    columns = ("set", "statistic", "data set", "draws", "seed")
    trials = resumable.run(RESULTS / "trials.csv", columns, keys, one, jobs=given.jobs)
    text = summary(trials)
    (RESULTS / "README.md").write_text(
        f"# One draw beside ten\n\n`python benchmarks/steadiness.py`: fdr {FDR:g}, default settings.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
