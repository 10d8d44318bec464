"""`grip2 select`: reads a table, selects features, writes the selection and its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grip2._output import OutputFolder
from grip2.commands.choices import Choices
from grip2.commands.console import notice, output, progress_bar, show_selection, warnings_as_notices
from grip2.commands.table import TableOptions, group, load
from grip2.filter import check_fdr
from grip2.report import selection_page
from grip2.result import SelectionResult
from grip2.selector import KnockoffSelector

FILES = ("selection.json", "selection.csv", "report.html")


def run(
    table: TableOptions,
    target: str,
    out: Path,
    choices: Choices,
    *,
    fdr: float,
    offset: int,
    draws: int,
    task: str,
    seed: int,
    jobs: int | None,
    force: bool,
) -> SelectionResult:
    check_fdr(fdr)
    selector = KnockoffSelector(
        choices.statistic,
        choices.sampler,
        fdr=fdr,
        offset=offset,
        n_draws=draws,
        task=task,
        random_state=seed,
        n_jobs=jobs,
    )
    with OutputFolder(out, FILES, force=force) as folder:
        prepared = load(table, target)
        with warnings_as_notices(), progress_bar("selecting") as progress:
            X, groups = group(prepared.X, table.group_threshold)
            result = replace(selector.fit(X, prepared.y, progress=progress).result_, groups=groups)
        notice(f"{target} is taken for {result.response}")
        folder.write(result_files(result, title=f"{table.path.name}: what explains {target}?", notes=prepared.notices))
    show_selection(result)
    output.print(f"Report: {out / 'report.html'}", markup=False)
    return result


def result_files(result: SelectionResult, *, title: str, notes: tuple[str, ...] = ()) -> dict[str, str]:
    """The contents of the three files that every selection writes."""
    return {
        "selection.json": result.to_json(),
        "selection.csv": result.to_frame().to_csv(index=False),
        "report.html": selection_page(result, title=title, notes=notes),
    }
