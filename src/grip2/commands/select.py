"""`grip2 select`: a file in, a selection and its report out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from grip2._output import OutputFolder
from grip2.commands.console import notice, output, progress_bar, show_selection, warnings_as_notices
from grip2.commands.table import group, load
from grip2.filter import check_fdr
from grip2.knockoffs.registry import SAMPLERS
from grip2.report import selection_page
from grip2.result import SelectionResult
from grip2.selector import KnockoffSelector
from grip2.statistics.registry import STATISTICS

FILES = ("selection.json", "selection.csv", "report.html")


def run(
    table: Path,
    target: str,
    out: Path,
    *,
    statistic: str,
    knockoffs: str,
    drop: list[str],
    impute: bool,
    group_threshold: float | None,
    seed: int,
    force: bool,
    **parameters: Any,
) -> SelectionResult:
    check_fdr(parameters["fdr"])
    chosen_statistic, chosen_sampler = STATISTICS.create(statistic), SAMPLERS.create(knockoffs)
    with OutputFolder(out, FILES, force=force) as folder:
        prepared = load(table, target, drop=drop, impute=impute)
        selector = KnockoffSelector(chosen_statistic, chosen_sampler, random_state=seed, **parameters)
        with warnings_as_notices(), progress_bar("selecting") as progress:
            X, groups = group(prepared.X, group_threshold)
            result = replace(selector.fit(X, prepared.y, progress=progress).result_, groups=groups)
        notice(f"{target} is taken for {result.response}")
        folder.write(result_files(result, title=f"{table.name}: what explains {target}?", notes=prepared.notices))
    show_selection(result)
    output.print(f"Report: {out / 'report.html'}", markup=False)
    return result


def result_files(result: SelectionResult, *, title: str, notes: tuple[str, ...] = ()) -> dict[str, str]:
    """The contents of the three files every selection leaves."""
    return {
        "selection.json": result.to_json(),
        "selection.csv": result.to_frame().to_csv(index=False),
        "report.html": selection_page(result, title=title, notes=notes),
    }
