"""Simulation settings of published methods: DeepPINK, DeepLINK and the distilled conditional randomisation test (dCRT).

    python benchmarks/public_benchmarks.py --jobs 2                    # goes on where it was stopped
    python benchmarks/public_benchmarks.py --cells deeplink-5 --statistics effects --data-sets 5
    python benchmarks/public_benchmarks.py --report                    # only writes README.md

Writes ``trials.csv`` and ``README.md`` to ``results/public`` (--out). Where each setting is from, and what had to be assumed
because the public text does not say it: `SOURCES`, printed in the README. Our knockoffs are exact Gaussian ones (known
covariance, s by MVR, one copy); the authors' are their own, so that published numbers compare whole methods.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import simulated
from simulated import Simulated

RESULTS = Path(__file__).parents[1] / "results" / "public"


class Published(NamedTuple):
    """What the authors report for their method in a cell."""

    method: str
    power: float
    fdr: float
    where: str


class Cell(NamedTuple):
    source: str  # a key of SOURCES
    about: str
    fdr: float
    draw: Callable[[np.random.Generator], Simulated]
    published: Published | None = None


SOURCES = {
    "DeepPINK": (
        "Lu, Fan, Lv & Noble (2018), DeepPINK: reproducible feature selection in deep neural networks, NeurIPS 31, "
        "arXiv:1809.01185. n = 1,000, rows N(0, Sigma) with Sigma^-1 = 0.5^|j-k|, coefficients 1.5 with random signs, "
        "noise N(0, 1), p from 50 to 3,000 (here 50, 200, 1,000): read from public scripts that reproduce the "
        "setting, not from the paper. Assumed: level 0.2; 30 true features in the linear model (of three such scripts "
        "one has 30, two have 20); for the single-index model y = (x'b)^3 / 2 + noise with 10 true features; places "
        "uniform without replacement."
    ),
    "DeepLINK": (
        "Zhu, Fan, Kong, Lv & Sun (2021), DeepLINK: deep learning inference using knockoffs with applications to "
        "genomics, PNAS 118(36), doi:10.1073/pnas.2104683118; simulation code in github.com/zifanzhu/DeepLINK. n = "
        "1,000, p = 500, 10 true features, q = 0.2, linear factor model X = F L + E with three factors and "
        "independent N(0, 1) entries in F, L and E, columns of X scaled to length 1, y = sin(x'b) exp(x'b) + N(0, 1), "
        "b of one amplitude with random signs. Assumed: the amplitude; the public example has 5 (with the linear "
        "link), and 10 and 20 are run beside it. L is drawn anew for each data set and known to our knockoffs."
    ),
    "dCRT": (
        "Liu, Katsevich, Janson & Ramdas (2022), Fast and powerful conditional randomization testing via "
        "distillation, Biometrika 109(2), doi:10.1093/biomet/asab039; simulation code in "
        "github.com/moleibobliu/Distillation-CRT. n = p = 300, 30 true features, equally spaced, AR(1) 0.5, "
        "coefficients of one amplitude with random signs, noise N(0, 1) or a logistic model, fdr 0.1; amplitudes "
        "0.075 to 0.375 (linear) and 0.5 to 2.5 (logistic) in steps of a fifth. Assumed: the first true feature is "
        "the first column, and every tenth follows."
    ),
}


def signs(count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1.0, 1.0], count)


def deeppink(
    p: int, link: Callable[[np.ndarray], np.ndarray], n_true: int
) -> Callable[[np.random.Generator], Simulated]:
    def draw(rng: np.random.Generator) -> Simulated:
        from grip2.datasets.synthetic import ar1_covariance

        covariance = np.linalg.inv(ar1_covariance(p, 0.5))
        X = rng.standard_normal((1000, p)) @ np.linalg.cholesky(covariance).T
        support = np.sort(rng.choice(p, n_true, replace=False))
        index = X[:, support] @ (1.5 * signs(n_true, rng))
        return Simulated(X, link(index) + rng.standard_normal(1000), support, covariance)

    return draw


def deeplink(amplitude: float) -> Callable[[np.random.Generator], Simulated]:
    def draw(rng: np.random.Generator) -> Simulated:
        n, p, factors, n_true = 1000, 500, 3, 10
        loadings = rng.standard_normal((factors, p))
        X = rng.standard_normal((n, factors)) @ loadings + rng.standard_normal((n, p))
        support = np.sort(rng.choice(p, n_true, replace=False))
        # Knockoffs are of the columns as they are: their lengths depend on the rows drawn, and scale nothing that matters.
        scaled = X[:, support] / np.linalg.norm(X[:, support], axis=0)
        index = scaled @ (amplitude * signs(n_true, rng))
        y = np.sin(index) * np.exp(index) + rng.standard_normal(n)
        return Simulated(X, y, support, loadings.T @ loadings + np.eye(p))

    return draw


def dcrt(amplitude: float, *, logistic: bool = False) -> Callable[[np.random.Generator], Simulated]:
    def draw(rng: np.random.Generator) -> Simulated:
        from grip2.datasets.synthetic import ar1_covariance, ar1_rows

        n, p, n_true = 300, 300, 30
        X = ar1_rows(n, p, 0.5, rng)
        support = np.arange(0, p, p // n_true)
        mean = X[:, support] @ (amplitude * signs(n_true, rng))
        if not logistic:
            return Simulated(X, mean + rng.standard_normal(n), support, ar1_covariance(p, 0.5))
        y = (rng.random(n) < 1 / (1 + np.exp(-mean))).astype(float)
        return Simulated(X, y, support, ar1_covariance(p, 0.5), "classification")

    return draw


def line(index: np.ndarray) -> np.ndarray:
    return index


def half_cube(index: np.ndarray) -> np.ndarray:
    return np.asarray(index**3 / 2)


# Published numbers are to be filled in from the papers' tables; None: not found in a public text that we could read.
CELLS = {
    **{
        f"deeppink-linear-{p}": Cell("DeepPINK", f"linear, p = {p:,}", 0.2, deeppink(p, line, 30))
        for p in (50, 200, 1000)
    },
    **{
        f"deeppink-cubic-{p}": Cell("DeepPINK", f"single index, p = {p:,}", 0.2, deeppink(p, half_cube, 10))
        for p in (50, 200, 1000)
    },
    **{f"deeplink-{A}": Cell("DeepLINK", f"sin x exp, amplitude {A}", 0.2, deeplink(A)) for A in (5, 10, 20)},
    **{f"dcrt-linear-{k}": Cell("dCRT", f"linear, amplitude {0.075 * k:g}", 0.1, dcrt(0.075 * k)) for k in range(1, 6)},
    **{
        f"dcrt-logistic-{k}": Cell("dCRT", f"logistic, amplitude {0.5 * k:g}", 0.1, dcrt(0.5 * k, logistic=True))
        for k in range(1, 6)
    },
}


def one(name: str, data_set: int, statistic: str, label: str) -> dict[str, Any]:
    cell = CELLS[name]
    data = cell.draw(simulated.generator(name, data_set, 0))
    return simulated.scored(statistic, data, fdr=cell.fdr, cell=name, data_set=data_set)


def table(trials: pd.DataFrame) -> str:
    lines = [
        "| source | setting | level | method | data sets | power | FDP | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, cell in CELLS.items():
        start = f"| {cell.source} | {cell.about} | {cell.fdr:g} |"
        mine = trials[trials["cell"] == name]
        for (statistic, label), rows in mine.groupby(["statistic", "label"], sort=False):
            shown = statistic if mine["label"].nunique() == 1 else f"{statistic} ({label})"
            above = " (above)" if simulated.above_level(rows["fdp"], cell.fdr) else ""
            lines.append(
                f"{start} {shown} | {len(rows)} | {simulated.mean_and_error(rows['power'])} | "
                f"{simulated.mean_and_error(rows['fdp'])}{above} | {simulated.typical_seconds(rows):.1f} |"
            )
        if cell.published is not None:
            its = cell.published
            lines.append(f"{start} {its.method}, published ({its.where}) | | {its.power:.2f} | {its.fdr:.2f} | |")
    return "\n".join(lines)


def report(trials: pd.DataFrame, _: str) -> str:
    sources = "\n".join(f"- **{name}**: {text}" for name, text in SOURCES.items())
    missing = sorted({cell.source for cell in CELLS.values() if cell.published is None})
    gap = (
        f"\nPublished numbers are missing for {', '.join(missing)}: their tables or figures could not be read, and none is "
        "quoted from memory.\n"
        if missing
        else ""
    )
    return f"""# Published simulation settings

`python benchmarks/public_benchmarks.py`: exact Gaussian knockoffs, one copy; mean ± standard error over data sets; seconds a
fit on one thread, compilation left out. "(above)": the mean FDP is more than two standard errors above the level.

{table(trials)}
{gap}
{sources}
"""


if __name__ == "__main__":
    simulated.study(__doc__, list(CELLS), one, report, results=RESULTS)
