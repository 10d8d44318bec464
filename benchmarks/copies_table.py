"""The tables of results/copies: power, false discovery rate and time by the number of copies, and `auto` beside the best.

    python benchmarks/copies_table.py lcd=copies-lcd effects=copies-effects staged=copies-staged small=copies-small

The folders are those of ``grip2 experiment run results/copies/NAME.toml --out copies-NAME``; cells that are in none of them keep
their rows. Writes ``results/copies/trials.csv`` (one row for every trial and level) and ``results/copies/README.md``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grip2.copies import AUTOMATIC, choose_copies
from grip2.experiments.plan import load_plan
from grip2.experiments.store import Store
from grip2.experiments.summary import trial_table

RESULTS = Path(__file__).parents[1] / "results" / "copies"
CELL = ["statistic", "n", "p", "true", "rho"]
MARGIN = 0.03
ROUNDING = 1e-9  # of means of powers

WHAT_IT_SHOWS = [
    "No rule that does not look at the response can be best in every cell. On the same columns a few true features are found",
    "with 1 / (2 fdr) copies and not with one, while with 60 true ones of 100 to 500 one or two copies have more power in most",
    "cells: a true feature that scores below any of its copies cannot be selected, however generous the target rate is, and with",
    "more copies that happens more often. `auto` takes the side of few true features: two of them, or a single one where there",
    "are at most 20 columns.",
    "",
    "The first table of every level says what each rule costs: how far its power is below that of the best number of copies of",
    "the cell, and `auto` on the same cells (ten copies were not tried everywhere; `auto` stands for the number tried that is",
    "nearest to what it draws). The best of several noisy means is above the truth, so that even a rule that is best everywhere",
    "would fall short a little.",
]


def collected(given: list[str]) -> pd.DataFrame:
    """One row for every trial and level; ``given`` are words PLAN=FOLDER."""
    parts = []
    for word in given:
        name, _, folder = word.partition("=")
        plan = load_plan(RESULTS / f"{name}.toml")
        with Store(Path(folder), create=False) as store:
            table = trial_table(plan, store)  # with the options that vary
        fixed = {key: value for key, value in plan.designs[0].options.items() if key not in table}
        parts.append(table.assign(**fixed))
    trials = pd.concat(parts, ignore_index=True).rename(columns={"method": "statistic", "n_signals": "true"})
    trials["copies"] = trials["copies"].astype(int)
    columns = [*CELL, "copies", "trial", "target_fdr", "selected", "power", "fdp", "seconds", "knockoff_seconds"]
    return trials[columns]


def with_other_cells(trials: pd.DataFrame, file: Path) -> pd.DataFrame:
    """The trials, and those of the file whose cells are not among them."""
    if not file.exists():
        return trials
    known, cells = pd.read_csv(file), set(trials[CELL].itertuples(index=False, name=None))
    others = [cell not in cells for cell in known[CELL].itertuples(index=False, name=None)]
    return pd.concat([known[others], trials], ignore_index=True)


def means(trials: pd.DataFrame, level: float) -> pd.DataFrame:
    rows = trials[trials["target_fdr"] == level]
    found = rows.groupby([*CELL, "copies"]).agg(
        power=("power", "mean"), power_sd=("power", "std"), fdp=("fdp", "mean"), fdp_sd=("fdp", "std"),
        seconds=("seconds", "mean"), trials=("power", "size"),
    )  # fmt: skip
    return found.reset_index()


def against_best(trials: pd.DataFrame, level: float) -> pd.DataFrame:
    """Per cell: power of the automatic number, of the best number, and the paired difference with its standard error."""
    rows = trials[trials["target_fdr"] == level]
    found = []
    for cell, here in rows.groupby(CELL):
        by_trial = here.pivot(index="trial", columns="copies", values="power").dropna()
        n, p = (int(cell[CELL.index(name)]) for name in ("n", "p"))
        wanted = choose_copies(AUTOMATIC, fdr=level, n_rows=n, n_columns=p, n_units=p, draws_copies=True).copies
        auto = min((m for m in by_trial.columns), key=lambda m: abs(m - wanted))
        best = by_trial.mean().idxmax()
        difference = by_trial[auto] - by_trial[best]
        found.append(
            {
                **dict(zip(CELL, cell, strict=True)),
                "auto": auto,
                "power of auto": by_trial[auto].mean(),
                "best": best,
                "power of best": by_trial[best].mean(),
                "difference": difference.mean(),
                "se": difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan,
            }
        )
    return pd.DataFrame(found)


def shortfalls(trials: pd.DataFrame, level: float) -> list[str]:
    """A table of rules, each number of copies for all cells, and `auto` on the same cells: how far below the best they are."""
    automatic = against_best(trials, level).set_index(CELL)
    rows = trials[trials["target_fdr"] == level]
    below: dict[Any, pd.Series] = {}
    for cell, here in rows.groupby(CELL):
        powers = here.pivot(index="trial", columns="copies", values="power").dropna().mean()
        below[cell] = powers.max() - powers
    of_rules = pd.DataFrame(below).T
    lines = [
        f"| rule | cells | within {MARGIN} | mean below the best | most below the best | `auto`: within {MARGIN}, mean, most |",
        "|---|---|---|---|---|---|",
    ]
    for m in sorted(of_rules.columns):
        short = of_rules[m].dropna()
        own = -automatic.loc[short.index, "difference"]
        lines.append(f"| m = {m} | {len(short)} | {' | '.join(_summary(short))} | {', '.join(_summary(own))} |")
    return [*lines, ""]


def _summary(short: pd.Series) -> tuple[str, str, str]:
    return str(int((short <= MARGIN + ROUNDING).sum())), f"{short.mean():.3f}", f"{short.max():.2f}"


def page(trials: pd.DataFrame) -> str:
    lines = [
        "# How many knockoff copies",
        "",
        (__doc__ or "").split("\n\n")[0],
        "",
        "Commands: the plans in this folder, then",
    ]
    lines += [
        "`python benchmarks/copies_table.py lcd=copies-lcd effects=copies-effects staged=copies-staged small=copies-small`.",
        "Seed 1. Linear signals, SNR 1; 0.5 for 10 and 20 columns.",
        "Times are those of a busy machine. Trials are in their column.",
        "",
        *WHAT_IT_SHOWS,
        "",
    ]
    for level in sorted(trials["target_fdr"].unique()):
        table, best = means(trials, level), against_best(trials, level)
        short = best[best["difference"] < -MARGIN - ROUNDING]
        beyond = short[short["difference"] < -MARGIN - short["se"].fillna(0)]
        lines += [
            f"## fdr {level:g}",
            "",
            f"`auto` is within {MARGIN} of the best number of copies in {len(best) - len(short)} of {len(best)} cells, and "
            f"within {MARGIN} plus one standard error of the paired difference in {len(best) - len(beyond)}.",
            "",
            *shortfalls(trials, level),
        ]
        for statistic, here in table.groupby("statistic", sort=False):
            copies = sorted(here["copies"].unique())
            lines += [f"### {statistic}", "", "Power / mean FDP / seconds of the statistic.", ""]
            lines.append(f"| n | p | true | rho | trials | {' | '.join(f'm = {m}' for m in copies)} | auto | best |")
            lines.append("|" + "---|" * (7 + len(copies)))
            for cell, rows in here.groupby(CELL[1:]):
                values = rows.set_index("copies")
                cells = [_cell(values.loc[m]) if m in values.index else "" for m in copies]
                own = best[(best["statistic"] == statistic) & (best[CELL[1:]] == list(cell)).all(axis=1)].iloc[0]
                lines.append(
                    f"| {' | '.join(f'{value:g}' for value in cell)} | {int(rows['trials'].min())} | {' | '.join(cells)} | "
                    f"{own['auto']} | {own['best']} |"
                )
            lines.append("")
    return "\n".join(lines)


def _cell(row: pd.Series) -> str:
    return f"{row['power']:.2f} / {row['fdp']:.2f} / {row['seconds']:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="PLAN=FOLDER")
    trials = with_other_cells(collected(parser.parse_args().folders), RESULTS / "trials.csv")
    trials.round(4).to_csv(RESULTS / "trials.csv", index=False)
    text = page(trials)
    (RESULTS / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
