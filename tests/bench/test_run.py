"""The loop of `grip2 bench`: turns, resumption, the budget, and sizes that are given up."""

from __future__ import annotations

import json

import pytest

from grip2.bench.case import DONE, FAILED, OVER_TIME, Case, Measured
from grip2.bench.launch import Limits
from grip2.bench.machine import Machine
from grip2.bench.run import Peers, run, turns
from grip2.bench.store import FILE, Store
from grip2.bench.suite import Extent
from grip2.errors import Grip2Error

MACHINE = Machine("a processor", 2, 8.0, "Linux x86_64", {})
NOBODY = Peers(None, {})
EXTENT = Extent(quick=True, comparisons=3, growth=1)
LIMITS = Limits(1.0, 1.0)


def pair(subject: str = "a task") -> list[Case]:
    return [Case("engine", subject, name, "products:steps") for name in ("A", "B")]


def growing(*sizes: int) -> list[Case]:
    return [Case("growth", "a task by rows", "grip2", "x:y", {"n": size}, size=size) for size in sizes]


class Recorder:
    """Stands in for a measurement and keeps the order; sizes from ``too_large`` on are over the limit."""

    def __init__(self, too_large: float = float("inf"), stop_after: int | None = None) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self.too_large, self.stop_after = too_large, stop_after

    def __call__(self, case: Case, round_: int, *, python: str, limits: Limits) -> Measured:
        if len(self.seen) == self.stop_after:
            raise KeyboardInterrupt
        self.seen.append((case.subject, case.contestant if case.size is None else f"{case.size:g}", round_))
        over = (case.size or 0) >= self.too_large
        return Measured(case.key, round_, OVER_TIME if over else DONE, None if over else 1.0)


def test_contestants_take_turns_and_tasks_come_one_after_the_other():
    order = [(turn.case.subject, turn.case.contestant, turn.round) for turn in turns([*pair("x"), *pair("y")], EXTENT)]
    assert order[:6] == [("x", "A", 0), ("x", "B", 0), ("y", "A", 0), ("y", "B", 0), ("x", "A", 1), ("x", "B", 1)]
    assert len(order) == 2 * 2 * 3


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    first = Recorder(stop_after=3)
    with pytest.raises(KeyboardInterrupt):
        run(pair(), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=first)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"key": "cut sho')  # a line that a killed process did not finish
    second = Recorder()
    assert run(pair(), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=second)
    assert first.seen + second.seen == [("a task", name, round_) for round_ in range(3) for name in "AB"]
    third = Recorder()
    assert run(pair(), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=third)
    assert third.seen == []
    assert len((tmp_path / FILE).read_text().splitlines()) == 1 + 6


def test_sizes_after_one_over_the_limit_are_not_tried(tmp_path):
    recorder = Recorder(too_large=100)
    assert run(growing(10, 100, 1000), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=recorder)
    assert [size for _, size, _ in recorder.seen] == ["10", "100"]


@pytest.mark.parametrize(("failing_rounds", "expected"), [((0,), 3), ((0, 1, 2), 2)])
def test_a_failure_is_tried_once_more(tmp_path, failing_rounds, expected):
    """It may have been the machine's; a second one is the contestant's."""
    tried = []

    def failing(case, round_, *, python, limits):
        tried.append((case.contestant, round_))
        failed = case.contestant == "A" and round_ in failing_rounds
        return Measured(case.key, round_, FAILED if failed else DONE, None if failed else 1.0)

    assert run(pair(), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=failing)
    assert tried.count(("B", 2)) == 1
    assert sum(name == "A" for name, _ in tried) == expected


def test_no_measurement_begins_after_the_time_is_over(tmp_path):
    recorder = Recorder()
    assert not run(pair(), EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=-1, measure=recorder)
    assert recorder.seen == []


def test_peers_that_are_missing_are_skipped(tmp_path):
    case = Case("engine", "a task", "PyTorch", "torch_training:steps", package="torch")
    recorder = Recorder()
    assert run([case], EXTENT, Store(tmp_path, MACHINE), NOBODY, LIMITS, minutes=1, measure=recorder)
    assert recorder.seen == []
    there = Peers("/somewhere/python", {"torch": "2.13.0"})
    assert run([case], EXTENT, Store(tmp_path, MACHINE), there, LIMITS, minutes=1, measure=recorder)
    assert len(recorder.seen) == 3


def test_measurements_of_another_machine_or_code_are_not_added_to(tmp_path):
    Store(tmp_path, MACHINE).add(Measured("key", 0, DONE, 1.0))
    other = Machine("another processor", 2, 8.0, "Linux x86_64", {})
    with pytest.raises(Grip2Error, match="Begin anew with --fresh"):
        Store(tmp_path, other)
    lines = (tmp_path / FILE).read_text().splitlines()
    lines[0] = json.dumps({"origin": {**json.loads(lines[0])["origin"], "code": "other"}})
    (tmp_path / FILE).write_text("\n".join(lines) + "\n")
    with pytest.raises(Grip2Error, match="got those of other code"):
        Store(tmp_path, MACHINE)
    assert Store(tmp_path, MACHINE, fresh=True).measured == {}


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / FILE).write_text("hello\n")
    with pytest.raises(Grip2Error, match="must be a file of measurements"):
        Store(tmp_path, MACHINE)
