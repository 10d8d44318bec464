"""`grip2 select`: reads a table, selects features, writes the selection and its report."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grip2._output import OutputFolder
from grip2.commands.choices import Choices
from grip2.commands.console import notice, output, show_selection, warnings_as_notices
from grip2.commands.progress_display import progress_display
from grip2.commands.streamed import load_stream
from grip2.commands.table import TableOptions, TargetOptions, load, prepared, tell
from grip2.copies import AUTOMATIC
from grip2.experiments.workers import open_workers
from grip2.filter import check_fdr
from grip2.plain_text import spreadsheet_csv, visible_line
from grip2.report import selection_page
from grip2.responses.recognition import check_task
from grip2.result import SelectionResult
from grip2.selector import KnockoffSelector
from grip2.streaming.memory import AUTO, streams

FILES = ("selection.json", "selection.csv", "report.html")


@dataclass(frozen=True)
class SelectionOptions:
    """The options of a selection, beside statistic and sampler."""

    fdr: float = 0.1
    copies: int | str = AUTOMATIC
    draws: int = 1
    offset: int = 1
    task: str = "auto"
    seed: int = 0
    jobs: int | None = None  # processes for several draws
    scheduler: str | None = None  # address of a Dask cluster that runs them instead
    stream: str = AUTO  # are Parquet files read block by block? auto, always or never


def run(
    table: TableOptions,
    target: TargetOptions,
    out: Path,
    choices: Choices,
    options: SelectionOptions,
    *,
    force: bool,
    command: str = "",
) -> SelectionResult:
    selector = selector_of(choices, options)
    with OutputFolder(out, FILES, force=force) as folder:
        with warnings_as_notices(), progress_display("selecting") as progress, _executor(options) as executor:
            reading = f"reading {visible_line(table.path.name)}"
            progress.before(reading)
            if streams(table.path, options.stream):
                stream = load_stream(table, target, executor, progress.counting_before(reading))
                left_out, changes = stream.left_out, stream.notices
                result = selector.fit(stream.table, progress=progress, executor=executor).result_
            else:
                loaded = load(table, target)
                tell(loaded)
                progress.before("preparing the table")
                X, left_out = prepared(loaded, table)
                changes = loaded.notices
                fitted = selector.fit(X, loaded.y, clusters=loaded.clusters, progress=progress, executor=executor)
                result = fitted.result_
            if left_out:
                result = replace(result, groups={**result.groups, **left_out})
        notice(f"{target.target} is taken for {result.response}")
        notice(f"knockoff copies of every feature: {result.copies} ({result.copies_reason})")
        title = f"{table.path.name}: what explains {target.target}?"
        try:
            folder.write(result_files(result, title=title, changes=changes, command=command))
        finally:
            show_selection(result)  # even if files cannot be written: it may have taken hours
    output.print(f"Report: {out / 'report.html'}", markup=False)
    return result


def selector_of(choices: Choices, options: SelectionOptions) -> KnockoffSelector:
    """The selector with these options."""
    check_fdr(options.fdr)
    check_task(options.task, "--task")
    return KnockoffSelector(
        choices.statistic,
        choices.sampler,
        fdr=options.fdr,
        copies=options.copies,
        offset=options.offset,
        n_draws=options.draws,
        task=options.task,
        random_state=options.seed,
        n_jobs=options.jobs,
    )


@contextmanager
def _executor(options: SelectionOptions) -> Iterator[Executor | None]:
    """The Dask cluster that was named, if any."""
    if options.scheduler is None:
        yield None
        return
    with open_workers(options.jobs, options.scheduler) as workers:
        yield workers.executor


def result_files(
    result: SelectionResult,
    *,
    title: str,
    notes: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
    command: str = "",
) -> dict[str, str]:
    """The contents of the three files that every selection writes; ``command`` is the one that makes them again."""
    return {
        "selection.json": result.to_json(),
        "selection.csv": spreadsheet_csv(result.to_frame()),
        "report.html": selection_page(result, title=title, notes=notes, changes=changes, command=command),
    }
