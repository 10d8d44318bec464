"""Ctrl-C, termination and kill -9 of the command line: the exit code, nothing written, nobody left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from tests.experiments.helpers import SLOW, count, until
from tests.faults.processes import Command

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")

READ = "columns: 20 number"  # said when the table has been read and the work begins


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    frame = pd.DataFrame(X, columns=[f"gene{j}" for j in range(20)])
    frame["y"] = X[:, :10].sum(axis=1) + 0.3 * rng.standard_normal(300)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def select(table, tmp_path, *more):
    words = ["select", table, "--target", "y", "--out", tmp_path / "deep" / "result", *more]
    return Command(words, tmp_path / "temporary")


def left_behind(command, tmp_path):
    """Descendants that stay, temporary files, and anything of the output."""
    until(lambda: not command.descendants(), "workers must leave", timeout=60)
    return [*command.temporary_files(), *(tmp_path / "deep").rglob("*"), *tmp_path.glob("deep")]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_selection_that_is_stopped_writes_nothing(table, tmp_path, number, code):
    with select(table, tmp_path, "--draws", 500) as command:
        command.until_it_says(READ)
        time.sleep(0.5)  # somewhere in the compilation or the training that follow
        command.send(number)
        assert command.wait() == code
        assert "grip2: stopped; nothing was written." in command.err
        assert "Traceback" not in command.err
        assert left_behind(command, tmp_path) == []


SWALLOWING = """
import sys
sys.argv = ["grip2", "--version"]
from grip2 import stopping
stopping.install()
print("ready", flush=True)
import time
while True:  # as a callback of a compiler, or a destructor, does to an exception
    try:
        time.sleep(0.01)
    except BaseException:
        pass
"""


def test_an_interrupt_cannot_be_swallowed():
    process = subprocess.Popen(
        [sys.executable, "-c", SWALLOWING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "grip2: stopped; nothing was written.\n"


IMPORTING = """
import builtins, sys
sys.argv = ["grip2", "select", "absent.csv", "--target", "y"]
real, told = builtins.__import__, []
def slowly(name, *rest):
    if name.partition(".")[0] == {module!r} and not told:
        told.append(name)
        print("importing", flush=True)
        try:
            sys.stdin.read()  # until the test has sent its signal
        except KeyboardInterrupt:
            pass  # lost: what happens in an import is not ours to say
    return real(name, *rest)
builtins.__import__ = slowly
from grip2.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "jax"])
def test_an_interrupt_during_an_import_ends_with_130(module, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORTING.format(module=module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == "grip2: stopped; nothing was written.\n"
    finally:
        process.kill()
        process.communicate()


def test_a_second_interrupt_is_answered_at_once():
    script = SWALLOWING.replace("stopping.install()", "stopping.PATIENCE_SECONDS = 600.0; stopping.install()")
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)  # two signals that come together are one
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGKILL, 137), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_workers_do_not_outlive_a_selection(table, tmp_path, number, code):
    with select(table, tmp_path, "--draws", 500, "--jobs", 2, "--statistic", "lcd") as command:
        until(lambda: len(command.descendants()) >= 4, "two workers and those who watch them")
        command.send(number)
        assert command.wait() == code
        assert left_behind(command, tmp_path) == []


def test_an_experiment_that_is_interrupted_keeps_its_trials(tmp_path):
    plan = tmp_path / "slow.toml"
    plan.write_text(SLOW)
    with Command(
        ["experiment", "run", plan, "--jobs", 1, "--out", tmp_path / "out"], tmp_path / "temporary"
    ) as command:
        until(lambda: count(tmp_path / "out", SLOW) >= 1, "a trial")
        command.send(signal.SIGINT)
        assert command.wait() == 130
        assert "Run the same command to go on" in " ".join(command.err.split())
        assert "Traceback" not in command.err
        until(lambda: not command.descendants(), "workers must leave", timeout=60)
    assert 1 <= count(tmp_path / "out", SLOW) < 8


WRITTEN = """
import os, signal, sys, time
from pathlib import Path
from grip2 import stopping
from grip2._output import OutputFolder
stopping.install()
with OutputFolder(Path(sys.argv[1]), ["a.txt"], force=False) as folder:
    folder.write({"a.txt": "x"})
os.kill(os.getpid(), signal.SIGINT)
time.sleep(600)
"""


def test_a_signal_after_the_end_says_where_the_results_are(tmp_path):
    done = subprocess.run([sys.executable, "-c", WRITTEN, tmp_path], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == f"grip2: stopped; the results are in {tmp_path}.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
