"""Finished parts of the suite in one CSV file, a line each: what a stopped run goes on from."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guarantee.evidence import LEVELS, Tally

COLUMNS = (
    "cell", "kind", "first", "trials", "refused", "seconds", "wins", "top_wins", "fdp", "fdp_squared", "power", "wealth", "error",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """Some trials of one kind of a cell, from number ``first`` on; ``error`` says why there are none."""

    cell: str
    kind: str
    first: int
    tally: Tally
    error: str = ""


def append(file: Path, part: Part) -> None:
    """Add a line, and the names of the columns before the first one."""
    new = not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    tally = part.tally
    arrays = (tally.wins, tally.top_wins, tally.fdp, tally.fdp_squared)
    texts = [" ".join(f"{value:.8g}" for value in np.ravel(array)) for array in arrays]
    wealth = " ".join(f"{value:.8g}" for value in np.ravel(tally.wealth)) if part.kind == "selection" else ""
    row = [part.cell, part.kind, part.first, tally.trials, tally.refused, f"{tally.seconds:.3f}", *texts]
    with file.open("a", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        if new:
            writer.writerow(COLUMNS)
        writer.writerow([*row, f"{tally.power:.8g}", wealth, part.error])


def load(file: Path) -> list[Part]:
    """All parts. A last line that a killed run left incomplete is removed from the file."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [_part(row) for row in csv.DictReader(whole.splitlines())]


def totals(parts: Iterable[Part]) -> dict[tuple[str, str], Tally]:
    """The tally of every cell and kind."""
    found: dict[tuple[str, str], Tally] = {}
    for part in parts:
        key = (part.cell, part.kind)
        found[key] = found.get(key, Tally()) + part.tally
    return found


def _part(row: dict[str, str]) -> Part:
    wins, top_wins, fdp, fdp_squared, wealth = (
        np.array(row[name].split(), dtype=float) for name in ("wins", "top_wins", "fdp", "fdp_squared", "wealth")
    )
    tally = Tally(int(row["trials"]), int(row["refused"]), float(row["seconds"]), wins, top_wins, fdp, fdp_squared)
    if row["kind"] == "selection" and len(wealth):
        tally = Tally(
            tally.trials, tally.refused, tally.seconds, wins, top_wins, fdp, fdp_squared, float(row["power"]),
            wealth.reshape(len(LEVELS), -1),
        )  # fmt: skip
    return Part(row["cell"], row["kind"], int(row["first"]), tally, row["error"])
