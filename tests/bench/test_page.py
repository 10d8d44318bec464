"""From measurements to the page: ratios, slopes, tables, words about what is missing."""

from __future__ import annotations

import json

import pytest

from grip2.bench.case import DONE, OVER_TIME, Case, Measured
from grip2.bench.figure import growth_figure
from grip2.bench.machine import Machine
from grip2.bench.page import Circumstances, comparison_table, growth_table, to_json, to_markdown
from grip2.bench.run import Peers
from grip2.bench.store import Store
from grip2.bench.summary import Spread, rows, series, slope

MACHINE = Machine("a processor", 2, 8.0, "Linux x86_64", {})
PEERS = Peers("python", {"knockpy": "1.3.5"})
OURS, THEIRS, ABSENT = (
    Case("engine", "one step", "grip2", "engine:steps"),
    Case("engine", "one step", "knockpy", "k:s", package="knockpy"),
    Case("engine", "one step", "PyTorch", "t:s", package="torch"),
)
SIZES = [Case("growth", "a task by rows", "grip2", "x:y", {"n": n}, size=n) for n in (10, 100, 1000, 10_000)]
CASES = [OURS, THEIRS, ABSENT, *SIZES]


@pytest.fixture
def store(tmp_path) -> Store:
    """Our time drifts from 1 to 4 s, and theirs with it: the ratio is 3 throughout."""
    made = Store(tmp_path, MACHINE)
    for round_, seconds in enumerate((1.0, 4.0, 2.0)):
        made.add(Measured(OURS.key, round_, DONE, seconds, 0.2, 0.1, facts={"power": 0.5}))
        made.add(Measured(THEIRS.key, round_, DONE, 3 * seconds, 0.3, 0.1))
    for case, seconds in zip(SIZES, (5.0, 6.0, 600.0), strict=False):
        made.add(Measured(case.key, 0, DONE, seconds, 0.1 * seconds, 0.1))
    made.add(Measured(SIZES[3].key, 0, OVER_TIME))
    return made


def about(**changes) -> Circumstances:
    words = {
        "date": "2026-01-02", "command": "grip2 bench --quick", "quick": True, "complete": True, "limit_seconds": 60.0,
        "machine": MACHINE, "versions": {"numpy": "2"}, "peers": PEERS.versions, "load": Spread(0.1, 0.0, 0.3, 9),
    }  # fmt: skip
    return Circumstances(**{**words, **changes})


def test_ratios_are_taken_round_by_round(store):
    ours, theirs, absent = rows(CASES, store, PEERS)
    assert ours.seconds == Spread(2.0, 1.0, 4.0, 3)
    assert ours.ratio is None
    assert theirs.ratio == Spread(3.0, 3.0, 3.0, 3)
    assert absent.note == "skipped: torch is missing"


def test_the_comparison_as_a_table(store):
    assert comparison_table(rows(CASES, store, PEERS)).splitlines()[2:] == [
        "| one step | grip2 | 2 (1 to 4) | 1 | 0.20 | power 0.5 |",
        "|  | knockpy | 6 (3 to 12) | 3.00 (3.00 to 3.00) | 0.30 |  |",
        "|  | PyTorch | skipped: torch is missing |  |  |  |",
    ]


def test_slopes_are_those_of_powers():
    assert slope([(n, 7.0 * n**1.5) for n in (10, 100, 1000)]) == pytest.approx(1.5)
    assert slope([(1, 1.0), (10, 1.0), (100, 10.0), (1000, 100.0)]) == pytest.approx(1.0)  # the three largest
    assert slope([(10, 1.0)]) is None


def test_growth_as_a_table(store):
    (found,) = series(CASES, store, PEERS)
    table = growth_table([found]).splitlines()
    slope_cell = f"{found.seconds_slope:.2f}"
    assert table[4] == f"| a task by rows | {slope_cell} | {found.memory_slope:.2f} | 10 | 5 | 0.50 | 0.10 |"
    assert table[-1] == "|  |  |  | 10,000 | over the time limit |  |  |"


def test_sizes_that_were_not_tried_say_why(tmp_path):
    store = Store(tmp_path, MACHINE)
    store.add(Measured(SIZES[1].key, 0, OVER_TIME))
    notes = [point.note for point in series(CASES, store, PEERS)[0].points]
    smaller = "not tried: a smaller size was over a limit"
    assert notes == ["not yet measured", "over the time limit", smaller, smaller]


def test_the_page_tells_how_it_was_measured(store):
    shown = rows(CASES, store, PEERS), series(CASES, store, PEERS)
    page = to_markdown(about(), *shown)
    for words in ("`grip2 bench --quick` on 2026-01-02: a processor, 2 cores", "numpy 2, knockpy 1.3.5", "A quick run"):
        assert words in page
    assert "Skipped: torch" in page
    assert "busy" not in page
    assert "Not complete" not in page
    full = to_markdown(about(quick=False, complete=False, load=Spread(2.0, 1.0, 3.0, 9)), *shown)
    assert "A quick run" not in full
    assert "**The machine was busy with other work too**: 2.0 runnable" in full
    assert "Not complete" in full


def test_the_same_in_json_and_as_a_figure(store):
    growing = series(CASES, store, PEERS)
    found = json.loads(to_json(about(), rows(CASES, store, PEERS), growing))
    assert found["machine"]["processor"] == "a processor"
    assert found["rows"][1]["ratio"]["median"] == 3.0
    assert found["series"][0]["seconds_slope"] == pytest.approx(growing[0].seconds_slope)
    svg = growth_figure(growing)
    assert svg.startswith("<svg")
    assert f"a task (slope {growing[0].seconds_slope:.2f})" in svg
