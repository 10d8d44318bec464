"""A progress bar of trials: finished, failed, planned, and the time that is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from grip2.commands.console import errors
from grip2.experiments.loop import Progress


@contextmanager
def trials_bar(label: str) -> Iterator[Callable[[Progress], None]]:
    """A callback that runs call with their progress, which the bar shows."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failures]}", style="red"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Trials may take minutes each: estimates must look back further than the half minute of rich.
    with Bar(*columns, console=errors, speed_estimate_period=3600) as bar:
        task = bar.add_task(label, total=None, failures="")

        def update(progress: Progress) -> None:
            failures = f"{progress.failed} failed" if progress.failed else ""
            bar.update(task, completed=progress.done + progress.failed, total=progress.total, failures=failures)

        yield update
