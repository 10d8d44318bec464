"""Runs a plan: workers compute what the store lacks, and every result is written as soon as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from grip2.experiments.loop import Loop, Progress, Work, first_run
from grip2.experiments.plan import Design, Plan
from grip2.experiments.sources import SOURCES
from grip2.experiments.store import Store
from grip2.experiments.trial import Task, TaskResult, failed, group_size, run_task
from grip2.experiments.workers import Workers, prepare_worker


def run_plan(
    plan: Plan,
    store: Store,
    workers: Workers,
    *,
    retry_failed: bool = False,
    data_home: Path | None = None,
    threads: int = 1,
    report: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Compute what is missing; returns the state of the plan at the end.

    A second run on the same store begins at the other end of the plan, and each looks at the store before it starts a
    task: they meet in the middle and compute little twice.
    """
    work = Work(
        execute,
        partial(_without_settled, store=store, retry_failed=retry_failed),
        failed,
        lambda result: store.write(result.rows, result.design),
        lambda: report(state(plan, store)),
    )
    with first_run(store.path.parent) as first:
        tasks = missing_tasks(plan, store, retry_failed, data_home, threads)
        if workers.here:
            fetch_data((task.cell.design for task in tasks), data_home)
        Loop(tasks if first else tasks[::-1], work, workers).run()
    return state(plan, store)


def fetch_data(designs: Iterable[Design], data_home: Path | None) -> None:
    """Have data files ready before workers need them: they are downloaded once, and a run without data fails at its start."""
    for design in {design.key: design for design in designs}.values():
        SOURCES[design.source].fetch(design.options, data_home)


def missing_tasks(
    plan: Plan, store: Store, retry_failed: bool = False, data_home: Path | None = None, threads: int = 1
) -> list[Task]:
    """Tasks with something to compute: the first trials of all cells, then the second ones, and so on.

    Groups of trials are fixed by the plan: trial 13 is computed together with trials 10 to 19, whichever of them are missing.
    """
    tasks = []
    for number, cell in enumerate(plan.cells()):
        size = group_size(plan, cell)
        for start in range(0, cell.trials, size):
            group = tuple(range(start, start + size))
            wanted = tuple(trial for trial in group if trial < cell.trials)
            task = Task(plan, cell, group, wanted, data_home, threads)
            tasks.append((start, number, task))
    tasks.sort(key=lambda entry: entry[:2])
    found = (_without_settled(task, store, retry_failed) for _, _, task in tasks)
    return [task for task in found if task is not None]


def state(plan: Plan, store: Store) -> Progress:
    """How much of a plan is done."""
    done = failed = total = 0
    for cell in plan.cells():
        settled = store.settled(cell.configuration, cell.method.name, cell.method.ensemble)
        statuses = [settled.get(trial) for trial in range(cell.trials)]
        done += statuses.count("done")
        failed += statuses.count("failed")
        total += len(statuses)
    return Progress(done, failed, total)


def execute(task: Task) -> TaskResult:
    """Run a task in a worker."""
    prepare_worker(task.threads)
    return run_task(task)


def _without_settled(task: Task, store: Store, retry_failed: bool) -> Task | None:
    """The task with the trials that are still to be written; None if there are none."""
    method = task.cell.method
    settled = store.settled(task.cell.configuration, method.name, method.ensemble)
    closed = {trial for trial, status in settled.items() if status == "done" or not retry_failed}
    wanted = tuple(trial for trial in task.wanted if trial not in closed)
    return replace(task, wanted=wanted) if wanted else None
