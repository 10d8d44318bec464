"""Running a calibration: one fit to the user's response, then simulated responses, kept in a store from which a run goes on."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from grip2._random import generator_from, stream
from grip2.calibration.identity import CONTENTS, Stored, check_same, contents_of, settings_of, stored_in, text_of
from grip2.calibration.plan import RUNS, CalibrationPlan, levels_with
from grip2.calibration.procedure import Parcel, Procedure
from grip2.calibration.signals import FEWEST_TRUE, SIGNALS
from grip2.calibration.strength import Strength, estimated_strength, given_strength
from grip2.calibration.study import CalibrationStudy, SimulatedSelection, Simulation
from grip2.calibration.trial import EXPERIMENT, Result, Task, execute, failed, run_task
from grip2.errors import Grip2Error
from grip2.experiments import loop
from grip2.experiments.plan import digest
from grip2.experiments.store import Store, TrialRow, remove_store
from grip2.experiments.trial import versions
from grip2.experiments.workers import InlineWorkers, Workers, open_workers
from grip2.progress import Progress
from grip2.selector import KnockoffSelector

# True units where the selection found too few to go by: a fifth of all, but no more than this.
MOST_TRUE = 20

Report = Callable[[loop.Progress], None]


def calibrate(
    X: Any,
    y: Any,
    selector: KnockoffSelector | None = None,
    *,
    clusters: Any = None,
    runs: int = RUNS,
    signals: Sequence[str] = SIGNALS,
    n_true: int | None = None,
    strength: float | None = None,
    out: str | Path | None = None,
    force: bool = False,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> CalibrationStudy:
    """Measure the false discovery rate and the power of a selector on the table ``X``, for responses with a known truth.

    Parameters
    ----------
    X, y, clusters
        As for ``KnockoffSelector.fit``. Of y, its values are dealt out anew in every simulated response.
    selector : KnockoffSelector or None
        The settings to calibrate; it is not changed. None: the defaults.
    runs : int
        Simulated responses in all, the kinds of ``signals`` in turn.
    signals : sequence of {"linear", "bends", "products", "mixture"}
        What responses depend on: straight effects, absolute values, products of two units, or a third of each.
    n_true : int or None
        Units on which a response depends. None: as many as the selector selects for ``y``.
    strength : float or None
        Share of the variance of a response that they explain. None: estimated on held-out rows of ``X`` and ``y``.
    out : path or None
        Folder in which trials are kept: a run that was stopped goes on there. None: nothing is kept.
    force : bool
        Begin again where the folder holds a calibration already.
    n_jobs, scheduler
        Processes of this machine (None: this one), or the address of a Dask scheduler.
    progress : callable or None
        Called with (trials done, trials in all).

    Returns
    -------
    CalibrationStudy
        ``str`` of it is the answer in words; ``summary()``, ``to_frame()`` and ``plot()`` have the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from grip2 import KnockoffSelector, calibrate
    >>> from grip2.statistics import LassoCoefficient
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 12))
    >>> y = X[:, :4].sum(axis=1) + rng.standard_normal(100)
    >>> selector = KnockoffSelector(LassoCoefficient(), "gaussian", fdr=0.2, random_state=0)
    >>> study = calibrate(X, y, selector, runs=4, signals=["linear"], n_true=4)
    >>> study.runs, study.levels
    (4, (0.05, 0.1, 0.2))
    """
    plan = CalibrationPlan(runs, tuple(signals), n_true, strength)

    def report(now: loop.Progress) -> None:
        if progress is not None:
            progress(now.done + now.failed, now.total)

    with _folder(out) as folder, _workers(n_jobs, scheduler) as workers:
        calibration = Calibration.prepare(X, y, selector, plan, folder, clusters=clusters, force=force)
        return calibration.run(workers, report)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibration that is ready to run: the user's selection is made, strength and number of true units are known."""

    plan: CalibrationPlan
    procedure: Procedure
    simulation: Simulation
    settings: dict[str, Any]  # with digests of the data: the identity of the calibration
    n_selected: int
    folder: Path
    force: bool

    @classmethod
    def prepare(
        cls,
        X: Any,
        y: Any,
        selector: KnockoffSelector | None,
        plan: CalibrationPlan,
        folder: Path,
        *,
        clusters: Any = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Calibration:
        """Fit the selector to the user's response; raises at once where the folder holds a calibration with other settings."""
        own: KnockoffSelector = KnockoffSelector() if selector is None else clone(selector)
        given = own.random_state if isinstance(own.random_state, int | np.integer) else None
        stored = None if force else stored_in(folder)
        settings = settings_of(own, plan, None if given is None else int(given))
        if stored is not None:
            check_same(Stored(_without_contents(stored), stored.seed), settings, folder)
        seed = _seed(own, stored)
        own.set_params(describe=False, random_state=seed).fit(X, y, clusters=clusters, progress=progress)
        procedure = Procedure.of(own, levels_with(own.fdr), seed)
        identity = {**settings, **contents_of(procedure)}
        check_same(stored, identity, folder)
        n_selected = int(own.result_.selected_mask.sum())
        simulation = _simulation(procedure, plan, n_selected)
        return cls(plan, procedure, simulation, identity, n_selected, folder, force)

    @property
    def configuration(self) -> str:
        """Names what decides a trial; rows in a store are found by it."""
        return digest([self.settings, self.procedure.seed])

    def run(self, workers: Workers, report: Report = lambda _: None) -> CalibrationStudy:
        """Compute the trials that the folder lacks."""
        if self.force:
            remove_store(self.folder)
        with Store(self.folder) as store:
            options = {"kind": EXPERIMENT, "seed": self.procedure.seed, "runs": self.plan.runs}
            store.begin_run(EXPERIMENT, text_of(self.settings), options)
            work: loop.Work[Task, Result] = loop.Work(
                run_task if workers.in_this_process else execute,
                partial(_unless_done, store),
                failed,
                lambda result: store.write([result.row], result.design),
                lambda: report(self.state(store)),
            )
            tasks = [task for task in self._tasks() if _unless_done(store, task) is not None]
            with loop.first_run(self.folder) as first:
                loop.Loop(tasks if first else tasks[::-1], work, workers).run()
            return self._study(store)

    def state(self, store: Store) -> loop.Progress:
        """How far it is."""
        wanted = self.plan.trials()
        settled = {signal: store.settled(self.configuration, signal, 1) for signal in self.plan.signals}
        statuses = [settled[signal].get(number) for signal, number in wanted]
        return loop.Progress(statuses.count("done"), statuses.count("failed"), len(wanted))

    def failures(self) -> list[str]:
        """The last lines of the errors of failed trials."""
        with Store(self.folder) as store:
            return [
                f"{signal}, trial {number}: {(error.strip() or 'no message').splitlines()[-1]}"
                for signal, _, number, _, error in store.failures()
            ]

    def _tasks(self) -> Iterator[Task]:
        parcel, how = Parcel(self.procedure), self.simulation
        for signal, number in self.plan.trials():
            yield Task(parcel, self.configuration, signal, number, how.n_true, how.strength)

    def _study(self, store: Store) -> CalibrationStudy:
        wanted = {trial: place for place, trial in enumerate(self.plan.trials())}
        rows = [row for signal in self.plan.signals for row in store.rows(self.configuration, signal, 1)]
        finished = sorted(
            (row for row in rows if row.status == "done" and (row.method, row.trial) in wanted),
            key=lambda row: wanted[row.method, row.trial],
        )
        if not finished:
            raise RuntimeError("no trial could be computed:\n" + "\n".join(row.error for row in rows[:1]))
        return CalibrationStudy(
            selections=tuple(_selection(row, store, level) for row in finished for level in self.procedure.levels),
            fdr=float(self.settings["fdr"]),
            levels=self.procedure.levels,
            signals=self.plan.signals,
            simulation=self.simulation,
            planned=self.plan.runs,
            failed=self.state(store).failed,
            n_rows=len(self.procedure.X),
            n_units=len(self.procedure.units.units),
            n_selected=self.n_selected,
            response=self.procedure.response.describe(),
            copies=self.procedure.copies,
            n_draws=self.procedure.n_draws,
            settings={name: value for name, value in self.settings.items() if name not in CONTENTS},
            seed=self.procedure.seed,
            versions=versions(),
        )


def _selection(row: TrialRow, store: Store, level: float) -> SimulatedSelection:
    design = store.design(row.design)
    assert design is not None
    selected, true = set(row.selections[f"{level:g}"]), set(design.truth)
    return SimulatedSelection(row.method, row.trial, level, len(true), len(selected), len(selected - true), row.seconds)


def _simulation(procedure: Procedure, plan: CalibrationPlan, n_selected: int) -> Simulation:
    n_true, why = _n_true(plan.n_true, n_selected, len(procedure.units.units))
    strength = _strength(procedure, plan)
    hidden = int(np.isnan(procedure.X).sum())
    return Simulation(strength.share, strength.reason, n_true, why, hidden)


def _n_true(given: int | None, n_selected: int, n_units: int) -> tuple[int, str]:
    """How many units are true, and why; at least one unit must be null."""
    if given is not None:
        if given >= n_units:
            raise Grip2Error(f"calibrate: of {n_units} units at most {n_units - 1} can be true, got {given}.")
        return given, "given"
    most = max(FEWEST_TRUE, n_units // 2)
    if n_units <= FEWEST_TRUE:
        raise Grip2Error(f"calibrate: at least {FEWEST_TRUE + 1} units are needed, got {n_units}.")
    if n_selected > most:
        return most, f"half of all; {n_selected} were selected for your response"
    if n_selected >= FEWEST_TRUE:
        return n_selected, "as many as were selected for your response"
    usual = max(FEWEST_TRUE, min(MOST_TRUE, n_units // 5))
    found = "one was" if n_selected else "none were"
    return usual, f"assumed: a fifth of all, at most {MOST_TRUE}, because {found} selected for your response"


def _strength(procedure: Procedure, plan: CalibrationPlan) -> Strength:
    if plan.strength is not None:
        return given_strength(plan.strength)
    rng = stream(np.random.default_rng(procedure.seed), "calibration: strength")
    functions, response, rows = procedure.functions, procedure.response, procedure.one_row_each
    if rows is not None:  # rows of one cluster in several folds would flatter every model
        chosen = rows.choose(rng)
        functions, response = functions.take(chosen), response.take(chosen)
    return estimated_strength(functions, response, rng)


def _seed(selector: KnockoffSelector, stored: Stored | None) -> int:
    """The seed of a selector; where it names none, that of the folder or a new one."""
    if isinstance(selector.random_state, int | np.integer):
        return int(selector.random_state)
    return stored.seed if stored is not None else int(generator_from(selector.random_state).integers(2**31))


def _without_contents(stored: Stored) -> dict[str, Any]:
    return {name: value for name, value in stored.identity.items() if name not in CONTENTS}


def _unless_done(store: Store, task: Task) -> Task | None:
    """The task, or None where its trial is finished; a failed one is tried again."""
    return None if store.settled(task.configuration, task.signal, 1).get(task.number) == "done" else task


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="grip2-") as folder:
        yield Path(folder)


@contextmanager
def _workers(n_jobs: int | None, scheduler: str | None) -> Iterator[Workers]:
    if scheduler is None and n_jobs in (None, 1):
        yield InlineWorkers()
        return
    with open_workers(None if n_jobs is None or n_jobs < 0 else n_jobs, scheduler) as workers:
        yield workers
