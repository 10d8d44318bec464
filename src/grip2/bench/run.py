"""The run: rounds over all cases, so that contestants of a task take turns, until everything is done or the time is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grip2.bench.case import FAILED, OVER_MEMORY, OVER_TIME, Case, Measured
from grip2.bench.launch import Limits, measure
from grip2.bench.store import Store
from grip2.bench.suite import Extent

Measure = Callable[..., Measured]


@dataclass(frozen=True)
class Turn:
    """One measurement that is to be made."""

    case: Case
    round: int


def turns(cases: Sequence[Case], extent: Extent) -> Iterator[Turn]:
    """A, B, A, B, ...: every round measures all contestants of a task one after the other, and then the next task."""
    for round_ in range(max(extent.comparisons, extent.growth)):
        for case in cases:
            if round_ < (extent.comparisons if case.size is None else extent.growth):
                yield Turn(case, round_)


@dataclass(frozen=True)
class Peers:
    """The interpreter of the peers' environment, and the versions of what it has."""

    python: str | None
    versions: Mapping[str, str]

    def interpreter(self, case: Case) -> str | None:
        """Which interpreter measures the case; None: there is none."""
        if not case.package:
            return sys.executable
        return self.python if case.package in self.versions else None


def run(
    cases: Sequence[Case],
    extent: Extent,
    store: Store,
    peers: Peers,
    limits: Limits,
    *,
    minutes: float,
    say: Callable[[str], None] = lambda _: None,
    measure: Measure = measure,
) -> bool:
    """Measure what the store does not have yet; False where the time was over before that was done."""
    end = time.monotonic() + 60 * minutes
    for turn in turns(cases, extent):
        case = turn.case
        python = peers.interpreter(case)
        if python is None or store.has(case.key, turn.round) or hopeless(case, cases, store):
            continue
        if time.monotonic() > end:
            return False
        measured = measure(case, turn.round, python=python, limits=limits)
        store.add(measured)
        say(line(turn, measured))
    return True


def hopeless(case: Case, cases: Sequence[Case], store: Store) -> bool:
    """Did this case, or a smaller size of its series, take too long or too much memory before, or fail twice? It would again."""
    smaller = [
        other
        for other in cases
        if (other.part, other.subject, other.contestant) == (case.part, case.subject, case.contestant)
        and (other.size or 0) <= (case.size or 0)
    ]
    ends = ([each.outcome for each in store.of(other.key)] for other in smaller)
    return any(OVER_TIME in before or OVER_MEMORY in before or before.count(FAILED) > 1 for before in ends)


def line(turn: Turn, measured: Measured) -> str:
    """What is told while the suite runs."""
    case = turn.case
    size = "" if case.size is None else f" at {case.size:,.0f}"
    ended = f"{measured.seconds:.4g} s" if measured.seconds is not None else f"{measured.outcome} {measured.message}"
    return f"{case.part}: {case.subject}{size}: {case.contestant}: {ended.strip()}"
