"""Wide tables: time and peak memory of whole selections and diagnoses, all defaults, from a file to the report.

    python benchmarks/wide_tables.py                # up to 5,000 columns, about 10 minutes on 2 idle cores
    python benchmarks/wide_tables.py --largest      # and 20,000 columns

Normal columns in blocks of ten that are correlated by 0.5, like genes of one pathway; 20 of them act linearly. "four classes":
the response is cut at its quartiles. Every row of the table is a process of its own, whose time and peak memory the operating
system reports. A row that has been measured is not measured again; --fresh measures all of them. Writes ``rows.json`` and
``README.md`` to ``results/wide``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from whole_process import run_measured

RESULTS = Path(__file__).parents[1] / "results" / "wide"
TRUE, BLOCK, CORRELATION, EFFECT = 20, 10, 0.5, 1.0
CLASSES = ("low", "lower", "higher", "high")


@dataclass(frozen=True)
class Case:
    """One run."""

    rows: int
    columns: int
    command: str = "select"
    classes: bool = False
    least: bool = True  # False: with --largest only

    @property
    def name(self) -> str:
        response = "four classes" if self.classes else "a measurement"
        return f"{self.command}, {self.rows:,} x {self.columns:,}, {response}"


CASES = (
    Case(300, 2_000),
    Case(300, 5_000),
    Case(300, 5_000, classes=True),
    Case(300, 5_000, "diagnose"),
    Case(1_000, 20_000, least=False),
    Case(1_000, 20_000, "diagnose", least=False),
)


@dataclass(frozen=True)
class Measured:
    """What a run took and found; of a diagnosis the verdict."""

    seconds: float
    processor_seconds: float
    peak_gb: float
    load_before: float
    copies: int
    true_found: int
    false_found: int
    verdict: str


def make_table(case: Case, path: Path) -> set[str]:
    """Writes the table; returns the names of the columns that act."""
    rng = np.random.default_rng([case.rows, case.columns])
    X = np.sqrt(1 - CORRELATION) * rng.standard_normal((case.rows, case.columns))
    X += np.sqrt(CORRELATION) * np.repeat(rng.standard_normal((case.rows, case.columns // BLOCK)), BLOCK, axis=1)
    true = rng.choice(case.columns, TRUE, replace=False)
    y = EFFECT * X[:, true] @ rng.choice([-1.0, 1.0], TRUE) + rng.standard_normal(case.rows)
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"gene{j}" for j in range(case.columns)])
    frame["y"] = np.array(CLASSES)[np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)] if case.classes else y
    frame.to_parquet(path, index=False)
    return {f"gene{j}" for j in true}


def measure(case: Case, folder: Path) -> Measured:
    file, out = folder / "table.parquet", folder / "out"
    true = make_table(case, file)
    words = [case.command, str(file), "--target", "y", "--out", str(out), "--force"]
    used = run_measured([sys.executable, "-m", "grip2", *words], case.name)
    if case.command == "diagnose":
        return Measured(*used, 0, 0, 0, json.loads((out / "diagnostics.json").read_text())["verdict"])
    found = json.loads((out / "selection.json").read_text())
    selected = set(found["selected"])
    return Measured(*used, found["copies"], len(true & selected), len(selected - true), "")


def page(done: dict[str, dict]) -> str:
    lines = [
        "# Wide tables",
        "",
        f"Made by `python benchmarks/wide_tables.py --largest`: normal columns in blocks of {BLOCK} correlated by",
        f"{CORRELATION:g}, {TRUE} of which act, all defaults, fdr 0.1. Times are of whole processes with the start of Python,",
        "on 2 cores; the load is that of other work on them before the run, which makes times longer. Peak memory is what the",
        "operating system reports.",
        "",
        f"| run | copies | seconds | processor seconds | peak memory (GB) | load before | found of {TRUE} | false | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if case.name in done:
            row = Measured(**done[case.name])
            selection = case.command == "select"
            counts = (row.copies, row.true_found, row.false_found) if selection else ("", "", "")
            lines.append(
                f"| {case.name} | {counts[0]} | {row.seconds:.0f} | {row.processor_seconds:.0f} | {row.peak_gb:.2f} "
                f"| {row.load_before:.1f} | {counts[1]} | {counts[2]} | {row.verdict} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="also 20,000 columns")
    parser.add_argument("--fresh", action="store_true", help="measure again what has been measured")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / "rows.json"
    done = json.loads(kept.read_text()) if kept.exists() and not given.fresh else {}
    for case in CASES:
        if case.name in done or not (case.least or given.largest):
            continue
        with tempfile.TemporaryDirectory() as folder:
            done[case.name] = asdict(measure(case, Path(folder)))
        kept.write_text(json.dumps(done, indent=1) + "\n")
        (RESULTS / "README.md").write_text(page(done))
        print(case.name, done[case.name], flush=True)


if __name__ == "__main__":
    main()
