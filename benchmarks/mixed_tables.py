"""Tables with columns of every kind and missing values: are knockoffs exchangeable with them, and is the level kept?

    python benchmarks/mixed_tables.py --data-sets 300 --jobs 2     # goes on where it was stopped

A table of 1,000 rows has a category of 50 levels and one of 3, six zero-inflated counts, six ordered columns of 5 values,
two 0/1 columns and eight numbers, four of them skewed. All come from one latent normal vector (AR(1) 0.5); the levels of the
large category from utilities that are linear in six of its entries, plus Gumbel noise, which is no Gaussian copula. One value
in ten is missing at random: whether it is depends on a column that is always observed. The response is linear in eight
variables (SNR 1), a category acting by random effects of its levels, and depends on true values, missing or not. Lasso
coefficients at fdr 0.1, counted per variable. Accuracy is that of a classifier that tells rows from rows with all variables
exchanged for their knockoffs; 0.5 means it cannot. Writes ``results/mixed/trials.csv`` and ``README.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

import resumable

RESULTS = Path(__file__).parents[1] / "results" / "mixed"
ROWS, FDR, N_TRUE, SHARE_MISSING = 1000, 0.1, 8, 0.1
KNOCKOFFS = ("auto", "copula", "sequential")


class Mixed(NamedTuple):
    table: pd.DataFrame  # with missing values
    y: np.ndarray
    true: set[str]


def data(seed: int) -> Mixed:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((ROWS, 30))
    for j in range(1, 30):
        Z[:, j] = 0.5 * Z[:, j - 1] + np.sqrt(0.75) * Z[:, j]
    columns: dict[str, np.ndarray] = {}
    utilities = Z[:, :6] @ rng.normal(0, 0.6, (6, 50)) + rng.gumbel(size=(ROWS, 50)) + rng.normal(0, 0.5, 50)
    columns["region"] = np.array([f"r{k:02d}" for k in utilities.argmax(axis=1)])
    columns["kind"] = np.array(["a", "b", "c"])[np.digitize(Z[:, 6] + 0.5 * rng.standard_normal(ROWS), [-0.4, 0.6])]
    for k in range(6):
        rate = rng.poisson(np.exp(0.8 * Z[:, 7 + k] + 0.5))
        columns[f"count{k}"] = np.where(Z[:, 8 + k] + rng.standard_normal(ROWS) > -0.3, rate, 0).astype(float)
    for k in range(6):
        cuts = np.sort(rng.normal(0, 0.8, 4))
        columns[f"grade{k}"] = np.digitize(Z[:, 14 + k], cuts).astype(float)
    for k in range(2):
        columns[f"flag{k}"] = (Z[:, 20 + k] > 0.7).astype(float)
    for k in range(8):
        columns[f"number{k}"] = np.exp(Z[:, 22 + k]) if k < 4 else Z[:, 22 + k]
    complete = pd.DataFrame(columns)
    true = rng.choice(complete.shape[1], N_TRUE, replace=False)
    signal = np.zeros(ROWS)
    for j in true:
        values = complete.iloc[:, j]
        of_level = {} if is_numeric_dtype(values) else {level: rng.normal() for level in sorted(values.unique())}
        effect = np.asarray(values.map(of_level) if of_level else values, dtype=float)
        signal += rng.choice([-1.0, 1.0]) * (effect - effect.mean()) / effect.std()
    y = signal / signal.std() + rng.standard_normal(ROWS)
    # The last number is always observed and decides how likely the others are to be missing: 10 % of them on average.
    odds = np.argsort(np.argsort(complete["number7"])) / ROWS * 2 * SHARE_MISSING
    table = complete.copy()
    for name in complete.columns[:-1]:
        table[name] = table[name].mask(rng.random(ROWS) < odds)
    return Mixed(table, y, {str(complete.columns[j]) for j in true})


def one(knockoffs: str, seed: int) -> dict[str, Any]:
    from grip2 import KnockoffSelector
    from grip2.knockoffs.diagnostics import diagnose
    from grip2.knockoffs.registry import SAMPLERS
    from grip2.statistics import LassoCoefficient

    warnings.simplefilter("ignore", UserWarning)
    mixed = data(seed)
    began = time.perf_counter()
    selector = KnockoffSelector(LassoCoefficient(), SAMPLERS.create(knockoffs), fdr=FDR, random_state=seed)
    result = selector.fit(mixed.table, mixed.y).result_
    seconds = time.perf_counter() - began
    found = set(result.selected)
    row = {
        "copies": result.copies,
        "selected": len(found),
        "power": len(found & mixed.true) / len(mixed.true),
        "fdp": len(found - mixed.true) / max(1, len(found)),
        "seconds": seconds,
        "accuracy": np.nan,
    }
    if seed < 20:  # the classifier is slow beside the lasso
        rng = np.random.default_rng(seed)
        sampler, prepared = selector.sampler_, selector.table_
        X = sampler.complete(prepared.X, rng=rng)
        found_by = diagnose(X, sampler.sample(X, rng=rng), units=prepared.units.units, rng=rng)
        row["accuracy"] = next(test.effect for test in found_by.tests if test.name == "classifier")
    return row


def summary(trials: pd.DataFrame) -> str:
    lines = [
        "| knockoffs | power | FDP (se) | accuracy of the classifier, mean (largest) | seconds | tables |",
        "|---|---|---|---|---|---|",
    ]
    for name, rows in trials.groupby("knockoffs", sort=False):
        error = rows["fdp"].std(ddof=1) / np.sqrt(len(rows))
        accuracy = rows["accuracy"].dropna()
        lines.append(
            f"| {name} | {rows['power'].mean():.2f} | {rows['fdp'].mean():.3f} ({error:.3f}) | "
            f"{accuracy.mean():.3f} ({accuracy.max():.3f}) | {rows['seconds'].mean():.1f} | {len(rows)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=300)
    parser.add_argument("--knockoffs", nargs="*", default=KNOCKOFFS)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    keys = [(name, seed) for name in given.knockoffs for seed in range(given.data_sets)]
    trials = resumable.run(RESULTS / "trials.csv", ("knockoffs", "seed"), keys, one, jobs=given.jobs)
    text = summary(trials)
    (RESULTS / "README.md").write_text(
        "# Columns of every kind, with missing values\n\n"
        f"`python benchmarks/mixed_tables.py --data-sets {given.data_sets}`: lasso coefficients, fdr {FDR:g}; the table and the "
        f"classifier are described in the script.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
