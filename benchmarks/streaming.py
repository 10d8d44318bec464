"""Long tables: time and peak memory of a whole selection, in memory and from Parquet files that are read block by block.

    python benchmarks/streaming.py                # up to a million rows, about 10 minutes
    python benchmarks/streaming.py --largest      # and ten million rows of 200 columns: an 8 GB file, half an hour

Normal columns (AR(1), 0.5, single precision); 20 of them act, half of them linearly, half by their absolute value. Every row of
the table is a process of its own, whose time and peak memory the operating system reports. A row that has been measured is not
measured again; --fresh measures all of them. The files are made in --folder and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.signal import lfilter

from whole_process import run_measured

RESULTS = Path(__file__).parents[1] / "results" / "streaming"
TRUE, CORRELATION, NOISE = 20, 0.5, 3.0
ROW_GROUP = 131_072
# Pass a table in memory to the selector: nothing but the table and the fit.
IN_MEMORY = """
import sys, numpy as np, pyarrow.parquet as pq
from pathlib import Path
from grip2 import KnockoffSelector
file = pq.ParquetFile(sys.argv[1])
n, names = file.metadata.num_rows, [name for name in file.schema_arrow.names if name != "y"]
X, y, start = np.empty((n, len(names)), np.float32), np.empty(n), 0
for batch in file.iter_batches(16_384):
    rows = slice(start, start + len(batch))
    for j, name in enumerate(names):
        X[rows, j] = batch.column(name).to_numpy()
    y[rows] = batch.column("y").to_numpy()
    start = rows.stop
del batch, file
result = KnockoffSelector(random_state=0).fit(X, y).result_
names = dict(zip(result.feature_names, names))
text = result.to_json()
for key in sorted(names, key=len, reverse=True):
    text = text.replace(f'"{key}"', f'"{names[key]}"')
Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
(Path(sys.argv[2]) / "selection.json").write_text(text)
"""


@dataclass(frozen=True)
class Case:
    """One run."""

    rows: int
    columns: int
    how: str  # "memory" or "stream"

    @property
    def name(self) -> str:
        return f"{self.rows:,} x {self.columns}, {'in memory' if self.how == 'memory' else 'from Parquet'}"


@dataclass(frozen=True)
class Measured:
    """What a run took and found."""

    seconds: float
    processor_seconds: float
    peak_gb: float
    load_before: float  # of the machine, by others: above 0, times are too long
    selected: list[str]
    true_found: int
    false_found: int
    stages: dict[str, float]  # held-out share of each
    sampler: str
    copies: int


SMALL = (Case(1_000_000, 100, "memory"), Case(1_000_000, 100, "stream"))
LARGE = (Case(1_000_000, 200, "memory"), Case(1_000_000, 200, "stream"), Case(10_000_000, 200, "stream"))


def truth(columns: int) -> np.ndarray:
    """The columns that act."""
    return np.sort(np.random.default_rng(1).choice(columns, TRUE, replace=False))


def make_file(path: Path, rows: int, columns: int) -> None:
    """Row group by row group, so that little memory is needed; the first million rows are the same in longer files."""
    names = [f"c{j:03d}" for j in range(columns)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.float64())])
    true = truth(columns)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False, write_statistics=False) as writer:
        for k, start in enumerate(range(0, rows, ROW_GROUP)):
            rng = np.random.default_rng([columns, k])
            X = rng.standard_normal((ROW_GROUP, columns))
            X[:, 1:] *= np.sqrt(1 - CORRELATION**2)
            X = lfilter([1.0], [1.0, -CORRELATION], X, axis=1)[: rows - start].astype(np.float32)
            effects = np.where(np.arange(TRUE) % 2 == 0, X[:, true], np.abs(X[:, true])) * np.linspace(0.2, 0.6, TRUE)
            y = effects.sum(axis=1) + NOISE * rng.standard_normal(ROW_GROUP)[: rows - start]
            writer.write_table(pa.table([*X.T.copy(), y], schema=schema))


def measure(case: Case, file: Path, out: Path) -> Measured:
    if case.how == "memory":
        command = [sys.executable, "-c", IN_MEMORY, str(file), str(out)]
    else:
        command = [sys.executable, "-m", "grip2", "select", str(file), "--target", "y", "--stream", "always"]
        command += ["--out", str(out), "--force"]
    used = run_measured(command, case.name)
    found = json.loads((out / "selection.json").read_text())
    true = {f"c{j:03d}" for j in truth(case.columns)}
    selected = sorted(found["selected"])
    return Measured(
        *used,
        selected,
        len(true & set(selected)),
        len(set(selected) - true),
        {stage["name"]: round(stage["held_out_share"], 4) for stage in found["stages"]},
        found["settings"]["knockoffs"]["name"],
        found["copies"],
    )


def page(done: dict[str, dict]) -> str:
    """The table for people."""
    lines = [
        "# Long tables",
        "",
        "Made by `python benchmarks/streaming.py --largest`: normal columns (AR(1), 0.5), 20 of which act, all defaults, fdr",
        "0.1. Times are of whole processes with the start of Python, on 2 cores; the load is that of other work on them before",
        "the run, which makes times longer. Peak memory is what the operating system reports.",
        "",
        "| table | seconds | processor seconds | peak memory (GB) | load before | found of 20 | false |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in done.items():
        lines.append(
            f"| {name} | {row['seconds']:.0f} | {row['processor_seconds']:.0f} | {row['peak_gb']:.2f} | {row['load_before']:.1f} "
            f"| {row['true_found']} | {row['false_found']} |"
        )
    lines.append("")
    for case in SMALL + LARGE:
        twin = Case(case.rows, case.columns, "memory")
        if case.how == "stream" and case.name in done and twin.name in done:
            same = done[case.name]["selected"] == done[twin.name]["selected"]
            words = "the same features" if same else "other features"
            lines.append(f"- {case.rows:,} x {case.columns}: from Parquet {words} are selected as in memory.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="also a million and ten million rows of 200 columns")
    parser.add_argument("--fresh", action="store_true", help="measure again what has been measured")
    parser.add_argument("--folder", type=Path, default=Path("streaming-files"), help="where the files are made")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / "rows.json"
    done = json.loads(kept.read_text()) if kept.exists() and not given.fresh else {}
    given.folder.mkdir(parents=True, exist_ok=True)
    for case in SMALL + (LARGE if given.largest else ()):
        if case.name in done:
            continue
        file = given.folder / f"{case.rows}x{case.columns}.parquet"
        if not file.exists():
            make_file(file.with_suffix(".part"), case.rows, case.columns)
            file.with_suffix(".part").rename(file)
        done[case.name] = asdict(measure(case, file, given.folder / case.how))
        kept.write_text(json.dumps(done, indent=1) + "\n")
        (RESULTS / "README.md").write_text(page(done))
        print(case.name, done[case.name], flush=True)
    for file in given.folder.glob("*.parquet"):
        file.unlink()


if __name__ == "__main__":
    main()
