"""Tables with few true features: the default selector beside lasso coefficients, one copy beside the automatic number.

    python benchmarks/few_features.py --data-sets 50 --jobs 2     # about half an hour; goes on where it was stopped

Three settings, named by rows, columns, true features and correlation of neighbouring columns (AR(1)); noise has variance 1.
``linear``: effects of 0.25. ``abs``: the same effect of every |x|, together SNR 1. ``wide``: effects of 0.25, 6 of 100. All
knockoffs are estimated (copula), everything else has default settings, seed = number of the data set. Writes
``results/few/trials.csv`` and ``results/few/README.md``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import resumable

RESULTS = Path(__file__).parents[1] / "results" / "few"
FDR = 0.1


class Setting(NamedTuple):
    n: int
    p: int
    n_true: int
    rho: float
    kind: str  # "line" or "abs"


SETTINGS = {
    "linear": Setting(500, 30, 4, 0.3, "line"),
    "abs": Setting(500, 30, 4, 0.3, "abs"),
    "wide": Setting(1000, 100, 6, 0.5, "line"),
}
METHODS = {"staged": ("auto", "1"), "lcd": ("auto", "1")}


def data(setting: Setting, seed: int) -> tuple[np.ndarray, np.ndarray, set[int]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((setting.n, setting.p))
    for j in range(1, setting.p):
        X[:, j] = setting.rho * X[:, j - 1] + np.sqrt(1 - setting.rho**2) * X[:, j]
    true = rng.choice(setting.p, setting.n_true, replace=False)
    if setting.kind == "line":
        signal = 0.25 * X[:, true].sum(axis=1)
    else:
        signal = np.abs(X[:, true]).sum(axis=1)
        signal = (signal - signal.mean()) / signal.std()  # SNR 1
    return X, signal + rng.standard_normal(setting.n), set(true.tolist())


def one(name: str, method: str, copies: str, seed: int) -> dict[str, Any]:
    from grip2 import KnockoffSelector
    from grip2.statistics.registry import STATISTICS

    X, y, true = data(SETTINGS[name], seed)
    statistic = None if method == "staged" else STATISTICS.create(method)
    began = time.perf_counter()
    selector = KnockoffSelector(
        statistic, fdr=FDR, copies=copies if copies == "auto" else int(copies), random_state=seed
    )
    result = selector.fit(X, y).result_
    found = set(np.flatnonzero(result.selected_mask).tolist())
    return {
        "used": result.copies,
        "selected": len(found),
        "power": len(found & true) / len(true),
        "fdp": len(found - true) / max(1, len(found)),
        "seconds": time.perf_counter() - began,
    }


def table(trials: pd.DataFrame) -> str:
    lines = [
        "| setting | statistic | copies | power | FDP (se) | seconds | data sets |",
        "|---|---|---|---|---|---|---|",
    ]
    order = {
        key: k for k, key in enumerate((name, m, c) for name in SETTINGS for m, all_c in METHODS.items() for c in all_c)
    }
    groups = trials.astype({"copies": str}).groupby(["setting", "statistic", "copies"], sort=False)
    for (name, method, copies), rows in sorted(groups, key=lambda pair: order[pair[0]]):
        n, p, k, rho, kind = SETTINGS[name]
        error = rows["fdp"].std(ddof=1) / np.sqrt(len(rows))
        lines.append(
            f"| {name}: n = {n}, p = {p}, {k} true ({kind}), rho = {rho:g} | {method} | {copies} ({rows['used'].iloc[0]}) | "
            f"{rows['power'].mean():.2f} | {rows['fdp'].mean():.3f} ({error:.3f}) | {rows['seconds'].mean():.1f} | {len(rows)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [
        (name, method, copies, seed)
        for name in SETTINGS
        for method, all_copies in METHODS.items()
        for copies in all_copies
        for seed in range(given.data_sets)
    ]
    columns = ("setting", "statistic", "copies", "seed")
    trials = resumable.run(RESULTS / "trials.csv", columns, keys, one, jobs=given.jobs)
    text = table(trials)
    (RESULTS / "README.md").write_text(
        "# Few true features\n\n"
        f"`python benchmarks/few_features.py --data-sets {given.data_sets}`: target fdr {FDR:g}, estimated copula knockoffs, "
        f"everything else with default settings. Copies in brackets: the number used.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
