"""Stores that cannot be used: read-only, foreign, damaged, full; and a lock that is a trap."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from grip2.commands import experiment
from grip2.errors import Grip2Error, Grip2Failure
from grip2.experiments import store as module
from grip2.experiments.store import FILE, Store, StoreError, StoreFailure
from tests.experiments.helpers import SMALL
from tests.experiments.test_store import DESIGN, DONE


def patched_connection(monkeypatch, connect):
    real = sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda path, **how: connect(real, path, how))


def test_a_read_only_store_is_told_at_once(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.write([DONE], DESIGN)
        store._connection.execute("PRAGMA journal_mode=DELETE")
    patched_connection(monkeypatch, lambda real, path, how: real(f"file:{path}?mode=ro", uri=True, **how))

    def no_waiting(_):
        raise AssertionError("nobody will make it writable")

    monkeypatch.setattr(module.time, "sleep", no_waiting)
    with pytest.raises(StoreError, match="readonly database"):
        Store(tmp_path)


def test_a_database_of_another_program_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / FILE) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match=r"another program .*recipes"):
        Store(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
        other.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="another version of grip2"):
        Store(tmp_path)


def used(folder: Path) -> None:
    """Everything that a store is asked for."""
    with Store(folder, create=False) as store:
        store.rows("c", "lcd", 1)
        store.settled("c", "lcd", 1)
        store.seconds("c", "lcd", 1)
        store.design("d")
        store.failures()
        store.begin_run("e", "text", {})
        store.last_run()
        store.write([DONE], DESIGN)


def damaged(folder: Path, seed: int) -> bool:
    """Is a store refused of which bytes were changed or cut off at random? If so, by an error that a person can act on."""
    with Store(folder) as store:
        store.begin_run("e", "text", {})
        store.write([DONE], DESIGN)
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rng = np.random.default_rng(seed)
    content = bytearray((folder / FILE).read_bytes())
    if seed % 3 == 0:
        content = content[: rng.integers(1, len(content))]
    else:
        start = int(rng.integers(0, len(content)))
        content[start : start + 400] = rng.bytes(min(400, len(content) - start))
    (folder / FILE).write_bytes(content)
    try:
        used(folder)
    except (Grip2Error, Grip2Failure) as error:
        if not str(error).strip():
            raise AssertionError("an error without words") from error
        return True
    return False


def test_a_damaged_store_is_refused_in_words(tmp_path):
    """Thirty times; what lies in unused pages may do no harm, but files that were cut off are always refused."""
    refused = {seed: damaged(tmp_path / str(seed), seed) for seed in range(30)}
    assert all(refused[seed] for seed in range(0, 30, 3))
    assert sum(refused.values()) > 12


def test_a_full_disk_keeps_what_was_written(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.write([DONE], DESIGN)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        large = module.TrialRow("e", "c", "lcd", 1, 1, "d", "done", W=np.ones(20_000))
        with pytest.raises(StoreFailure, match=r"full.*run again to go on"):
            store.write([large])
    with Store(tmp_path) as store:
        assert store.settled("c", "lcd", 1) == {0: "done"}
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_lock_file_follows_no_link(tmp_path):
    victim = tmp_path / "precious.txt"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.lock").symlink_to(victim)
    plan = tmp_path / "small.toml"
    plan.write_text(SMALL)
    with pytest.raises(StoreError, match=r"run\.lock: must be an ordinary file"):
        experiment.run(str(plan), jobs=1, out=out)
    assert victim.read_text() == "precious"
