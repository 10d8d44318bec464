"""Passes over a folder of Parquet files on a real Dask cluster of two workers, one of which is killed."""

from __future__ import annotations

import json

import pytest

from grip2 import KnockoffSelector, cli
from grip2.errors import Grip2Failure
from grip2.experiments.workers import open_workers
from grip2.knockoffs import CopulaKnockoffs
from grip2.statistics import EffectPosterior
from grip2.streaming import read_stream
from tests.experiments.dask_cluster import cluster
from tests.streaming.tables import command, folder_of, long_frame, small_sizes

distributed = pytest.importorskip("distributed")


class KillOne:
    """Progress that kills a worker as soon as the pass that draws knockoffs has begun."""

    def __init__(self, worker):
        self.worker, self.killed_at = worker, None

    def __call__(self, done, total):
        if self.killed_at is None and done / total > 0.3:
            self.killed_at = done / total
            self.worker.kill()
            self.worker.wait()


def selector() -> KnockoffSelector:
    return KnockoffSelector(EffectPosterior(sweeps=80), CopulaKnockoffs(), copies=3, random_state=0, describe=False)


def test_a_cluster_that_loses_a_worker_finds_what_one_machine_finds(tmp_path, monkeypatch):
    small_sizes(monkeypatch, block=200)
    table = read_stream(folder_of(long_frame(6_000), tmp_path / "rows"), "y")
    here = selector().fit(table).result_
    with cluster(tmp_path, 2) as (address, processes), open_workers(scheduler=address) as workers:
        kill = KillOne(processes[0])
        there = selector().fit(table, executor=workers.executor, progress=kill).result_
        assert kill.killed_at is not None
        assert kill.killed_at < 0.9
        assert processes[1].poll() is None
    assert there.selected == here.selected
    assert there.to_dict()["features"] == here.to_dict()["features"]


def test_a_command_reads_a_folder_on_a_cluster(tmp_path, monkeypatch, capsys):
    small_sizes(monkeypatch, block=200)
    folder = folder_of(long_frame(4_000), tmp_path / "rows")
    words = command(folder)
    cli.main([*words, "--out", str(tmp_path / "here")])
    with cluster(tmp_path, 2) as (address, _):
        cli.main([*words, "--scheduler", address, "--out", str(tmp_path / "there")])
    here, there = (json.loads((tmp_path / where / "selection.json").read_text()) for where in ("here", "there"))
    assert there["features"] == here["features"]
    assert there["streamed"]["source"] == "folder"


@pytest.mark.parametrize("by", ["us", "itself"])
def test_a_scheduler_that_ends_is_a_failure_in_words(tmp_path, monkeypatch, by):
    small_sizes(monkeypatch, block=200)
    table = read_stream(folder_of(long_frame(6_000), tmp_path / "rows"), "y")
    with cluster(tmp_path, 1) as (address, processes), open_workers(scheduler=address) as workers:

        def stop(done, total):
            if done / total > 0.3:
                workers.__exit__() if by == "us" else processes[-1].kill()

        with pytest.raises(Grip2Failure, match="workers that read the table are gone"):
            selector().fit(table, executor=workers.executor, progress=stop)
