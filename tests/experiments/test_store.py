"""The store: what goes in comes out, finished rows stay, and two writers do not harm each other."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from grip2.experiments.store import FILE, DesignRow, Store, StoreError, TrialRow

DONE = TrialRow(
    experiment="e",
    configuration="c",
    method="lcd",
    ensemble=1,
    trial=0,
    design="d",
    status="done",
    W=np.array([1.0, -0.5]),
    original=np.array([1.5, 0.0]),
    knockoff=np.array([0.5, 0.5]),
    selections={"0.1": [0]},
    seconds=2.0,
    knockoff_seconds=0.5,
    seed="1/c/0",
    versions={"grip2": "0"},
    settings={"folds": 5},
    notes="a warning",
)
DESIGN = DesignRow("d", {"rho": 0.5}, 10, 2, ("a", "b"), (0, 1), (1,))


def test_round_trip(tmp_path):
    with Store(tmp_path) as store:
        store.write([DONE], DESIGN)
    with Store(tmp_path, create=False) as store:
        (row,) = store.rows("c", "lcd", 1)
        assert store.design("d") == DESIGN
        assert store.settled("c", "lcd", 1) == {0: "done"}
        assert store.seconds("c", "lcd", 1) == [2.5]
    for name in TrialRow.__dataclass_fields__:
        assert np.array_equal(getattr(row, name), getattr(DONE, name)), name


def test_finished_rows_stay_and_failed_ones_give_way(tmp_path):
    failed = TrialRow("e", "c", "lcd", 1, 0, "d", "failed", error="ValueError: no")
    with Store(tmp_path) as store:
        store.write([failed])
        assert store.failures()[0][-1] == "ValueError: no"
        store.write([DONE], DESIGN)
        store.write([failed, replace(DONE, W=np.zeros(2))])
        (row,) = store.rows("c", "lcd", 1)
        assert store.failures() == []
    assert row.status == "done"
    assert row.W.tolist() == [1.0, -0.5]


def test_one_folder_holds_one_experiment(tmp_path):
    with Store(tmp_path) as store:
        store.begin_run("hiv", "text", {"trials": 2, "methods": None})
        store.begin_run("hiv", "newer", {"trials": None, "methods": ["lcd"]})
        assert store.last_run() == ("newer", {"trials": None, "methods": ["lcd"]})
        with pytest.raises(StoreError, match="holds the experiment 'hiv'"):
            store.begin_run("har", "text", {})


def test_bad_stores(tmp_path):
    with pytest.raises(StoreError, match="no experiment there"):
        Store(tmp_path, create=False)
    with Store(tmp_path) as store, pytest.raises(StoreError, match="nothing has been run"):
        store.last_run()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).write_text("not a database, but long enough to look like one" * 50)
    with pytest.raises(StoreError, match="not a usable trial store"):
        Store(tmp_path / "other")


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from tests.experiments.test_store import DONE, DESIGN
from grip2.experiments.store import Store
with Store(Path(sys.argv[1])) as store:
    for trial in range(100):
        store.write([replace(DONE, trial=trial, notes=sys.argv[2])], DESIGN)
"""


def test_two_writers(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with Store(tmp_path) as store:
        assert [row.trial for row in store.rows("c", "lcd", 1)] == list(range(100))
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
