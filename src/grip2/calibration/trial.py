"""One trial of a calibration, as a worker runs it: a simulated response, the whole selection, a row for the store."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grip2.calibration.procedure import Parcel
from grip2.experiments.plan import digest
from grip2.experiments.store import DesignRow, TrialRow
from grip2.experiments.trial import attempted, versions
from grip2.experiments.workers import prepare_worker

EXPERIMENT = "calibrate"


@dataclass(frozen=True)
class Task:
    """A simulated response and the selection on it."""

    parcel: Parcel
    configuration: str  # names the table and all settings
    signal: str
    number: int
    n_true: int
    strength: float


@dataclass(frozen=True)
class Result:
    row: TrialRow
    design: DesignRow | None = None


def execute(task: Task) -> Result:
    """What a worker is sent."""
    prepare_worker(threads=1)
    return run_task(task)


def run_task(task: Task) -> Result:
    """Compute a trial. An error becomes a failed row: it must not end the other trials."""
    found = attempted(partial(_computed, task), partial(failed, task))
    return replace(found.result, row=replace(found.result.row, notes=found.notes)) if found.notes else found.result


def failed(task: Task, error: str) -> Result:
    """The row that records why a trial could not be computed."""
    return Result(_row(task, status="failed", error=error))


def _computed(task: Task) -> Result:
    procedure = task.parcel.procedure
    rng = procedure.rng(task.signal, task.number)
    began = time.perf_counter()
    truth, response = procedure.simulate(task.signal, task.n_true, task.strength, rng)
    selected = procedure.select(response, rng)
    row = _row(
        task,
        status="done",
        W=selected.W,
        selections={f"{level:g}": units.tolist() for level, units in selected.at.items()},
        seconds=time.perf_counter() - began,
        seed=f"{procedure.seed}/{task.signal}/{task.number}",
        versions=versions(),
    )
    names = procedure.units.names
    design = DesignRow(
        design=row.design,
        parameters={"signal": task.signal, "n_true": task.n_true, "strength": task.strength},
        n=len(procedure.X),
        p=len(names),
        feature_names=names,
        units=tuple(range(len(names))),
        truth=tuple(int(unit) for unit in truth.units),
    )
    return Result(row, design)


def _row(task: Task, **values: Any) -> TrialRow:
    return TrialRow(
        experiment=EXPERIMENT,
        configuration=task.configuration,
        method=task.signal,
        ensemble=1,
        trial=task.number,
        design=digest([task.configuration, task.signal, task.number]),
        **values,
    )
