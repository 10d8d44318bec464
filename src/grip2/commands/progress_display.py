"""Progress on standard error while a command works: a bar on a terminal, occasional lines in a log."""

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
from grip2.progress import PhasedProgress, Progress, seconds_left, time_in_words

EVERY = 1.0  # seconds between two checks whether a log needs a line
# Seconds between two lines of a log: if a new phase has begun, if work has gone on, and if neither has happened.
BETWEEN_PHASES, BETWEEN_LINES, UNCHANGED = 2.0, 5.0, 30.0
STEPS_BEFORE = 5  # per cent between two reports of a step that comes before the work itself


class Display(PhasedProgress):
    """Base of displays: the current phase, how much is done, and how long the rest will take, if it can be estimated."""

    def __init__(self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._check, self._clock = check, clock
        self._doing, self._share = "", 0.0
        self._began = False
        self._pace: tuple[float, float] | None = None  # time and share at the beginning of the phase that is timed

    def before(self, what: str) -> None:
        """Name a step that comes before the work itself, such as reading a file."""
        self._doing = what
        self._show()

    def counting_before(self, what: str) -> Progress:
        """A callback for a long step that comes before the work itself; its share of work is told with its name."""

        def report(done: int, total: int) -> None:
            self._check()
            self.before(f"{what}, {STEPS_BEFORE * (100 * done // max(1, total) // STEPS_BEFORE)} %")

        return report

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
        """Update the display."""


class Bar(Display):
    """One bar of rich, whose spinner turns from the beginning."""

    def __init__(self, check: Callable[[], None], bar: RichProgress, label: str) -> None:
        super().__init__(check)
        self._bar, self._label = bar, label
        self._task = bar.add_task(label, total=None, left="")

    def _show(self) -> None:
        description = f"{self._label}: {self._doing}" if self._doing else self._label
        work: dict[str, Any] = {"completed": self._share, "total": 1.0} if self._began else {}
        self._bar.update(self._task, description=description, left=self._left(), **work)


class Lines(Display):
    """Plain lines for a log: "progress: fitting knockoffs, 25 % (about 40 s left)".

    A thread checks every second whether a line is due: so a command that ends at once, as with an error, writes none, and work
    that reports nothing for long is still seen to go on.
    """

    def __init__(
        self, check: Callable[[], None], write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(check, clock)
        self._write = write
        self._opened, self._last, self._written = clock(), float("-inf"), ("", 0.0)
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
        between = BETWEEN_LINES if state != self._written else UNCHANGED
        if state[0] != self._written[0]:
            between = BETWEEN_PHASES
        if now - self._last < between:
            return
        self._last, self._written = now, state
        share = f", {100 * self._share:.0f} %" if self._share else ""
        left = self._left()
        self._write(f"progress: {self._doing or 'working'}{share}{f' ({left})' if left else ''}")

    def _show(self) -> None:
        """Nothing to do: the thread writes."""

    def _keep_looking(self) -> None:
        while not self._ended.wait(EVERY):
            self.look()


@contextmanager
def progress_display(label: str) -> Iterator[Display]:
    """A display on standard error, to be passed as ``progress``; it ends the work after Ctrl-C, where that is safe."""
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
