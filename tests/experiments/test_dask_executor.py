"""Tasks of a Dask client: results, faults, and that nobody waits for a client that is closed."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError, wait

import numpy as np
import pytest

from grip2.experiments.workers import DaskWorkers
from tests.experiments.dask_cluster import cluster

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster"), workers=1) as (address, _):
        yield address


def test_results_faults_and_withdrawn_tasks(address):
    with DaskWorkers(address) as workers:
        assert workers.executor.submit(np.arange, 3).result(60).tolist() == [0, 1, 2]
        assert isinstance(workers.executor.submit(int, "three").exception(60), ValueError)
        late = workers.executor.submit(np.arange, 3)
        assert late.cancel() == late.cancelled()
        assert list(workers.executor.map(abs, [-1, -2])) == [1, 2]
    with pytest.raises(RuntimeError, match="after shutdown"):
        workers.executor.submit(abs, -1)


def test_nobody_waits_for_a_client_that_was_closed(address):
    # Large results, so that some are being fetched just then: Dask's own executor forgets those, in most repeats.
    for _ in range(8):
        with DaskWorkers(address) as workers:
            sent = [workers.executor.submit(np.ones, 2_000_000) for _ in range(30)]
            sent[0].result(60)
        assert not wait(sent, timeout=20).not_done
        for future in sent:
            assert future.cancelled() or len(future.result()) == 2_000_000


def test_a_task_under_way_is_cancelled_for_whoever_waits(address):
    workers = DaskWorkers(address)
    sent = workers.executor.submit(time.sleep, 2)
    workers.__exit__()
    with pytest.raises(CancelledError):
        sent.result(20)
