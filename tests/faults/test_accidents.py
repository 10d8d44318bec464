"""Accidents that take longer to arrange: a disk that is full, a home that cannot be written, a scheduler that dies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

from tests.experiments.helpers import SLOW, SMALL, count, results, until
from tests.faults.processes import Command
from tests.faults.test_signals import table  # noqa: F401  (a fixture)

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")


def can_mount() -> bool:
    return (
        shutil.which("unshare") is not None
        and hasattr(os, "geteuid")
        and os.geteuid() == 0
        and subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode
        == 0
    )


ON_A_SMALL_DISK = (
    'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && "$@"; code=$?; find {folder} -type f; exit $code'
)


def on_a_small_disk(size, folder, *words):
    """Run `grip2 words...` where ``folder`` is a disk of its own; its files are listed at the end of the output."""
    script = ON_A_SMALL_DISK.format(folder=folder)
    command = ["unshare", "-m", "sh", "-c", script, "sh", size, folder, sys.executable, "-m", "grip2", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="only root may mount a small disk")
def test_a_full_disk(table, tmp_path):  # noqa: F811
    disk = tmp_path / "disk"
    disk.mkdir()
    done = on_a_small_disk("16k", disk, "select", table, "--target", "y", "--statistic", "lcd", "--out", disk / "out")
    assert done.returncode == 1
    assert "features selected at fdr" in done.stdout, "the selection is printed all the same"
    assert "No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert str(disk) not in done.stdout, "nothing is left on the disk"


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="only root may mount a small disk")
def test_a_full_disk_under_an_experiment(tmp_path):
    disk, plan = tmp_path / "disk", tmp_path / "small.toml"
    disk.mkdir()
    plan.write_text(SMALL)
    done = on_a_small_disk("80k", disk, "experiment", "run", plan, "--jobs", "1", "--out", disk / "out")
    assert done.returncode in (1, 2), done.stderr
    assert "full" in done.stderr or "disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.slow
@linux
def test_a_home_that_cannot_be_written(table, tmp_path):  # noqa: F811
    """/proc cannot be written by anybody, root included."""
    variables = {"HOME": "/proc", "XDG_CACHE_HOME": None, "MPLCONFIGDIR": None, "GRIP2_COMPILATION_CACHE": None}
    words = ["select", table, "--target", "y", "--out", tmp_path / "out"]
    with Command(words, tmp_path / "temporary", variables=variables) as command:
        assert command.wait(600) == 0, command.err
        assert "Traceback" not in command.err
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
@linux
def test_a_scheduler_that_dies(table, tmp_path, monkeypatch):  # noqa: F811
    """Of an experiment, whose finished trials are kept, and of a selection, which writes nothing."""
    pytest.importorskip("distributed", reason="Dask is not installed (grip2[dask])")
    from tests.experiments.dask_cluster import cluster

    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    plan = tmp_path / "slow.toml"
    plan.write_text(SLOW)
    select = ["select", table, "--target", "y", "--out", tmp_path / "selection", "--draws", 400, "--statistic", "lcd"]
    experiment = ["experiment", "run", plan, "--out", tmp_path / "out"]
    with cluster(tmp_path, workers=1) as (address, _):
        with (
            Command([*experiment, "--scheduler", address], tmp_path / "t1") as one,
            Command([*select, "--scheduler", address], tmp_path / "t2") as other,
        ):
            other.until_it_says("columns: 20 number")
            until(lambda: count(tmp_path / "out", SLOW) >= 1, "a trial")
            time.sleep(1)
            scheduler = _scheduler(tmp_path)
            os.kill(scheduler, 9)
            assert one.wait(300) == 1, one.err
            assert "scheduler is gone" in one.err
            assert "Traceback" not in one.err.split("grip2:")[-1]
            assert other.wait(300) == 1, other.err
            assert "gone" in other.err
        assert not (tmp_path / "selection").exists()
        assert len(results(tmp_path / "out", SLOW)) >= 1


def _scheduler(folder) -> int:
    """The process of the scheduler that wrote its address into the folder."""
    mark = str(folder / "scheduler.json").encode()
    for path in filter(lambda each: each.isdecimal(), os.listdir("/proc")):
        try:
            with open(f"/proc/{path}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue
        if mark in words and b"dask_scheduler" in words:
            return int(path)
    raise AssertionError("no scheduler")
