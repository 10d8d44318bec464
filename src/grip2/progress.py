"""Progress callbacks: the progress of a whole from that of its parts, the current phase, and an estimate of the time left."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

# Called with (work done, work in all); work that takes no time need not call it. Returning False ends training early. It may be
# called from other threads, but never by two at once.
Progress = Callable[[int, int], bool | None]


class PhasedProgress(ABC):
    """Progress that also gets the names of phases; it can be passed wherever a `Progress` is expected."""

    @abstractmethod
    def __call__(self, done: int, total: int) -> bool | None:
        """Report how much of the work is done."""

    @abstractmethod
    def phase(self, name: str, *, paced: bool = False) -> None:
        """Name the phase that begins, such as "fitting knockoffs". ``paced``: the time left can be estimated from now on."""


def begin(progress: Progress | None, phase: str, *, paced: bool = False) -> None:
    """Name the phase that begins, if ``progress`` wants names."""
    if isinstance(progress, PhasedProgress):
        progress.phase(phase, paced=paced)


class _Within(PhasedProgress):
    """Progress of a part; its phases are passed on to the whole."""

    def __init__(self, whole: Progress, report: Callable[[int, int], bool | None]) -> None:
        self._whole = whole
        self._report = report

    def __call__(self, done: int, total: int) -> bool | None:
        return self._report(done, total)

    def phase(self, name: str, *, paced: bool = False) -> None:
        begin(self._whole, name, paced=paced)


class _WithinLocked(_Within):
    """The same for a part that is worked on beside others: its phases wait for reports of the others."""

    def __init__(self, whole: Progress, report: Callable[[int, int], bool | None], lock: threading.Lock) -> None:
        super().__init__(whole, report)
        self._lock = lock

    def phase(self, name: str, *, paced: bool = False) -> None:
        with self._lock:
            super().phase(name, paced=paced)


class _AllOf(PhasedProgress):
    """Passes everything on to several callbacks."""

    def __init__(self, every: list[Progress]) -> None:
        self._every = every

    def __call__(self, done: int, total: int) -> bool | None:
        return False if False in [each(done, total) for each in self._every] else None

    def phase(self, name: str, *, paced: bool = False) -> None:
        for each in self._every:
            begin(each, name, paced=paced)


def joined_progress(*several: Progress | None) -> Progress | None:
    """One callback that calls all of them; None if there are none."""
    every = [each for each in several if each is not None]
    return _AllOf(every) if len(every) > 1 else next(iter(every), None)


def share_progress(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """The progress of one of several equal parts of a work, as progress of the whole."""
    if progress is None:
        return None
    return _Within(progress, lambda done, total: progress(part * total + done, parts * total))


def split_progress(progress: Progress | None, *sizes: int) -> list[Progress | None]:
    """One callback for each of several parts of the given sizes; together they report the progress of the whole."""
    if progress is None:
        return [None] * len(sizes)
    whole = sum(sizes)

    def of_part(before: int, size: int) -> Progress:
        return _Within(progress, lambda done, total: progress(before + size * done // max(1, total), whole))

    return [of_part(sum(sizes[:k]), size) for k, size in enumerate(sizes)]


def parallel_progress(progress: Progress | None, parts: int) -> list[Progress | None]:
    """One callback for each of several equal parts of a work that are done at the same time, by different threads."""
    if progress is None:
        return [None] * parts
    done, lock, fine = [0] * parts, threading.Lock(), 10_000

    def of_part(k: int) -> Progress:
        def report(part_done: int, total: int) -> bool | None:
            with lock:
                done[k] = fine * part_done // max(1, total)
                return progress(sum(done), fine * parts)

        return _WithinLocked(progress, report, lock)

    return [of_part(k) for k in range(parts)]


def counted_progress(progress: Progress | None, steps: int) -> Callable[[], None]:
    """A function to call once after each of so many equal steps, from any thread."""
    if progress is None:
        return lambda: None
    done, lock = 0, threading.Lock()

    def step() -> None:
        nonlocal done
        with lock:
            done += 1
            progress(done, steps)

    return step


def seconds_left(elapsed: float, share_done: float) -> float | None:
    """Seconds left at the mean speed so far; None before 5 s have passed and 5 % are done, when it would be a guess."""
    if elapsed < 5.0 or not 0.05 <= share_done <= 1.0:
        return None
    return elapsed * (1.0 - share_done) / share_done


def time_in_words(seconds: float) -> str:
    """ "40 s", "3 min", "2.5 h": with few digits, as for an estimate.

    >>> [time_in_words(seconds) for seconds in (4, 43, 170, 5000)]
    ['5 s', '45 s', '3 min', '1.4 h']
    """
    if seconds < 90:
        return f"{max(1, round(seconds / 5)) * 5} s"
    return f"{round(seconds / 60)} min" if seconds < 3600 else f"{seconds / 3600:.2g} h"
