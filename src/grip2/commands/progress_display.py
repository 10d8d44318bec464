"""Progress on standard error while a command works: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as RichProgress

from grip2 import stopping
from grip2.commands.console import errors
from grip2.progress import PhasedProgress, seconds_left, time_in_words

# Seconds between two looks of a log; between two lines of it, where a new phase has begun, work has gone on, or neither.
EVERY = 1.0
BETWEEN_PHASES, BETWEEN_LINES, UNCHANGED = 2.0, 5.0, 30.0


class Display(PhasedProgress):
    """What is being done, how much of it is done and how long the rest will take, as far as that can be said."""

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._check, self._clock = check, clock
        self._doing, self._share = "", 0.0
        self._began = False
        self._pace: tuple[float, float] | None = None  # when and at which share the pace of the rest began

    def before(self, what: str) -> None:
        """Something that comes before the work itself, such as reading a file."""
        self._doing = what
        self._show()

    def phase(self, name: str, *, paced: bool = False) -> None:
        self._began, self._doing = True, name
        if paced:
            self._pace = (self._clock(), self._share)
        self._show()

    def __call__(self, done: int, total: int) -> None:
        self._check()
        self._began = True
        self._share = done / max(1, total)
        self._show()

    def _left(self) -> str:
        """The estimate in words; empty while it would be a guess."""
        if self._pace is None or self._share == 1:
            return ""
        since, share = self._pace
        left = seconds_left(self._clock() - since, (self._share - share) / (1.0 - share))
        return "" if left is None else f"about {time_in_words(left)} left"

    @abstractmethod
    def _show(self) -> None:
        """Bring what people see up to date."""


class Bar(Display):
    """One bar of rich, whose spinner turns from the first moment."""

    def __init__(self, check: Callable[[], None], bar: RichProgress, label: str) -> None:
        super().__init__(check)
        self._bar, self._label = bar, label
        self._task = bar.add_task(label, total=None, left="")

    def _show(self) -> None:
        told = f"{self._label}: {self._doing}" if self._doing else self._label
        work: dict[str, Any] = {"completed": self._share, "total": 1.0} if self._began else {}
        self._bar.update(self._task, description=told, left=self._left(), **work)


class Lines(Display):
    """Plain lines for a log: "progress: fitting knockoffs, 25 % (about 40 s left)".

    They are written by a thread that looks every second, so that a command which ends at once, as with an error, writes none,
    and work that reports nothing for long is still seen to be under way.
    """

    def __init__(
        self, check: Callable[[], None], write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(check, clock)
        self._write = write
        self._opened, self._last, self._told = clock(), float("-inf"), ("", 0.0)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Write a line if it is time for one."""
        now, state = self._clock(), (self._doing, self._share)
        if not any(state) and now - self._opened < UNCHANGED:
            return  # the first phase will be named soon
        between = BETWEEN_PHASES if state[0] != self._told[0] else BETWEEN_LINES if state != self._told else UNCHANGED
        if now - self._last < between:
            return
        self._last, self._told = now, state
        share = f", {100 * self._share:.0f} %" if self._share else ""
        left = self._left()
        self._write(f"progress: {self._doing or 'working'}{share}{f' ({left})' if left else ''}")

    def _show(self) -> None:
        """Nothing: the thread looks."""

    def _keep_looking(self) -> None:
        while not self._ended.wait(EVERY):
            self.look()


@contextmanager
def progress_display(label: str) -> Iterator[Display]:
    """A display on standard error, to be given as ``progress``; Ctrl-C ends the work where that is safe."""
    if not errors.is_terminal:
        with Lines(stopping.check, lambda line: errors.print(line, markup=False, soft_wrap=True)) as lines:
            yield lines
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[left]}"),
    )
    with RichProgress(*columns, console=errors, transient=True) as bar:
        yield Bar(stopping.check, bar, label)
