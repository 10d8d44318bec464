"""Running a plan: workers compute what the store lacks, and every result is written as soon as it arrives."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from grip2 import stopping
from grip2.errors import Grip2Failure
from grip2.experiments.plan import Design, Plan
from grip2.experiments.sources import SOURCES
from grip2.experiments.store import Store, StoreError
from grip2.experiments.trial import Task, TaskResult, failed, group_size, run_task
from grip2.experiments.workers import Workers, prepare_worker

_LOOK_SECONDS = 0.2  # between looks whether somebody wants to stop
MAX_DEATHS = 3  # of a worker under one task, before the task counts as failed


@dataclass(frozen=True)
class Progress:
    """Numbers of trials of a plan: finished (in this run or before), failed, and planned."""

    done: int
    failed: int
    total: int


@dataclass
class _Pending:
    task: Task
    deaths: int = 0


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
    with _first_run(store.path.parent) as first:
        queue = deque(_Pending(task) for task in missing_tasks(plan, store, retry_failed, data_home, threads))
        if not first:
            queue.reverse()
        if workers.here:
            fetch_data((pending.task.cell.design for pending in queue), data_home)
        _Loop(plan, store, workers, queue, retry_failed, report).run()
    return state(plan, store)


def fetch_data(designs: Iterable[Design], data_home: Path | None) -> None:
    """Have the data files ready before workers need them: downloaded once, and a run without data ends before it begins."""
    for design in {design.key: design for design in designs}.values():
        SOURCES[design.source].fetch(design.options, data_home)


def missing_tasks(
    plan: Plan, store: Store, retry_failed: bool = False, data_home: Path | None = None, threads: int = 1
) -> list[Task]:
    """Tasks with something to compute, all first trials before all second ones.

    Groups of trials are fixed by the plan: trial 13 is computed beside trials 10 to 19, whatever is missing of them.
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
    """How far a plan is."""
    done = failed = total = 0
    for cell in plan.cells():
        settled = store.settled(cell.configuration, cell.method.name, cell.method.ensemble)
        statuses = [settled.get(trial) for trial in range(cell.trials)]
        done += statuses.count("done")
        failed += statuses.count("failed")
        total += len(statuses)
    return Progress(done, failed, total)


def execute(task: Task) -> TaskResult:
    """What a worker is sent."""
    prepare_worker(task.threads)
    return run_task(task)


class _Loop:
    """Keeps the workers busy and the store up to date."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        workers: Workers,
        queue: deque[_Pending],
        retry_failed: bool,
        report: Callable[[Progress], None],
    ) -> None:
        self.plan, self.store, self.workers, self.queue = plan, store, workers, queue
        self.retry_failed, self.report = retry_failed, report
        self.active: dict[Future[TaskResult], _Pending] = {}

    def run(self) -> None:
        self.report(state(self.plan, self.store))
        while self.queue or self.active:
            self._submit()
            if not self.active:
                continue
            finished, _ = wait(self.active, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            stopping.check()
            if not finished:
                continue
            broken = [self._collect(future) for future in finished]
            if any(broken):
                self._recover()
            self.report(state(self.plan, self.store))

    def _submit(self) -> None:
        while self.queue and len(self.active) < self._window():
            pending = self.queue.popleft()
            task = _without_settled(pending.task, self.store, self.retry_failed)
            if task is None:  # another run has done it
                continue
            pending.task = task
            try:
                future = self.workers.executor.submit(execute, task)
            except BrokenProcessPool:
                self.queue.appendleft(pending)
                self._recover()
                continue
            self.active[future] = pending

    def _window(self) -> int:
        # A task under which a worker has died runs alone, so that it takes no other down with it.
        suspect = any(pending.deaths for pending in (*self.active.values(), self.queue[0]))
        return 1 if suspect else 2 * self.workers.capacity

    def _collect(self, future: Future[TaskResult]) -> bool:
        """Write the result of a task; True where its worker died."""
        pending = self.active.pop(future)
        try:
            result = future.result()
        except BrokenProcessPool:
            self._died(pending)
            return True
        except CancelledError:
            raise Grip2Failure("the Dask scheduler is gone. Finished trials are kept; run again to go on.") from None
        except Exception as error:  # the task could not be sent, or the cluster gave it up
            result = failed(pending.task, f"{type(error).__name__}: {error}")
        self.store.write(result.rows, result.design)
        return False

    def _died(self, pending: _Pending) -> None:
        pending.deaths += 1
        if pending.deaths < MAX_DEATHS:
            self.queue.appendleft(pending)
            return
        text = f"the worker process died {MAX_DEATHS} times under this trial (killed, or out of memory)."
        self.store.write(failed(pending.task, text).rows)

    def _recover(self) -> None:
        for future in list(self.active):
            pending = self.active.pop(future)
            self._died(pending)
        self.workers.replace()


def _without_settled(task: Task, store: Store, retry_failed: bool) -> Task | None:
    """The task with what is still to be written, or None."""
    method = task.cell.method
    settled = store.settled(task.cell.configuration, method.name, method.ensemble)
    closed = {trial for trial, status in settled.items() if status == "done" or not retry_failed}
    wanted = tuple(trial for trial in task.wanted if trial not in closed)
    return replace(task, wanted=wanted) if wanted else None


@contextmanager
def _first_run(folder: Path) -> Iterator[bool]:
    """True for the first of several runs on a folder. The lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: both runs begin at the same end
        yield True
        return
    with _opened(folder / "run.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield True


def _opened(path: Path) -> TextIO:
    """The lock file; never what a symbolic link in its place points to, which would be overwritten."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError(errno.EINVAL, "not an ordinary file")
    except OSError as error:
        raise StoreError(f"{path}: must be an ordinary file ({error.strerror}). Remove it, and run again.") from None
    return os.fdopen(number, "a")
