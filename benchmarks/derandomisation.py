"""Several draws combined by e-values beside one draw: power, false discoveries, and agreement between seeds.

    python benchmarks/derandomisation.py --data-sets 10 --seed 1    # one core, about a minute and a half for each data set

For every setting and number of copies so many data sets; on each, three seeds of ten draws: exact Gaussian knockoffs (the true
covariance, s by MVR), scored by lasso coefficients at the cross-validated penalty (lcd). The W are kept in the folder, so that
a run that was interrupted goes on where it stopped. Writes ``inner_levels.csv``, ``majority.csv``, ``null_sums.csv`` and
``closure.csv`` to ``results/derandomisation`` and prints the tables of its README, which has the commands and numbers of data
sets of the results that are there. ``--evaluate`` uses the data sets that are in the folder; other settings keep their rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import toeplitz
from threadpoolctl import threadpool_limits

from grip2.derandomize import e_benjamini_hochberg, stopping_thresholds
from grip2.filter import counts_beyond, fewest_selected, knockoff_threshold, select
from grip2.knockoffs import GaussianKnockoffs
from grip2.statistics import LassoCoefficient

SEEDS, DRAWS, FDR = 3, 10, 0.1
SHARES = (0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)  # level of a draw's threshold over the final fdr
RESULTS = Path(__file__).parents[1] / "results" / "derandomisation"


@dataclass(frozen=True)
class Setting:
    """A linear model in AR(1) features; effects have random signs, noise has variance 1."""

    n: int
    p: int
    n_true: int
    effect: float
    rho: float
    copies: tuple[int, ...] = (1, 3, 5)


# The rule was chosen on the first two families.
SETTINGS = {
    "linear": Setting(2000, 200, 20, 0.15, 0.5, (1, 3)),
    "few": Setting(500, 30, 4, 0.25, 0.3),
    "weak": Setting(2000, 200, 20, 0.10, 0.5, (1, 3)),
    "six": Setting(1000, 100, 6, 0.20, 0.5),
    "many": Setting(1000, 100, 40, 0.20, 0.5),
    "pair": Setting(200, 57, 2, 0.30, 0.5, (5, 10, 20)),
    "ten": Setting(500, 30, 10, 0.15, 0.5, (5, 10, 20)),
}


def one_draw(
    sampler: GaussianKnockoffs, X: np.ndarray, y: np.ndarray, copies: int, rng: np.random.Generator
) -> np.ndarray:
    statistic = LassoCoefficient(n_lambdas=50, ratio=1e-2)
    return np.asarray(statistic.importance(X, sampler.sample(X, rng=rng, copies=copies), y, rng=rng).W)


def draws_of(setting: Setting, copies: int, seed: int, folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """W of (seeds, draws, p) and the mask of the true features, of one data set; from the folder if it is there."""
    path = folder / f"{name}-{copies}-{seed}.npz"
    if not path.exists():
        rng = np.random.default_rng([seed, list(SETTINGS).index(name)])
        Sigma = toeplitz(setting.rho ** np.arange(setting.p))
        X = rng.standard_normal((setting.n, setting.p)) @ np.linalg.cholesky(Sigma).T
        effects = np.zeros(setting.p)
        true = rng.choice(setting.p, setting.n_true, replace=False)
        effects[true] = setting.effect * rng.choice([-1, 1], setting.n_true)
        y = X @ effects + rng.standard_normal(setting.n)
        sampler = GaussianKnockoffs(np.zeros(setting.p), Sigma).fit(X)
        rng = np.random.default_rng([seed, list(SETTINGS).index(name), copies])
        W = [[one_draw(sampler, X, y, copies, rng) for _ in range(DRAWS)] for _ in range(SEEDS)]
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez(file, W=np.array(W), true=effects != 0)
        part.rename(path)
    with np.load(path) as saved:
        return saved["W"], saved["true"]


# Thresholds of one draw, (W, level, copies) -> T.
Threshold = Callable[[np.ndarray, float, int], float]


def plain(W: np.ndarray, level: float, copies: int) -> float:
    """The knockoff+ threshold; a draw that selects nothing counts for nothing."""
    return knockoff_threshold(W, level, copies=copies)


def too_few_left(W: np.ndarray, level: float, copies: int) -> float:
    """The same, but the search ends as soon as fewer units are left than could be selected: a stopping time."""
    candidates, n_positive, n_negative = counts_beyond(W)
    estimates = (1 + n_negative) / (copies * np.maximum(1, n_positive))
    stop = np.flatnonzero((estimates <= level) | (n_positive < fewest_selected(level, copies)))
    return float(candidates[stop[0]]) if len(stop) else np.inf


def next_positive(W: np.ndarray, level: float, copies: int) -> float:
    """As published with Ren & Barber (2024): the search ends at the unit before the last possible selection; it looks ahead."""
    positive, fewest = np.sort(W[W > 0])[::-1], fewest_selected(level, copies)
    stop = 0.0 if len(positive) < fewest else positive[fewest - 2] if fewest > 1 else np.inf
    return min(stop, plain(W, level, copies))


def no_copy_left(W: np.ndarray, level: float, copies: int) -> float:
    """The library's: the search ends also where no copy wins beyond t."""
    return float(stopping_thresholds(W, np.array([level]), copies)[0][0])


THRESHOLDS: dict[str, Threshold] = {"plain": plain, "too few left": too_few_left, "no copy left": no_copy_left}


def e_values_at(threshold: float, W: np.ndarray, copies: int) -> np.ndarray:
    return np.asarray(copies * len(W) * (threshold <= W) / (1 + np.sum(-threshold >= W)))


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    union = np.sum(one | other)
    return float(np.sum(one & other) / union) if union else 1.0


def scores_of(selections: list[np.ndarray], true: np.ndarray) -> dict[str, float]:
    """Selections of different seeds on one data set."""
    return {
        "power": float(np.mean([found[true].mean() for found in selections])),
        "fdp": float(np.mean([found[~true].sum() / max(1, found.sum()) for found in selections])),
        "jaccard": float(np.mean([jaccard(*pair) for pair in combinations(selections, 2)])),
        "empty": float(np.mean([not found.any() for found in selections])),
    }


def evaluations(W: np.ndarray, true: np.ndarray, copies: int) -> Iterator[dict[str, object]]:
    """One draw, and the draws combined by every rule, on one data set."""
    single = np.array([[select(draw, knockoff_threshold(draw, FDR, copies=copies)) for draw in seed] for seed in W])
    each = [scores_of(list(single[:, k]), true) for k in range(W.shape[1])]
    mean = {key: float(np.mean([scores[key] for scores in each])) for key in each[0]}
    yield {"draws": 1, "threshold": "", "share": np.nan, "unanimous": np.nan, **mean}
    for n_draws in (3, DRAWS):
        for name, threshold in THRESHOLDS.items():
            for share in SHARES:
                selections, kept = [], []
                for draws, alone in zip(W[:, :n_draws], single[:, :n_draws], strict=True):
                    e = np.mean([e_values_at(threshold(d, share * FDR, copies), d, copies) for d in draws], axis=0)
                    selections.append(e_benjamini_hochberg(e, FDR))
                    unanimous = alone.all(axis=0)
                    if unanimous.any():
                        kept.append(selections[-1][unanimous].mean())
                yield {
                    "draws": n_draws,
                    "threshold": name,
                    "share": share,
                    "unanimous": float(np.mean(kept)) if kept else np.nan,
                    **scores_of(selections, true),
                }


def majorities(W: np.ndarray, true: np.ndarray, copies: int) -> Iterator[dict[str, object]]:
    """Ten draws at half the level where a unit must be above the threshold in a share of them to count."""
    for share in (0.0, 0.3, 0.5, 0.7):
        selections = []
        for draws in W:
            e = np.array([e_values_at(no_copy_left(draw, 0.5 * FDR, copies), draw, copies) for draw in draws])
            often = np.mean(e > 0, axis=0) >= share
            selections.append(e_benjamini_hochberg(np.where(often, e.mean(axis=0), 0.0), FDR))
        yield {"share": share, **scores_of(selections, true)}


def null_sums(replicates: int = 10_000) -> Iterator[dict[str, object]]:
    """Mean of the sum of null e-values over p, which e-BH needs to be at most 1: signs drawn directly, level 0.1."""
    for copies in (1, 3, 5):
        for n_true, n_null in ((0, 30), (5, 60)):
            for threshold in (*THRESHOLDS.values(), next_positive):
                rng = np.random.default_rng(copies)
                sums = np.empty(replicates)
                for i in range(replicates):
                    size = rng.exponential(size=n_true + n_null)
                    W = np.where(rng.random(len(size)) < 1 / (copies + 1), size, -size)
                    W[:n_true] = size[:n_true] + 2
                    sums[i] = e_values_at(threshold(W, 0.1, copies), W, copies)[n_true:].sum() / len(W)
                yield {
                    "copies": copies,
                    "true": n_true,
                    "null": n_null,
                    "threshold": threshold.__name__.replace("_", " "),
                    "mean": sums.mean(),
                    "se": sums.std() / np.sqrt(replicates),
                }


def closed_knockoffs(draws: np.ndarray, thresholds: np.ndarray, copies: int) -> np.ndarray | None:
    """Mask selected by e-closure with an e-value made for every set S of units; None if there are too many sets.

    If S holds exactly the null units, m #{S: W >= T} / (1 + #{S: W <= -T}) is an e-value, and so is its mean over draws. All
    S are tried, of the units that exceed a threshold in some draw; R is the largest set of units with the largest e-values.
    """
    above, below = draws >= thresholds[:, None], draws <= -thresholds[:, None]
    active = np.flatnonzero((above | below).any(axis=0))
    if len(active) > 14:
        return None
    e = np.mean(above / (1 + below.sum(axis=1, keepdims=True)), axis=0)
    order = active[np.argsort(-e[active], kind="stable")]
    sets = (np.arange(2 ** len(active))[:, None] >> np.arange(len(active))) & 1
    evidence = np.mean(copies * (sets @ above[:, order].T) / (1 + sets @ below[:, order].T), axis=1)
    found = np.zeros(draws.shape[1], dtype=bool)
    for size in range(len(active), 0, -1):
        if np.all(evidence >= sets[:, :size].sum(axis=1) / (FDR * size) - 1e-9):
            found[order[:size]] = True
            break
    return found


def closures(W: np.ndarray, true: np.ndarray, copies: int) -> Iterator[dict[str, object]]:
    for share in (0.5, 0.75, 1.0):
        pairs = []
        for draws in W:
            thresholds = np.array([no_copy_left(draw, share * FDR, copies) for draw in draws])
            e = np.mean([e_values_at(t, d, copies) for t, d in zip(thresholds, draws, strict=True)], axis=0)
            closed = closed_knockoffs(draws, thresholds, copies)
            if closed is not None:
                pairs.append((e_benjamini_hochberg(e, FDR), closed))
        for rule, selections in zip(("e-BH", "e-closure"), zip(*pairs, strict=True), strict=False):
            if len(selections) > 1:
                yield {"rule": rule, "share": share, **scores_of(list(selections), true)}


def saved(folder: Path) -> Iterator[tuple[str, int, int, np.ndarray, np.ndarray]]:
    for path in sorted(folder.glob("*.npz")):
        name, copies, seed = path.stem.split("-")
        with np.load(path) as found:
            yield name, int(copies), int(seed), found["W"], found["true"]


def means(rows: pd.DataFrame, by: list[str], values: list[str]) -> pd.DataFrame:
    groups = rows.groupby(by, sort=False, dropna=False)
    return groups[values].mean().round(3).assign(data_sets=groups.size()).reset_index()


def write(table: pd.DataFrame, name: str) -> None:
    """Write one of the tables; rows of other settings that are there stay."""
    path = RESULTS / name
    if path.exists():
        known = pd.read_csv(path)
        table = pd.concat([known[~known["setting"].isin(table["setting"])], table], ignore_index=True)
    table.to_csv(path, index=False)


def comparison(table: pd.DataFrame) -> str:
    """One draw beside ten at half the level, by threshold: power / FDP / Jaccard between seeds / share empty."""

    def cell(row: pd.Series) -> str:
        return f"{row.power:.2f} / {row.fdp:.2f} / {row.jaccard:.2f} / {row['empty']:.2f}"

    lines = [
        "| setting | copies | data sets | one draw | " + " | ".join(THRESHOLDS) + " | unanimous |",
        "|---" * 8 + "|",
    ]
    for (setting, copies), rows in table.groupby(["setting", "copies"], sort=False):
        ten = rows[(rows.draws == DRAWS) & (rows.share == 0.5)].set_index("threshold")
        one = rows[rows.draws == 1].iloc[0]
        cells = [cell(ten.loc[name]) for name in THRESHOLDS]
        kept = ten.loc["no copy left"].unanimous
        lines.append(
            f"| {setting} | {copies} | {one.data_sets:.0f} | {cell(one)} | "
            + " | ".join(cells)
            + f" | {'' if np.isnan(kept) else format(kept, '.2f')} |"
        )
    return "\n".join(lines)


def by_share(table: pd.DataFrame) -> str:
    """Power / Jaccard of ten draws with the library's threshold, by level."""
    lines = [
        "| setting | copies | one draw | " + " | ".join(f"{share:g}" for share in SHARES) + " |",
        "|---" * 10 + "|",
    ]
    for (setting, copies), rows in table.groupby(["setting", "copies"], sort=False):
        ten = rows[(rows.draws == DRAWS) & (rows.threshold == "no copy left")]
        cells = [f"{row.power:.2f} / {row.jaccard:.2f}" for row in (rows[rows.draws == 1].iloc[0], *ten.itertuples())]
        lines.append(f"| {setting} | {copies} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws-folder", type=Path, default=Path("derandomisation-draws"))
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--evaluate", action="store_true", help="draw nothing, use the draws that are there")
    parser.add_argument("--only-draw", action="store_true", help="write no tables")
    options = parser.parse_args()
    options.draws_folder.mkdir(exist_ok=True)
    seeds = [] if options.evaluate else range(options.seed, options.seed + options.data_sets)
    with threadpool_limits(1):
        for seed in seeds:
            for name in options.settings:
                for copies in SETTINGS[name].copies:
                    draws_of(SETTINGS[name], copies, seed, options.draws_folder, name)
    if options.only_draw:
        return
    levels, closed, often = [], [], []
    for name, copies, seed, W, true in saved(options.draws_folder):
        key = {"setting": name, "copies": copies, "data_set": seed}
        levels += [{**key, **row} for row in evaluations(W, true, copies)]
        often += [{**key, **row} for row in majorities(W, true, copies)]
        if SETTINGS[name].n_true < 10:
            closed += [{**key, **row} for row in closures(W, true, copies)]
    RESULTS.mkdir(exist_ok=True)
    measures = ["power", "fdp", "jaccard", "empty"]
    table = means(pd.DataFrame(levels), ["setting", "copies", "draws", "threshold", "share"], [*measures, "unanimous"])
    write(table, "inner_levels.csv")
    write(means(pd.DataFrame(often), ["setting", "copies", "share"], measures), "majority.csv")
    write(means(pd.DataFrame(closed), ["setting", "copies", "share", "rule"], measures), "closure.csv")
    pd.DataFrame(null_sums()).round(4).to_csv(RESULTS / "null_sums.csv", index=False)
    print(comparison(table), by_share(table), sep="\n\n")


if __name__ == "__main__":
    main()
