"""`grip2 select`: a file in, a selection and its report out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grip2._output import OutputFolder
from grip2.commands.show import notice, output, progress_bar, selection_table, warnings_as_notices
from grip2.datasets.tables import TableError, prepare, read_table
from grip2.filter import check_fdr
from grip2.knockoffs.registry import create as create_sampler
from grip2.report import selection_page
from grip2.result import SelectionResult
from grip2.selector import KnockoffSelector
from grip2.statistics.registry import create as create_statistic

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
    seed: int,
    force: bool,
    **parameters: Any,
) -> SelectionResult:
    check_fdr(parameters["fdr"])
    chosen_statistic, chosen_sampler = create_statistic(statistic), create_sampler(knockoffs)
    with OutputFolder(out, FILES, force=force) as folder:
        try:
            prepared = prepare(read_table(table), target, drop=drop, impute=impute)
        except TableError as error:
            raise TableError(str(error) if str(table) in str(error) else f"{table}: {error}") from None
        for line in prepared.notices:
            notice(line)
        selector = KnockoffSelector(chosen_statistic, chosen_sampler, random_state=seed, **parameters)
        with warnings_as_notices(), progress_bar("selecting") as progress:
            result = selector.fit(prepared.X, prepared.y, progress=progress).result_
        folder.write(result_files(result, title=f"{table.name}: what explains {target}?", notes=prepared.notices))
    output.print(selection_table(result))
    output.print(f"{result.reason}\nReport: {out / 'report.html'}", markup=False)
    return result


def result_files(result: SelectionResult, *, title: str, notes: tuple[str, ...] = ()) -> dict[str, str]:
    """The contents of the three files every selection leaves."""
    return {
        "selection.json": result.to_json(),
        "selection.csv": result.to_frame().to_csv(index=False),
        "report.html": selection_page(result, title=title, notes=notes),
    }
