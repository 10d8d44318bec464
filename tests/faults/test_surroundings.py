"""What surrounds a run and fails: no home, a damaged cache, threads, forks, clocks, missing data, a scheduler that is none."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grip2 import cli
from grip2.commands import experiment
from grip2.datasets import files, hiv
from grip2.engine import cache_entries, compilation, compiled_functions
from grip2.errors import Grip2Error
from grip2.experiments import workers
from grip2.experiments.store import FILE, Store
from tests.engine.test_compilation import SCRIPT
from tests.experiments.helpers import SMALL
from tests.experiments.test_run import NRTI


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((120, 8)), columns=list("abcdefgh"))
    frame["y"] = frame["a"] + frame["b"] + 0.1 * rng.standard_normal(120)
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def run(capsys, *words):
    code = 0
    try:
        cli.main([str(word) for word in words])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


THREADS = """
import threading
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
from grip2.blas_threads import one_blas_thread

def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

first_in, second_in, first_out, end = (threading.Event() for _ in range(4))
seen = []

def first():
    with one_blas_thread():
        first_in.set()
        second_in.wait(60)
    first_out.set()
    end.wait(60)  # a thread that lives on, as those of a pool do

def second():
    first_in.wait(60)
    with one_blas_thread():
        second_in.set()
        first_out.wait(60)
        seen.extend(blas_threads())

before = blas_threads()
both = [threading.Thread(target=each) for each in (first, second)]
for thread in both:
    thread.start()
both[1].join(60)
after = blas_threads()
end.set()
print(max(before), max(seen), before == after)
with one_blas_thread(), one_blas_thread():
    inner = blas_threads()
print(max(inner), before == blas_threads())
"""


def test_one_thread_is_for_the_time_of_the_last_user_only():
    """Two fits in threads that overlap: the second comes while the first is at work, and leaves after it."""
    variables = dict(os.environ, OPENBLAS_NUM_THREADS="2")
    done = subprocess.run([sys.executable, "-c", THREADS], env=variables, capture_output=True, text=True, check=True)
    if done.stdout.startswith("1 "):
        pytest.skip("one processor: the library never uses two threads")
    assert done.stdout == "2 1 True\n1 True\n"


FORK = (
    SCRIPT
    + """
import os, sys
if os.fork() == 0:
    code = 0
    try:
        train(np.zeros((30, 7)), Measurement(np.zeros(30)).target(), config=config, rng=rng)
    except ValueError as error:
        code = 7 if "forked" in str(error) and "spawn" in str(error) else 8
    os._exit(code)
_, status = os.wait()
sys.exit(os.waitstatus_to_exitcode(status))
"""
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_after_a_fit_is_refused():
    """It would wait for ever for threads that it does not have."""
    words = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", FORK]
    assert subprocess.run(words, timeout=300).returncode == 7


def no_home():
    raise RuntimeError("Could not determine home directory.")


def test_no_home_costs_the_caches_only(monkeypatch):
    monkeypatch.setattr(Path, "home", no_home)
    for name in ("XDG_CACHE_HOME", "GRIP2_COMPILATION_CACHE", "GRIP2_DATA"):
        monkeypatch.delenv(name, raising=False)
    assert compilation.default_folder() is None
    with pytest.raises(Grip2Error, match="Set GRIP2_DATA"):
        files.data_folder()


def test_compiled_code_needs_no_folder(monkeypatch):
    real = compiled_functions.njit

    def nowhere(**settings):
        if settings.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**settings)

    monkeypatch.setattr(compiled_functions, "njit", nowhere)
    assert compiled_functions.compiled(lambda x: x + 1)(2) == 3


def test_a_damaged_entry_of_the_compilation_cache_is_replaced(tmp_path):
    variables = dict(os.environ, GRIP2_COMPILATION_CACHE=str(tmp_path))
    words = [sys.executable, "-W", "error", "-c", SCRIPT]
    subprocess.run(words, env=variables, check=True)
    good = {path: path.read_bytes() for path in tmp_path.glob("*-cache")}
    assert good
    long_ago = time.time() - 3600
    for path, content in good.items():
        path.write_bytes(content[: len(content) // 2])
        os.utime(path, (long_ago, long_ago))
    subprocess.run(words, env=variables, check=True)
    assert all(len(path.read_bytes()) > len(content) // 2 for path, content in good.items())


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x00" * 100])
def test_what_counts_as_damaged(tmp_path, damage):
    import zlib

    intact = zlib.compress(b"program" * 100)
    contents = {"good": intact, "bad": damage, "cut": intact[:-3], "changed": intact[:-2] + b"xx", "new": damage}
    long_ago = time.time() - 3600
    for name, content in contents.items():
        path = tmp_path / f"{name}-cache"
        path.write_bytes(content)
        if name != "new":  # may still be in the writing
            os.utime(path, (long_ago, long_ago))
    assert cache_entries.remove_damaged(tmp_path) == ["bad-cache", "changed-cache", "cut-cache"]
    assert sorted(path.name for path in tmp_path.glob("*-cache")) == ["good-cache", "new-cache"]
    (tmp_path / cache_entries.LIST).write_text("[not a list")
    assert cache_entries.remove_damaged(tmp_path) == []


def test_a_clock_that_goes_backwards_changes_nothing(capsys, table, tmp_path, monkeypatch):
    words = ("select", table, "--target", "y", "--statistic", "lcd")
    assert run(capsys, *words, "--out", tmp_path / "before")[0] == 0
    backwards = itertools.count(2e9, -3600)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: float(next(backwards)))
        code, _, err = run(capsys, *words, "--out", tmp_path / "after")
    assert code == 0, err
    import json

    before, after = (json.loads((tmp_path / name / "selection.json").read_text()) for name in ("before", "after"))
    assert 0 <= after["seconds"] < 600
    assert before["features"] == after["features"]


@pytest.mark.parametrize("address", ["garbage", "tcp://", "ftp://somewhere:80", "tcp://no host:x"])
def test_a_scheduler_that_is_none(capsys, table, tmp_path, address):
    pytest.importorskip("distributed", reason="Dask is not installed (grip2[dask])")
    code, _, err = run(capsys, "select", table, "--target", "y", "--out", tmp_path / "out", "--scheduler", address)
    assert code == 2
    assert "expected the address of a running Dask scheduler" in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("listens", [True, False], ids=["something else", "nothing"])
def test_no_scheduler_at_an_address(listens, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed (grip2[dask])")
    monkeypatch.setattr(workers, "_ANSWER_SECONDS", 0.5)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        if listens:
            other.listen()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(Grip2Error, match="none answers at"), workers.open_workers(scheduler=address):
            pass


def test_missing_data_end_a_run_before_it_begins(tmp_path, monkeypatch):
    """One attempt to download, not one a trial, and no trial that counts as failed."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(hiv, "_ADDRESS", "http://127.0.0.1:9")
    plan = tmp_path / "nrti.toml"
    plan.write_text(NRTI)
    (tmp_path / "data").mkdir()
    with pytest.raises(Grip2Error, match="could not be reached"):
        experiment.run(str(plan), jobs=1, out=tmp_path / "out", data_home=tmp_path / "data")
    with Store(tmp_path / "out") as store:
        assert store.failures() == []


@pytest.mark.parametrize("name", ["../../x", "a/b", "/tmp/x"])
def test_a_plan_writes_below_the_present_folder(tmp_path, monkeypatch, name):
    (tmp_path / "here" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "inner")
    Path("plan.toml").write_text(SMALL.replace('name = "small"', f'name = "{name}"', 1))
    with pytest.raises(Grip2Error, match="name"):
        experiment.run("plan.toml", jobs=1)
    assert not list(tmp_path.rglob(FILE))
