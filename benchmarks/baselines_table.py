"""All statistics on the paper's synthetic data: power, false discoveries, stability, seconds per fit.

    python benchmarks/baselines_table.py        # n = 20,000, p = 500, rho = 0.8, 3 trials, all methods
    python benchmarks/baselines_table.py --n 500 --p 40 --trials 2 --steps 200 --out small

Every finished (method, trial) is one row of OUT/trials.csv, written at once, so a run that was stopped goes
on where it stopped; rows of other sizes or settings are left alone. OUT/table.md is made anew after each.

Networks have the paper's settings for its synthetic experiment, everything else its defaults. Support and
coefficients are the same in all trials, rows and noise are not; knockoffs are exact Gaussian ones with the
true covariance (equi-correlated) and the same for all methods of a trial.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from grip2.datasets.synthetic import make_ar1
from grip2.filter import knockoff_threshold, select
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, jaccard_stability, power
from grip2.statistics import Statistic
from grip2.statistics.registry import STATISTICS

LEVELS = (0.05, 0.1, 0.2)
KEY = ("n", "p", "rho", "snr", "steps", "method", "trial")
FIELDS = (*KEY, "seconds", *(f"{what}_{q:g}" for q in LEVELS for what in ("power", "fdp", "selected")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--p", type=int, default=500)
    parser.add_argument("--rho", type=float, default=0.8)
    parser.add_argument("--snr", type=float, default=0.2)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--methods", default=",".join(STATISTICS.names()), help="names, comma-separated")
    parser.add_argument("--steps", type=int, default=0, help="steps of every network; 0: the paper's 5,000")
    parser.add_argument("--out", type=Path, default=Path("results/baselines"))
    arguments = parser.parse_args()

    methods = [STATISTICS.entry(name).name for name in arguments.methods.split(",")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "trials.csv"
    setting = {name: str(getattr(arguments, name)) for name in ("n", "p", "rho", "snr", "steps")}
    done = {tuple(row[name] for name in KEY) for row in read_rows(file)}
    for trial in range(arguments.trials):
        todo = [name for name in methods if (*setting.values(), name, str(trial)) not in done]
        if not todo:
            continue
        X, Xk, y, truth = draw_trial(arguments, trial)
        for name in todo:
            row = {**setting, "method": name, "trial": trial}
            row |= run_trial(build(name, arguments.steps), X, Xk, y, truth, trial)
            append_row(file, row)
            print(
                f"trial {trial} {name:9s} {row['seconds']:>8s} s  power at 0.1: {row['power_0.1']}",
                flush=True,
            )
            write_table(arguments, setting, methods, file)
    write_table(arguments, setting, methods, file)


def build(name: str, steps: int) -> Statistic:
    statistic = STATISTICS.load(name).paper("synthetic")
    if steps and "steps" in statistic.get_params():
        statistic.set_params(steps=steps)
    return statistic


def draw_trial(arguments: argparse.Namespace, trial: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    table = make_ar1(arguments.n, arguments.p, arguments.rho, arguments.snr, coefficients=0, random_state=1 + trial)
    sampler = GaussianKnockoffs(np.zeros(arguments.p), table.covariance, s="equi").fit(table.X)
    Xk = sampler.sample(table.X, rng=np.random.default_rng([trial, 1]))
    return table.X, Xk, table.y, np.isin(np.arange(arguments.p), table.support)


def run_trial(
    statistic: Statistic, X: np.ndarray, Xk: np.ndarray, y: np.ndarray, truth: np.ndarray, trial: int
) -> dict[str, str]:
    began = time.perf_counter()
    W = statistic.importance(X, Xk, y, rng=np.random.default_rng([trial, 2])).W
    row = {"seconds": f"{time.perf_counter() - began:.2f}"}
    for q in LEVELS:
        chosen = select(W, knockoff_threshold(W, q))
        row[f"power_{q:g}"] = f"{power(chosen, truth):.4f}"
        row[f"fdp_{q:g}"] = f"{false_discovery_proportion(chosen, truth):.4f}"
        row[f"selected_{q:g}"] = " ".join(str(j) for j in np.flatnonzero(chosen))
    return row


def read_rows(file: Path) -> Iterator[dict[str, str]]:
    """Complete rows only: the last line of a killed run may be cut short."""
    if not file.exists():
        return
    with file.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if None not in row.values() and None not in row:
                yield row


def append_row(file: Path, row: dict[str, object]) -> None:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if text and not text.endswith("\n"):  # a line cut short by a kill
        text = text[: text.rfind("\n") + 1]
        file.write_text(text, encoding="utf-8")
    with file.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not text:
            writer.writeheader()
        writer.writerow(row)
        stream.flush()
        os.fsync(stream.fileno())


def write_table(arguments: argparse.Namespace, setting: dict[str, str], methods: list[str], file: Path) -> None:
    rows = [row for row in read_rows(file) if all(row[name] == value for name, value in setting.items())]
    options = " ".join(f"--{name} {setting[name]}" for name in setting)
    lines = [
        f"# Baselines: n = {setting['n']}, p = {setting['p']}, rho = {setting['rho']}, SNR = {setting['snr']}",
        "",
        f"Made by `python benchmarks/baselines_table.py {options} --trials {arguments.trials}`",
        f"(steps of every network: {arguments.steps or 5000}). Means over trials of power / false discovery",
        "proportion / Jaccard stability (two empty selections count 1).",
        "",
        "| method | trials | " + " | ".join(f"q = {q:g}" for q in LEVELS) + " | seconds per fit |",
        "|---|---|" + "---|" * (len(LEVELS) + 1),
    ]
    for name in methods:
        mine = [row for row in rows if row["method"] == name]
        if not mine:
            continue
        seconds = np.mean([float(row["seconds"]) for row in mine])
        cells = [summary(mine, q) for q in LEVELS]
        lines.append(f"| {name} | {len(mine)} | " + " | ".join(cells) + f" | {seconds:.1f} |")
    (arguments.out / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def summary(rows: list[dict[str, str]], q: float) -> str:
    means = [np.mean([float(row[f"{what}_{q:g}"]) for row in rows]) for what in ("power", "fdp")]
    chosen = [{int(j) for j in row[f"selected_{q:g}"].split()} for row in rows]
    stability = f"{jaccard_stability(chosen):.2f}" if len(chosen) > 1 else "-"
    return f"{means[0]:.2f} / {means[1]:.2f} / {stability}"


if __name__ == "__main__":
    main()
