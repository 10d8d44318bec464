"""What is left of a command that is killed, terminated or interrupted at random points, and whether running it again mends it.

    python -m benchmarks.faults                            # select, also with two workers, experiment, calibrate; 20 points each
    python -m benchmarks.faults --points 5 --commands select
    python -m benchmarks.faults --also 'diagnose=diagnose {table} --target y --out {out}'

Run from the top of the repository. A command is a line of words with {table}, {plan} and {out} in it. It is run once in
peace, then for every signal at as many random points as asked for, from the start of the process to a little beyond its
usual end. After each: the exit code says which signal it was (or that the work was done before), no process and no temporary
file is left, output is complete or absent, and the same command run again gives the same bytes as in peace (times aside).

Writes results/faults/points.csv, a row for every point, and report.md; ends with code 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tests.experiments.helpers import SMALL
from tests.faults.processes import Command

SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}
COMMANDS = {
    "select": "select {table} --target y --out {out} --force",
    "select --jobs 2": "select {table} --target y --out {out} --force --draws 6 --jobs 2 --statistic lcd",
    "experiment run": "experiment run {plan} --jobs 2 --out {out}",
    "calibrate": "calibrate {table} --target y --statistic lcd --knockoffs copula --runs 12 --jobs 2 --out {out}",
}
PATIENCE_SECONDS = 60.0  # for workers to leave, on a busy machine
# The interpreter takes this long before it runs the first line of ours; until then a signal is its own business.
START_SECONDS = 0.15
SELECTION = {"selection.json", "selection.csv", "report.html"}
RUN_FILES = {
    "run.lock",
    "trials.sqlite-wal",
    "trials.sqlite-shm",
}  # a killed run may leave them; the next one takes them up


@dataclass(frozen=True)
class Point:
    """One accident and what came of it."""

    command: str
    signal: str
    after_seconds: float
    exit_code: int
    answered_seconds: float
    fault: str  # empty: all is well


@dataclass(frozen=True)
class Bench:
    """A command line with places, and the files it works on."""

    name: str
    line: str
    table: Path
    plan: Path

    def words(self, out: Path) -> list[str]:
        return self.line.format(table=self.table, plan=self.plan, out=out).split()

    def in_peace(self, folder: Path) -> tuple[float, str]:
        """Seconds that the command takes, and the digest of what it writes."""
        began = time.monotonic()
        code = self.to_its_end(folder / "out", folder / "temporary")
        if code != 0:
            raise SystemExit(f"{self.name}: ends with {code} even in peace")
        return time.monotonic() - began, digest(folder / "out")

    def to_its_end(self, out: Path, temporary: Path) -> int:
        with Command(self.words(out), temporary) as command:
            return command.wait(timeout=3600)

    def accident(self, kind: str, after: float, expected: str, folder: Path) -> Point:
        out, temporary = folder / "out", folder / "temporary"
        with Command(self.words(out), temporary) as command:
            time.sleep(after)
            command.send(SIGNALS[kind])
            began = time.monotonic()
            code = command.wait(timeout=600)
            answered = time.monotonic() - began
            faults = [*_of_the_process(command, code, kind), *_of_the_output(out, code)]
        again = self.to_its_end(out, folder / "again")
        if again != 0:
            faults.append(f"run again: exit code {again}")
        elif digest(out) != expected:
            faults.append("run again: another result")
        return Point(self.name, kind, round(after, 3), code, round(answered, 2), "; ".join(faults))


def _of_the_process(command: Command, code: int, kind: str) -> Iterator[str]:
    if code not in (0, 128 + SIGNALS[kind]):
        yield f"exit code {code}"
    if "Traceback" in command.err and kind != "kill -9":
        yield "traceback"
    end = time.monotonic() + PATIENCE_SECONDS
    while (left := command.descendants()) and time.monotonic() < end:
        time.sleep(0.1)
    if left:
        yield f"{len(left)} processes left"
    if files := command.temporary_files():
        yield f"temporary files left: {', '.join(file.name for file in files[:3])}"


def _of_the_output(out: Path, code: int) -> Iterator[str]:
    names = {path.name for path in out.rglob("*")} if out.exists() else set()
    if hidden := {name for name in names if name.startswith(".")}:
        yield f"hidden files left: {', '.join(sorted(hidden))}"
    visible = names - hidden
    if visible & SELECTION and not visible >= SELECTION:
        yield f"half of the output: {', '.join(sorted(visible))}"
    if code == 0 and not visible:
        yield "exit code 0 and no output"


def digest(out: Path) -> str:
    """Of everything that a command has written, times and pages aside."""
    total = hashlib.sha256()
    for path in sorted(file for file in out.rglob("*") if file.is_file() and file.name not in RUN_FILES):
        total.update(path.name.encode())
        if path.suffix == ".json":
            total.update(json.dumps(_without_times(json.loads(path.read_text()))).encode())
        elif path.suffix == ".sqlite":
            with sqlite3.connect(path) as store:
                columns = "configuration, method, ensemble, trial, status, W, original, knockoff, selections, seed"
                for row in store.execute(f"SELECT {columns} FROM trials ORDER BY 1, 2, 3, 4"):
                    total.update(repr(row).encode())
        elif path.name == "trials.csv":
            trials = pd.read_csv(path)
            total.update(trials.drop(columns=[name for name in trials if "seconds" in name]).to_csv().encode())
        elif path.suffix != ".html":
            total.update(path.read_bytes())
    return total.hexdigest()


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_times(item) for name, item in value.items() if "seconds" not in name}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def table(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    frame["y"] = X[:, :6].sum(axis=1) + 0.3 * rng.standard_normal(200)
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def points(bench: Bench, count: int, kinds: Sequence[str], seed: int, folder: Path) -> Iterator[Point]:
    duration, expected = bench.in_peace(folder / "peace")
    rng = random.Random(f"{seed} {bench.name}")
    for kind in kinds:
        for k in range(count):
            after = START_SECONDS + rng.random() * 1.05 * duration
            here = folder / f"{kind} {k}".replace(" ", "-")
            yield bench.accident(kind, after, expected, here)
            shutil.rmtree(here, ignore_errors=True)


def report(found: pd.DataFrame) -> str:
    lines = ["# Commands that are killed, terminated or interrupted", ""]
    lines += [
        "| command | signal | points | done before | answered, median s | worst s | faults |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (command, kind), part in found.groupby(["command", "signal"], sort=False):
        stopped = part[part["exit_code"] != 0]["answered_seconds"]
        median, worst = (f"{stopped.median():.1f}", f"{stopped.max():.1f}") if len(stopped) else ("-", "-")
        done, faults = int((part["exit_code"] == 0).sum()), int((part["fault"] != "").sum())
        lines.append(f"| {command} | {kind} | {len(part)} | {done} | {median} | {worst} | {faults} |")
    wrong = found[found["fault"] != ""]
    lines += ["", f"{len(found)} points, {len(wrong)} with a fault.", ""]
    lines += [f"- {row.command}, {row.signal} after {row.after_seconds} s: {row.fault}" for row in wrong.itertuples()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=20, help="for every command and signal")
    parser.add_argument("--commands", default=",".join(COMMANDS), help=f"some of {', '.join(COMMANDS)}")
    parser.add_argument(
        "--also", action="append", default=[], metavar="NAME=LINE", help="another command; may be repeated"
    )
    parser.add_argument("--signals", default=",".join(SIGNALS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args()
    chosen = {name: COMMANDS[name] for name in options.commands.split(",") if name}
    chosen |= dict(line.split("=", 1) for line in options.also)
    options.out.mkdir(parents=True, exist_ok=True)
    found: list[Point] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = folder / "plan.toml"
        plan.write_text(SMALL)
        for command, line in chosen.items():
            bench = Bench(command, line, table(folder), plan)
            for point in points(bench, options.points, options.signals.split(","), options.seed, folder / "runs"):
                found.append(point)
                print(
                    f"{point.command}, {point.signal} after {point.after_seconds:.2f} s: {point.fault or 'well'}",
                    flush=True,
                )
                pd.DataFrame([asdict(each) for each in found]).to_csv(options.out / "points.csv", index=False)
            shutil.rmtree(folder / "runs", ignore_errors=True)
    text = report(pd.DataFrame([asdict(each) for each in found]))
    (options.out / "report.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(point.fault for point in found) else 0


if __name__ == "__main__":
    sys.exit(main())
