"""Keeps workers busy: sends tasks out, writes every result the moment it arrives, and replaces dead workers.

`Work` defines what a task is and where its result is kept: trials of a plan and trials of a calibration run alike.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TextIO, TypeVar

from grip2 import stopping
from grip2.errors import Grip2Failure
from grip2.experiments.store import StoreError
from grip2.experiments.workers import Workers

_LOOK_SECONDS = 0.2  # between two checks whether to stop
MAX_DEATHS = 3  # workers that die under one task before it counts as failed

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress:
    """Numbers of trials: finished (in this run or before), failed, and planned."""

    done: int
    failed: int
    total: int


@dataclass(frozen=True)
class Work(Generic[Task, Result]):
    """What is done with tasks and their results."""

    execute: Callable[[Task], Result]  # sent to a worker together with the task
    still_wanted: Callable[[Task], Task | None]  # the part that no other run has done meanwhile; None: all is done
    failed: Callable[[Task, str], Result]  # the result of a task that could not be computed, and why
    write: Callable[[Result], None]
    report: Callable[[], None]  # called at the start, and after every result


@dataclass
class _Pending(Generic[Task]):
    """A task that waits or is at work."""

    task: Task
    deaths: int = 0  # of workers under it


class Loop(Generic[Task, Result]):
    """Keeps the workers busy and the store up to date."""

    def __init__(self, tasks: Iterable[Task], work: Work[Task, Result], workers: Workers) -> None:
        self.queue = deque(_Pending(task) for task in tasks)
        self.work, self.workers = work, workers
        self.active: dict[Future[Result], _Pending[Task]] = {}

    def run(self) -> None:
        self.work.report()
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
            self.work.report()

    def _submit(self) -> None:
        while self.queue and len(self.active) < self._window():
            pending = self.queue.popleft()
            task = self.work.still_wanted(pending.task)
            if task is None:  # another run has done it
                continue
            pending.task = task
            try:
                future = self.workers.executor.submit(self.work.execute, task)
            except BrokenProcessPool:
                self.queue.appendleft(pending)
                self._recover()
                continue
            self.active[future] = pending

    def _window(self) -> int:
        # A task under which a worker has died runs alone: if it kills another one, no other task is lost with it.
        suspect = any(pending.deaths for pending in (*self.active.values(), self.queue[0]))
        return 1 if suspect else self.workers.window

    def _collect(self, future: Future[Result]) -> bool:
        """Write the result of a task; True if its worker died."""
        pending = self.active.pop(future)
        try:
            result = future.result()
        except BrokenProcessPool:
            self._died(pending)
            return True
        except CancelledError:
            raise Grip2Failure("the Dask scheduler is gone. Finished trials are kept; run again to go on.") from None
        except Exception as error:  # the task could not be sent, or the cluster has given it up
            result = self.work.failed(pending.task, f"{type(error).__name__}: {error}")
        self.work.write(result)
        return False

    def _died(self, pending: _Pending[Task]) -> None:
        pending.deaths += 1
        if pending.deaths < MAX_DEATHS:
            self.queue.appendleft(pending)
            return
        text = f"the worker process died {MAX_DEATHS} times under this trial (killed, or out of memory)."
        self.work.write(self.work.failed(pending.task, text))

    def _recover(self) -> None:
        for future in list(self.active):
            pending = self.active.pop(future)
            self._died(pending)
        self.workers.replace()


@contextmanager
def first_run(folder: Path) -> Iterator[bool]:
    """True for the first of several runs on a folder. The lock is released when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: every run counts as the first
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
    """The opened lock file; a symbolic link is refused, because the file that it points to would be overwritten."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise OSError(errno.EINVAL, "not an ordinary file")
    except OSError as error:
        raise StoreError(f"{path}: must be an ordinary file ({error.strerror}). Remove it, and run again.") from None
    return os.fdopen(number, "a")
