"""From measurements to rows: medians, ranges, ratios within rounds, and slopes on log axes."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grip2.bench.case import DONE, Case, Measured
from grip2.bench.run import Peers, hopeless
from grip2.bench.store import Store

SLOPE_POINTS = 3  # the largest sizes: at small ones a constant overhead hides the growth


@dataclass(frozen=True)
class Spread:
    """Median and range of some repeats."""

    median: float
    low: float
    high: float
    repeats: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread | None:
        return Spread(statistics.median(values), min(values), max(values), len(values)) if values else None


@dataclass(frozen=True)
class Row:
    """One contestant at one task."""

    part: str
    subject: str
    contestant: str
    seconds: Spread | None
    ratio: Spread | None  # to the first contestant of the task, round by round; None for that one
    peak_gigabytes: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # why there are no seconds


@dataclass(frozen=True)
class Point:
    """One size of a task."""

    size: float
    seconds: Spread | None
    peak_gigabytes: float | None
    before_gigabytes: float | None
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A task at growing sizes. A slope of 1: twice the size takes twice as much."""

    subject: str
    points: Sequence[Point]

    @property
    def seconds_slope(self) -> float | None:
        return slope([(point.size, point.seconds.median) for point in self.points if point.seconds])

    @property
    def memory_slope(self) -> float | None:
        """Of the peak, which includes libraries: it stays near 0 until the data outgrow them."""
        return slope([(point.size, point.peak_gigabytes) for point in self.points if point.peak_gigabytes])


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Of the least-squares line on log axes through the largest sizes."""
    largest = sorted(points)[-SLOPE_POINTS:]
    if len(largest) < 2:
        return None
    x, y = ([math.log(point[axis]) for point in largest] for axis in (0, 1))
    return statistics.linear_regression(x, y).slope


def rows(cases: Sequence[Case], store: Store, peers: Peers) -> list[Row]:
    """Of all tasks that are compared at one size."""
    single = [case for case in cases if case.size is None]
    found = []
    for _, group in itertools.groupby(single, key=lambda case: (case.part, case.subject)):
        contestants = list(group)
        ours = _times(store.of(contestants[0].key))
        found += [_row(case, ours if case is not contestants[0] else {}, cases, store, peers) for case in contestants]
    return found


def series(cases: Sequence[Case], store: Store, peers: Peers) -> list[Series]:
    growing = [case for case in cases if case.size is not None]
    found = []
    for subject, group in itertools.groupby(growing, key=lambda case: case.subject):
        points = [_point(case, cases, store, peers) for case in group]
        found.append(Series(subject, points))
    return found


def _row(case: Case, ours: Mapping[int, float], cases: Sequence[Case], store: Store, peers: Peers) -> Row:
    known = store.of(case.key)
    times = _times(known)
    ratios = [seconds / ours[round_] for round_, seconds in times.items() if round_ in ours]
    return Row(
        case.part,
        case.subject,
        case.contestant,
        Spread.of(list(times.values())),
        Spread.of(ratios),
        _largest([each.peak_gigabytes for each in known]),
        next((each.facts for each in known if each.outcome == DONE), {}),
        _note(case, known, cases, store, peers),
    )


def _point(case: Case, cases: Sequence[Case], store: Store, peers: Peers) -> Point:
    known = store.of(case.key)
    return Point(
        case.size or 0.0,
        Spread.of(list(_times(known).values())),
        _largest([each.peak_gigabytes for each in known]),
        _largest([each.before_gigabytes for each in known]),
        _note(case, known, cases, store, peers),
    )


def _times(measured: Sequence[Measured]) -> dict[int, float]:
    """Seconds by round."""
    return {each.round: each.seconds for each in measured if each.seconds is not None}


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _note(case: Case, known: Sequence[Measured], cases: Sequence[Case], store: Store, peers: Peers) -> str:
    ended = next((each for each in known if each.outcome != DONE), None)
    if ended is not None:
        return f"{ended.outcome}: {ended.message}" if ended.message else ended.outcome
    if known:
        return ""
    if peers.interpreter(case) is None:
        return f"skipped: {case.package} is missing"
    return "not tried: a smaller size was over a limit" if hopeless(case, cases, store) else "not yet measured"
