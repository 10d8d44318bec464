"""Dask data frames read block by block: they give what a file of the same rows gives, also on a cluster that loses a worker."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from grip2 import KnockoffSelector
from grip2.errors import Grip2Error
from grip2.experiments.workers import open_workers
from grip2.knockoffs import CopulaKnockoffs
from grip2.statistics import EffectPosterior
from grip2.streaming import read_stream
from grip2.streaming.dask_frames import DaskTable
from grip2.streaming.parquet import open_parquet
from tests.experiments.dask_cluster import cluster
from tests.streaming.tables import folder_of, long_frame, parquet, small_sizes

dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
# Dask's own code, with the newest pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def selector() -> KnockoffSelector:
    return KnockoffSelector(EffectPosterior(sweeps=80), CopulaKnockoffs(), copies=3, random_state=0, describe=False)


def uneven(frame: pd.DataFrame):
    """Partitions of different sizes, one of them empty."""
    cuts = [0, 70, 70, 900, 1000, len(frame)]
    parts = [frame.iloc[a:b] for a, b in pairwise(cuts)]
    return dd.from_map(lambda k: parts[k], range(len(parts)), meta=frame.iloc[:0])


@pytest.mark.parametrize("size", [64, 300, 5000])
def test_partitions_have_the_blocks_of_a_file(tmp_path, size):
    frame = long_frame(2500)
    names = ["c3", "c0", "c7"]
    stored = DaskTable.of(uneven(frame))
    file = open_parquet(parquet(frame, tmp_path / "a.parquet"))
    assert stored.n_rows == file.n_rows == 2500
    ours = stored.blocks(names, np.dtype(np.float32), size)
    theirs = file.blocks(names, np.dtype(np.float32), size)
    for span in ours.spans:
        sent = ours.for_span(span)
        for own, other in zip(sent.read(span), theirs.read(span), strict=True):
            assert (own.number, own.start) == (other.number, other.start)
            np.testing.assert_array_equal(own.X, other.X)


def test_missing_logical_and_whole_numbers():
    frame = pd.DataFrame({"a": [1.5, None, 3.0], "b": [True, False, True], "c": [1, 2, 3]})
    stored = DaskTable.of(dd.from_pandas(frame, npartitions=2))
    [block] = stored.blocks(["c", "a", "b"], np.dtype(float)).read(stored.blocks(["a"], np.dtype(float)).spans[0])
    np.testing.assert_array_equal(block.X, [[1, 1.5, 1], [2, np.nan, 0], [3, 3, 1]])


def test_a_cluster_that_loses_a_worker_selects_what_a_file_gives(tmp_path, monkeypatch):
    small_sizes(monkeypatch, block=200)
    folder = folder_of(long_frame(6_000), tmp_path / "rows")
    here = selector().fit(read_stream(folder, "y")).result_
    frame = dd.read_parquet(folder)
    assert frame.npartitions == 3
    alone = selector().fit(read_stream(frame, "y")).result_
    assert alone.to_dict()["features"] == here.to_dict()["features"]
    assert alone.streamed.source == "dask"
    with cluster(tmp_path, 2) as (address, processes), open_workers(scheduler=address) as workers:
        table = read_stream(frame, "y", executor=workers.executor)
        killed = []

        def kill_one(done, total):
            if not killed and done / total > 0.3:
                killed.append(done / total)
                processes[0].kill()
                processes[0].wait()

        there = selector().fit(table, executor=workers.executor, progress=kill_one).result_
        assert killed
        assert processes[1].poll() is None
    assert there.to_dict()["features"] == here.to_dict()["features"]


def test_what_cannot_be_used_is_refused_in_words():
    frame = long_frame(600)
    with pytest.raises(Grip2Error, match=r"read_stream\(table, target="):
        KnockoffSelector().fit(dd.from_pandas(frame.drop(columns="y"), npartitions=2), frame["y"])
    with pytest.raises(Grip2Error, match="no rows"):
        read_stream(dd.from_pandas(frame.iloc[:0], npartitions=1), "y")
    texts = frame.assign(c3="a")
    with pytest.raises(Grip2Error, match="column c3 holds"):
        read_stream(dd.from_pandas(texts, npartitions=2), "y")

    def failing(k):
        if k:
            raise RuntimeError("no such file any more")
        return frame

    stored = DaskTable.of(dd.from_map(lambda k: frame, range(2), meta=frame.iloc[:0]))
    broken = dd.from_map(failing, range(2), meta=frame.iloc[:0]).to_delayed()
    moved = DaskTable(tuple(broken), stored.bounds, stored.schema)
    with pytest.raises(Grip2Error, match=r"partition 1 cannot be computed here \(RuntimeError: no such file"):
        list(moved.batches(["c0"], 0, 1200))
    fewer = DaskTable(stored.partitions, np.array([0, 600, 1300]), stored.schema)
    with pytest.raises(Grip2Error, match="partition 1 has 600 rows, and had 700"):
        list(fewer.batches(["c0"], 0, 1300))
