"""The report: README.md with a line for every pair of cells, cells.csv, and one figure."""

from __future__ import annotations

import csv
import platform
from collections import Counter
from itertools import groupby
from pathlib import Path

import numpy as np

import grip2
from guarantee.cells import Cell, all_cells
from guarantee.defects import DEFECTS, description
from guarantee.evidence import FAILS_AT, LEVELS
from guarantee.figure import draw_figure
from guarantee.run import SELECTIONS, SIGNS
from guarantee.store import load
from guarantee.verdicts import FEW_SELECTIONS, FEW_SIGNS, Row, judge

FAMILIES = {
    "statistics": "Every statistic on exact knockoffs",
    "models": "The default statistic and its parts on every table",
    "designs": "Cheap statistics on every table",
    "signals": "Signals that are not linear",
    "selector": "Whole selections by `KnockoffSelector`",
    "samplers": "Every statistic with estimated knockoffs",
    "defaults": "The default statistic with its default settings",
}
_LOG_10 = np.log(10.0)


def rows_of(folder: Path) -> list[Row]:
    return judge(all_cells(), load(folder / "trials.csv"))


def failures(folder: Path) -> list[str]:
    """One line for every cell that must pass and does not."""
    return [f"{row.cell.key}: {row.verdict} {row.error}" for row in rows_of(folder) if row.failed]


def write_report(folder: Path) -> None:
    rows = rows_of(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(_page(rows, folder)) + "\n", encoding="utf-8")
    (folder / "guarantee.svg").write_text(draw_figure([row for row in rows if row.reached]), encoding="utf-8")
    _write_cells(folder / "cells.csv", rows)


def _page(rows: list[Row], folder: Path) -> list[str]:
    return [
        "# The guarantee, cell by cell",
        "",
        "Written by `make guarantee` and `make guarantee-defects`; do not edit. What is claimed: on exact knockoffs each member",
        "of a null unit wins equally often, and the mean false discovery proportion is at most its level. What is only reported:",
        "what it costs to estimate the law of X from the same rows.",
        "",
        *_summary(rows),
        "",
        "![Shares of null signs and mean false discovery proportions](guarantee.svg)",
        "",
        *_method(rows),
        "",
        *_defects(folder / "defects.csv"),
        "",
        *(line for family, title in FAMILIES.items() for line in _family(title, [r for r in rows if r.cell.family == family])),
    ]  # fmt: skip


def _summary(rows: list[Row]) -> list[str]:
    exact = [row for row in rows if row.cell.exact]
    others = [row for row in rows if not row.cell.exact]
    seconds = sum(row.signs.seconds + row.selections.seconds for row in rows)
    signs, selections = sum(row.signs.signs for row in rows), sum(row.selections.trials for row in rows)
    signs_each = _spread([row.signs.signs for row in rows if row.cell.tests_signs])
    selections_each = _spread([row.selections.trials for row in rows])
    lines = [
        f"Time of this run: {seconds / 60:.0f} minutes of one process; {signs:,} signs without the shuffle and "
        f"{selections:,} selections; grip2 {grip2.__version__}, Python {platform.python_version()}.",
        "",
        "| cells | number | verdicts |",
        "|---|---|---|",
        f"| exact knockoffs | {len(exact)} | {_verdicts(exact)} |",
        f"| estimated knockoffs | {len(others)} | {_verdicts(others)} |",
        "",
        f"Signs for each tested cell: {signs_each}; selections for each cell: {selections_each}. Fewer than {FEW_SIGNS:,} signs "
        f"or {FEW_SELECTIONS} selections are few: "
        "nothing was found there, and little was looked at.",
        "",
    ]
    failed = [f"- **{row.cell.key}**: {row.verdict} {row.error}" for row in rows if row.failed]
    worst = [row for row in others if row.above_level]
    few = sum(row.verdict == "few trials" for row in exact)
    rest = f" In {few} of them too little was looked at to say more." if few else ""
    lines += ["Failed:", "", *failed, ""] if failed else [f"No cell that must pass has failed.{rest}", ""]
    if worst:
        lines += ["Estimated knockoffs above their level (e-process at least 1e4):", ""]
        lines += [f"- {row.cell.key}: {_fdp(row)}" for row in worst]
    else:
        lines += ["No cell with estimated knockoffs is above its level with an e-process of 1e4 in so many trials."]
    return lines


def _verdicts(rows: list[Row]) -> str:
    return (
        ", ".join(f"{count} {name}" for name, count in sorted(Counter(row.verdict for row in rows).items())) or "none"
    )


def _spread(counts: list[int]) -> str:
    low, middle, high = np.quantile(counts, [0.0, 0.5, 1.0])
    return f"{low:,.0f} to {high:,.0f}, median {middle:,.0f}"


def _method(rows: list[Row]) -> list[str]:
    tested = sum(row.cell.tests_signs for row in rows)
    levels = " and ".join(map(str, LEVELS))
    return [
        "## How to read it",
        "",
        f"**Signs.** The statistic without the shuffle of members, on exact knockoffs: up to {SIGNS:,} signs of null units",
        "for each cell, fewer where time was over (the number is in the table). The evidence is an e-process, the",
        "likelihood ratio of a Dirichlet mixture to fair winners, over all null units and over the quarter with",
        f"the largest W. A cell fails at e >= 1e4 x {tested} cells, so that all sign tests together give a false alarm with a",
        "probability of at most 1e-4, at whatever time the suite is stopped or resumed (Ville's inequality).",
        "",
        f"**False discoveries.** Up to {SELECTIONS} selections for each cell, judged at {levels}. The evidence is a mixture",
        "of bets on `FDP - q`, a nonnegative supermartingale while `E FDP <= q` (`guarantee/evidence.py`). A cell fails at",
        f"e >= {FAILS_AT:,.0f}: a false alarm with a probability of at most 1e-4 for each cell.",
        "",
        "In the tables, `first` is the share of nonzero null W that the original wins; fair is 1/2, with three copies 1/4. `FDP`",
        "is the mean at both levels with its standard error, `power` is at the larger level, and `e` is log10 of the e-value,",
        "first of the signs, then of the false discoveries. Networks and chains have small settings (`guarantee/cells.py`),",
        "except in the last table. A selection that is refused with an error counts as empty, and not as a trial that shows "
        "anything.",
    ]


def _defects(file: Path) -> list[str]:
    if not file.exists():
        return ["## Planted defects", "", "Not run yet: `make guarantee-defects`."]
    with file.open(encoding="utf-8", newline="") as lines:
        found = {row["defect"]: row for row in csv.DictReader(lines)}
    planted = [name for name in DEFECTS if name in found]
    caught = sum(bool(found[name]["caught_by"]) for name in planted)
    seconds = sum(float(row["seconds"]) for row in found.values())
    clean = found.get("none")
    without = "" if clean is None else f" Without a defect the same checks find {clean['caught_by'] or 'nothing'}."
    return [
        "## Planted defects",
        "",
        f"{caught} of {len(planted)} are caught, in {seconds / 60:.1f} minutes on one core.{without} The same checks run for",
        "every defect, in the same order, until one of them fails at e >= 1e4 x the number of checks; sign tests, which take the",
        "shuffle of members away, are left out where the defect is that it is missing.",
        "",
        "| defect | what is wrong | caught by | trials | log10 e |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {description(name)} | {found[name]['caught_by'] or '**not caught**'} | {found[name]['trials']} | "
            f"{found[name]['log10_e']} |"
            for name in planted
        ),
    ]


def _family(title: str, rows: list[Row]) -> list[str]:
    """A table with the cells of one and of three copies side by side."""
    lines = [f"## {title}", ""]
    reached = [row for row in rows if row.reached]
    if not reached:
        return [*lines, f"None of {len(rows)} cells was reached in this time.", ""]
    if len(reached) < len(rows):
        lines += [f"{len(rows) - len(reached)} of {len(rows)} cells were not reached in this time.", ""]
    lines += [
        "| statistic | knockoffs | task | table | signal | copies | signs | first | trials | FDP | power | e | verdict |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for _, pair in groupby(sorted(reached, key=_label), key=_label):
        lines += [_line(row) for row in sorted(pair, key=lambda row: row.cell.copies)]
    return [*lines, ""]


def _label(row: Row) -> tuple[str, ...]:
    cell = row.cell
    return (cell.sampler, cell.task, cell.design, _statistic(cell), cell.signal)


def _statistic(cell: Cell) -> str:
    return cell.statistic + (f", {cell.draws} draws" if cell.draws > 1 else "")


def _line(row: Row) -> str:
    cell, signs, found = row.cell, row.signs, row.selections
    share = f"{signs.wins[0] / signs.signs:.3f}" if signs.signs else "-"
    evidence = f"{signs.log_e_signs / _LOG_10:.1f}, {found.worst / _LOG_10:.1f}"
    trials = str(found.trials) + (f" ({found.refused} refused)" if found.refused else "")
    told = (
        _statistic(cell), cell.sampler, cell.task, cell.design, cell.signal, str(cell.copies), f"{signs.signs:,}", share,
        trials, _fdp(row), f"{found.mean_power:.2f}" if cell.signal != "none" else "-", evidence, row.verdict,
    )  # fmt: skip
    return f"| {' | '.join(told)} |"


def _fdp(row: Row) -> str:
    found = row.selections
    if not found.trials:
        return "-"
    return ", ".join(f"{mean:.3f} ± {se:.3f}" for mean, se in zip(found.mean_fdp, found.error_of_fdp, strict=True))


def _write_cells(file: Path, rows: list[Row]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(
            ["cell", "family", "exact", "signs", "wins", "log10_e_signs", "trials", "refused", "fdp_0.1", "fdp_0.2", "se_0.1",
             "se_0.2", "power", "log10_e_fdp", "verdict"]
        )  # fmt: skip
        for row in rows:
            found = row.selections
            numbers = [*found.mean_fdp, *found.error_of_fdp, found.mean_power]
            writer.writerow(
                [row.cell.key, row.cell.family, row.cell.exact, row.signs.signs, " ".join(f"{x:.0f}" for x in row.signs.wins),
                 f"{row.signs.log_e_signs / _LOG_10:.2f}", found.trials, found.refused, *(f"{x:.4f}" for x in numbers),
                 f"{found.worst / _LOG_10:.2f}", row.verdict]
            )  # fmt: skip
