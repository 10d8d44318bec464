"""One measurement: what a child process reports, and what happens at its limits."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import pytest

from grip2.bench import child, launch
from grip2.bench.case import DONE, EMPTY, FAILED, OVER_MEMORY, OVER_TIME, Case
from grip2.bench.launch import Limits
from grip2.bench.machine import peer_versions, this_machine, versions

SMALL = {"rows": 8, "inputs": 4, "hidden": 3, "depth": 2, "batch": 2, "steps": 5}
CASE = Case("engine", "products", "NumPy", "products:steps", SMALL)
ENOUGH = Limits(60.0, 4.0)
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory of other processes is read from /proc")


def measure(case: Case, limits: Limits = ENOUGH):
    return launch.measure(case, 3, python=sys.executable, limits=limits)


def test_a_measurement_in_a_process_of_its_own():
    found = measure(CASE)
    assert (found.outcome, found.key, found.round) == (DONE, CASE.key, 3)
    assert 0 < found.seconds < 0.1  # of one step
    assert 0 < found.before_gigabytes <= found.peak_gigabytes < 1
    assert found.facts == {}


def test_over_the_time_limit_is_an_outcome_and_does_not_wait():
    long = replace(CASE, settings={**SMALL, "steps": 10**9})
    began = time.monotonic()
    found = measure(long, Limits(1.0, 4.0))
    assert found.outcome == OVER_TIME
    assert found.seconds is None
    assert time.monotonic() - began < 10


@linux
def test_over_the_memory_limit_is_an_outcome():
    assert measure(replace(CASE, settings={**SMALL, "steps": 10**9}), Limits(60.0, 0.005)).outcome == OVER_MEMORY


def test_an_error_of_the_contestant_is_an_outcome():
    found = measure(replace(CASE, code="products:absent"))
    assert found.outcome == FAILED
    assert "absent" in found.message


def test_another_setting_is_another_case():
    assert replace(CASE, settings={**SMALL, "steps": 6}).key != CASE.key
    assert Case("engine", "products", "NumPy", "products:steps", dict(reversed(SMALL.items()))).key == CASE.key


def test_empty_caches_are_new_folders_which_are_removed():
    from pathlib import Path

    with launch._caches(EMPTY) as variables:
        folder = Path(variables["NUMBA_CACHE_DIR"]).parent
        assert list(folder.iterdir()) == []
    assert not folder.exists()


class Clock:
    def __init__(self, *durations: float) -> None:
        self.times = iter([moment for duration in durations for moment in (0.0, duration)])

    def perf_counter(self) -> float:
        return next(self.times)


def test_short_calls_are_timed_several_times_and_first_calls_once(monkeypatch):
    calls = []
    monkeypatch.setattr(child, "contestant", lambda code: lambda: lambda: calls.append(code) or {"count": 10, "a": 1})
    monkeypatch.setattr(child, "time", Clock(9.0, 0.1, 0.3))  # the first is the warm-up
    found = child.measure("x", {}, once=False)
    assert found["seconds"] == pytest.approx(0.2 / 10)  # the median of 0.1 and 0.3
    assert found["facts"] == {"a": 1}
    assert len(calls) == 1 + 2
    monkeypatch.setattr(child, "time", Clock(0.1))
    assert child.measure("x", {}, once=True)["seconds"] == pytest.approx(0.01)
    assert len(calls) == 4
    monkeypatch.setattr(child, "time", Clock(90.0))
    assert child.measure("x", {}, once=False)["seconds"] == pytest.approx(9.0)  # long enough to be timed at once


def test_the_machine_is_described():
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.processor in machine.identity
    assert versions()["numpy"]
    assert "torch" not in peer_versions(None)
    assert peer_versions("/no/such/python") == {}
