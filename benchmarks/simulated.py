"""What benchmarks on simulated tables share: one statistic on exact Gaussian knockoffs, its score, and tables of means."""

from __future__ import annotations

import argparse
import time
from ast import literal_eval
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd

import resumable
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power

# Statistics and shapes that were fitted in this process: the first fit of a shape compiles.
_FITTED: set[tuple[Any, ...]] = set()


# What makes two rows of a file of trials the same fit.
KEY = ("cell", "data_set", "statistic", "label")


class Simulated(NamedTuple):
    """A table with a known truth, and the covariance of its rows, whose mean is zero."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray
    covariance: np.ndarray
    task: str = "regression"


def generator(cell: str, data_set: int, purpose: int) -> np.random.Generator:
    """Depends on the names of the cell and of the data set only, so that two versions of the code see the same data."""
    return np.random.default_rng([crc32(cell.encode()), data_set, purpose])


def made(name: str) -> Any:
    """A registered statistic, with settings after plus signs: ``effects+interactions=False``."""
    from grip2.statistics.registry import STATISTICS

    registered, *settings = name.split("+")
    pairs = (setting.split("=", 1) for setting in settings)
    return STATISTICS.create(registered).set_params(**{key: literal_eval(value) for key, value in pairs})


def scored(statistic: str, data: Simulated, *, fdr: float, cell: str, data_set: int, copies: int = 1) -> dict[str, Any]:
    """Power and false discovery proportion of one fit with exact knockoffs, s by MVR; purposes 10 and 11 are ours."""
    sampler = GaussianKnockoffs(np.zeros(len(data.covariance)), data.covariance, s="mvr").fit(data.X)
    Xk = sampler.sample(data.X, rng=generator(cell, data_set, 10), copies=copies)
    shape = (statistic, *Xk.shape, data.task)
    first = shape not in _FITTED
    _FITTED.add(shape)
    began = time.perf_counter()
    importance = made(statistic).importance(data.X, Xk, data.y, rng=generator(cell, data_set, 11), task=data.task)
    seconds = time.perf_counter() - began
    chosen = np.flatnonzero(knockoff_threshold(importance.W, fdr, copies=copies) <= importance.W)
    return {
        "power": round(power(chosen, data.support), 4),
        "fdp": round(false_discovery_proportion(chosen, data.support), 4),
        "selected": len(chosen),
        "seconds": round(seconds, 2),
        "first": int(first),
    }


def mean_and_error(values: Sequence[float] | pd.Series) -> str:
    """The mean, with its standard error where there are two values or more."""
    found = np.asarray(values, dtype=float)
    if len(found) < 2:
        return f"{found.mean():.3f}"
    return f"{found.mean():.3f} ± {found.std(ddof=1) / np.sqrt(len(found)):.3f}"


def above_level(fdps: pd.Series, fdr: float) -> bool:
    """Is the mean more than two standard errors above the level?"""
    return len(fdps) > 1 and float(fdps.mean()) > fdr + 2 * float(fdps.std(ddof=1)) / np.sqrt(len(fdps))


def typical_seconds(rows: pd.DataFrame) -> float:
    """Mean over fits that did not compile; over all, if all did."""
    warm = rows[rows["first"] == 0]
    return float((warm if len(warm) else rows)["seconds"].mean())


def study(
    about: str | None,
    cells: Sequence[str],
    one: Callable[[str, int, str, str], dict[str, Any]],
    report: Callable[[pd.DataFrame, str], str],
    *,
    results: Path,
    statistics: Sequence[str] = ("lcd", "effects", "staged"),
) -> None:
    """The command of a benchmark: fits what is missing in OUT/trials.csv, writes the report of all rows to OUT/README.md.

    ``one`` computes the row of a cell, data set, statistic and label; ``report`` gets all rows and the label of this run.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", choices=list(cells), default=list(cells))
    parser.add_argument(
        "--statistics",
        nargs="+",
        default=list(statistics),
        help="registered names, with settings as in effects+interactions=False",
    )
    parser.add_argument("--data-sets", type=int, default=20, help="of each cell")
    parser.add_argument("--label", default="now", help="of the version of the code in this run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=results)
    parser.add_argument("--report", action="store_true", help="fit nothing, only write the README")
    given = parser.parse_args()
    file = given.out / "trials.csv"
    if given.report and not file.exists():
        parser.error(f"--report: {file} does not exist")
    keys = [
        (cell, data_set, statistic, given.label)
        for data_set in range(0 if given.report else given.data_sets)
        for cell in given.cells
        for statistic in given.statistics
    ]
    text = report(resumable.run(file, KEY, keys, one, jobs=given.jobs), given.label)
    (given.out / "README.md").write_text(text, encoding="utf-8")
    print(text)
