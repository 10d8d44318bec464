"""Computes one task of an experiment in a worker: data, knockoffs, one statistic, rows for the store.

Everything random in a trial derives from (plan seed, design, configuration or the fit that methods share, ensemble size,
trial number): not from the order of tasks, the number of workers, or what was computed before. Methods of one trial
therefore see the same data and knockoffs, even if different workers make them.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from grip2.experiments.designs import TrialTables, trial_tables
from grip2.experiments.methods import statistic_for
from grip2.experiments.plan import Cell, Plan, digest
from grip2.experiments.sources import SOURCES
from grip2.experiments.store import DesignRow, TrialRow
from grip2.filter import knockoff_threshold
from grip2.result import Importance
from grip2.statistics.base import Statistic

T = TypeVar("T")

_PACKAGES = ("grip2", "jax", "jaxlib", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Task:
    """A group of trials of one cell. The whole group is computed, but only the ``wanted`` trials are written."""

    plan: Plan
    cell: Cell
    group: tuple[int, ...]
    wanted: tuple[int, ...]  # those of the group that the store lacks
    data_home: Path | None = None
    threads: int = 1


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """The result of a computation, and the warnings it gave."""

    result: T
    notes: str = ""


def attempted(compute: Callable[[], T], failure: Callable[[str], T], threads: int = 1) -> Attempt[T]:
    """The result of a computation or, if it raises, what ``failure`` makes of the traceback."""
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(threads):
        warnings.simplefilter("default")
        try:
            result = compute()
        except Exception as error:
            return Attempt(failure("".join(traceback.format_exception(error))[-4000:]))
    return Attempt(result, "\n".join(dict.fromkeys(str(warning.message) for warning in caught))[:2000])


@dataclass(frozen=True)
class TaskResult:
    """The rows of a task for the store, and the truth of its design."""

    rows: tuple[TrialRow, ...]
    design: DesignRow | None = None


def run_task(task: Task) -> TaskResult:
    """Compute a task. An error becomes failed rows, so that it does not end the other trials."""
    found = attempted(partial(_computed, task), partial(failed, task), task.threads)
    if found.notes:
        return TaskResult(tuple(replace(row, notes=found.notes) for row in found.result.rows), found.result.design)
    return found.result


def failed(task: Task, error: str) -> TaskResult:
    """Rows that record why a task could not be computed."""
    return TaskResult(tuple(_row(task, trial, status="failed", error=error) for trial in task.wanted))


def group_size(plan: Plan, cell: Cell) -> int:
    """Trials computed together: several if they share X and y and the statistic gains from scoring several draws at once."""
    source = SOURCES[cell.design.source]
    together = source.shares_X and source.shares_y and statistic_for(plan, cell.method).batches_draws
    return plan.batch if together else 1


def _computed(task: Task) -> TaskResult:
    statistic = statistic_for(task.plan, task.cell.method)
    trials = trial_tables(task.plan.seed, task.cell.design, task.group, task.data_home)
    randomness = _randomness(task.cell, statistic)
    rngs = [_method_rng(task, randomness, trial) for trial in task.group]
    began = time.perf_counter()
    importances = _importances(statistic, trials, rngs)
    seconds = (time.perf_counter() - began) / len(task.group)
    rows = [
        _row(
            task,
            trial,
            seed=f"{task.plan.seed}/{randomness}/{trial}",
            status="done",
            W=importance.W,
            original=importance.original,
            knockoff=importance.knockoff,
            selections=selections(importance.W, task.plan.fdr, task.cell.design.copies),
            seconds=seconds,
            knockoff_seconds=trials.seconds,
            versions=versions(),
            settings={"statistic": type(statistic).__name__, **plain_parameters(statistic.get_params())},
        )
        for trial, importance in zip(task.group, importances, strict=True)
        if trial in task.wanted
    ]
    return TaskResult(tuple(rows), trials.design)


def _importances(statistic: Statistic, trials: TrialTables, rngs: Sequence[np.random.Generator]) -> list[Importance]:
    X, _, y = trials.tables[0]
    return statistic.importances(
        X, [table.Xk for table in trials.tables], y, rngs=rngs, task=trials.task, units=trials.units
    )


def selections(W: np.ndarray, levels: Sequence[float], copies: int = 1) -> dict[str, list[int]]:
    """Columns, or units of a grouped design, that the filter selects at each target fdr."""
    return {f"{fdr:g}": np.flatnonzero(W >= knockoff_threshold(W, fdr, copies=copies)).tolist() for fdr in levels}


def _randomness(cell: Cell, statistic: Statistic) -> str:
    """A key of a method's random numbers: its own, except that methods that read different scores off one fit share it."""
    identity = statistic.fit_identity()
    return cell.configuration if identity is None else digest({"design": cell.design.key, "fit": identity})


def _method_rng(task: Task, randomness: str, trial: int) -> np.random.Generator:
    entropy = [task.plan.seed, int(randomness, 16)]
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(trial, task.cell.method.ensemble)))


def _row(task: Task, trial: int, *, seed: str = "", **values: Any) -> TrialRow:
    return TrialRow(
        experiment=task.plan.name,
        configuration=task.cell.configuration,
        method=task.cell.method.name,
        ensemble=task.cell.method.ensemble,
        trial=trial,
        design=task.cell.design.key,
        seed=seed,
        **values,
    )


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _PACKAGES}


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in parameters.items()
        if value is None or isinstance(value, bool | int | float | str | tuple)
    }
