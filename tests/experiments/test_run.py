"""Runs: killed and resumed, two at once, any number of workers, dead workers, failed trials and their retry."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from grip2.commands import experiment as command
from grip2.experiments.store import Store
from grip2.experiments.workers import open_workers
from tests.datasets.test_hiv import CELLS, FOLD, write_class
from tests.experiments.helpers import SLOW, SMALL, alive, children, count, finish, results, start, until

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The slow plan, run once without any accident."""
    folder = tmp_path_factory.mktemp("undisturbed")
    plan = folder / "slow.toml"
    plan.write_text(SLOW)
    finish(start("run", plan, "--jobs", 2, "--out", folder / "out"))
    return plan, results(folder / "out", SLOW)


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    plan = tmp_path / "small.toml"
    plan.write_text(SMALL)
    for jobs in (1, 3):
        command.run(str(plan), jobs=jobs, out=tmp_path / str(jobs))
    one, three = (results(tmp_path / str(jobs), SMALL) for jobs in (1, 3))
    assert len(one) == 12
    assert one == three


@linux
def test_kill_and_resume(tmp_path, undisturbed):
    plan, expected = undisturbed
    process = start("run", plan, "--jobs", 2, "--out", tmp_path)
    until(lambda: count(tmp_path, SLOW) >= 3, "three trials")
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert workers
    until(lambda: not any(alive(pid) for pid in workers), "workers of a killed run must leave")
    before = results(tmp_path, SLOW)
    assert 3 <= len(before) < 8, "killed in the middle"
    with Store(tmp_path) as store:
        written = dict(store._connection.execute("SELECT trial, rowid FROM trials").fetchall())
    text = finish(start("run", plan, "--jobs", 2, "--out", tmp_path))
    assert "8 of 8 trials" in text
    assert results(tmp_path, SLOW) == expected
    with Store(tmp_path) as store:
        rows = dict(store._connection.execute("SELECT trial, rowid FROM trials").fetchall())
    assert {trial: rows[trial] for trial in written} == written, "what was finished is not computed again"


def test_two_runs_on_one_store(tmp_path, undisturbed):
    plan, expected = undisturbed
    runs = [start("run", plan, "--jobs", 1, "--out", tmp_path) for _ in range(2)]
    for process in runs:
        assert "8 of 8 trials" in finish(process)
    assert results(tmp_path, SLOW) == expected
    with Store(tmp_path) as store:
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@linux
def test_a_dead_worker_costs_nothing_but_time(tmp_path, undisturbed):
    plan, expected = undisturbed
    process = start("run", plan, "--jobs", 2, "--out", tmp_path)
    until(lambda: count(tmp_path, SLOW) >= 2, "two trials")
    os.kill(children(process.pid)[0], signal.SIGKILL)
    assert "8 of 8 trials" in finish(process)
    assert results(tmp_path, SLOW) == expected


NRTI = """
name = "nrti"
trials = 2
fdr = [0.1]
[[data]]
source = "hiv"
drug_class = "NRTI"
drug = "3TC"
knockoffs = "gaussian"
[[method]]
name = "lapa"
"""


def test_failed_trials_are_recorded_and_retried(tmp_path, capsys):
    plan = tmp_path / "nrti.toml"
    plan.write_text(NRTI)
    home = write_class(tmp_path, CELLS, FOLD)
    good = (home / "hiv" / "NRTI_DATA.txt").read_text()
    (home / "hiv" / "NRTI_DATA.txt").write_text(good.replace("\tP240", "\tQ240"))
    settings = {"jobs": 1, "out": tmp_path / "out", "data_home": home}
    with pytest.raises(SystemExit) as ended:
        command.run(str(plan), **settings)
    told = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 1
    assert "column P240 is missing" in told
    assert "2 trials failed" in told
    (home / "hiv" / "NRTI_DATA.txt").write_text(good)
    with pytest.raises(SystemExit):  # not tried again unless asked
        command.run(str(plan), **settings)
    command.run(str(plan), retry_failed=True, **settings)
    command.status(tmp_path / "out")
    assert "2 of 2 done, 0 failed" in capsys.readouterr().out


@linux
def test_worker_loss_on_a_dask_cluster(tmp_path, undisturbed):
    pytest.importorskip("distributed", reason="Dask is not installed (grip2[dask])")
    from tests.experiments.dask_cluster import cluster

    plan, expected = undisturbed
    with cluster(tmp_path, workers=2) as (address, workers):
        process = start("run", plan, "--scheduler", address, "--out", tmp_path / "out")
        until(lambda: count(tmp_path / "out", SLOW) >= 2, "two trials")
        workers[0].kill()
        assert "8 of 8 trials" in finish(process)
        assert workers[1].poll() is None
    assert results(tmp_path / "out", SLOW) == expected


def test_bad_words(tmp_path):
    with pytest.raises(ValueError, match="not both"), open_workers(2, "tcp://127.0.0.1:9"):
        pass
    with pytest.raises(ValueError, match="--jobs must be at least 1"), open_workers(0):
        pass
    plan = tmp_path / "small.toml"
    plan.write_text(SMALL.replace('name = "lcd"', 'name = "lcd"\nsettings = { fold = 3 }'))
    with pytest.raises(ValueError, match="line 19: method 'lcd': LassoCoefficient has no setting 'fold'"):
        command.run(str(plan), jobs=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
