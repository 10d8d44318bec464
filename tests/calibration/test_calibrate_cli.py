"""`grip2 calibrate` as a person meets it: files, messages, exit codes, and a run that was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pandas as pd
import pytest

from tests.calibration.tables import correlated, measurement, mixed_table
from tests.experiments.helpers import environment, until
from tests.test_cli import run

FILES = ["calibration.html", "calibration.json", "calibration.svg", "run.lock", "trials.csv", "trials.sqlite"]


@pytest.fixture
def path(tmp_path):
    frame = mixed_table()
    frame["y"] = measurement(frame[[f"x{j}" for j in range(8)]].to_numpy(), 3)
    file = tmp_path / "table.csv"
    frame.to_csv(file, index=False)
    return file


def words(path, out, *more):
    fixed = ("--target", "y", "--statistic", "lcd", "--knockoffs", "copula", "--true", 3, "--jobs", 1)
    return ["calibrate", path, *fixed, "--out", out, *more]


def rows(out):
    return pd.read_csv(out / "trials.csv").drop(columns="seconds").to_csv(index=False)


def test_files_messages_and_refusals(capsys, path, tmp_path):
    out = tmp_path / "calibration"
    code, text, err = run(capsys, *words(path, out, "--runs", 4))
    assert code == 0, err
    assert sorted(file.name for file in out.iterdir()) == FILES
    content = json.loads((out / "calibration.json").read_text())
    assert " ".join(text.split()).count(content["sentence"]) == 1
    assert "4 simulated responses on 10 units" in text
    assert "simulated responses depend on 3 units (given)" in err
    assert "y is taken for a measurement" in err
    page = (out / "calibration.html").read_text()
    assert content["sentence"] in page
    assert page.count("<svg") == 2
    assert "src=" not in page, "the page must stand alone"
    assert (out / "calibration.svg").read_text().startswith("<svg")
    before = (out / "trials.csv").read_bytes()
    code, _, err = run(capsys, *words(path, out, "--runs", 4))
    assert code == 0, err
    assert (out / "trials.csv").read_bytes() == before, "nothing was computed again"
    code, _, err = run(capsys, *words(path, out, "--runs", 4, "--fdr", "0.15", "--draws", 2))
    assert code == 2
    assert "(0.1 there, 0.15 now)" in err
    assert "(1 there, 2 now)" in err
    assert (out / "trials.csv").read_bytes() == before
    code, _, err = run(capsys, *words(path, out, "--runs", 2, "--fdr", "0.15", "--force"))
    assert code == 0, err
    assert set(pd.read_csv(out / "trials.csv")["target_fdr"]) == {0.05, 0.1, 0.15, 0.2}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--signals", "linear,bend"], "there is no 'bend'. Did you mean 'bends'?"),
        (["--strength", "2"], "strength is a share of variance"),
        (["--target", "z"], "one column at a time"),
        (["--jobs", "2", "--scheduler", "tcp://localhost:1"], "not both"),
    ],
)
def test_bad_input_leaves_nothing_behind(capsys, path, tmp_path, more, message):
    out = tmp_path / "calibration"
    code, _, err = run(capsys, *words(path, out, *more))
    assert code == 2
    assert message in err
    assert not out.exists()


def test_files_of_others_are_not_replaced(capsys, path, tmp_path):
    (tmp_path / "trials.csv").write_text("mine")
    code, _, err = run(capsys, *words(path, tmp_path))
    assert code == 2
    assert "trials.csv already there" in err


def test_a_killed_run_goes_on_as_if_nothing_had_happened(capsys, tmp_path):
    X = correlated(250, 25, 0.5)  # about a tenth of a second a trial, so that there is a middle in which to kill it
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(25)]).assign(y=measurement(X, 10))
    file, out = tmp_path / "table.csv", tmp_path / "killed"
    frame.to_csv(file, index=False)

    more = ("--runs", 24, "--signals", "linear,mixture", "--strength", 0.5)
    process = subprocess.Popen(
        [sys.executable, "-m", "grip2", *(str(word) for word in words(file, out, *more))],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: _finished(out) >= 2, "two trials")
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = _finished(out)
    assert 2 <= kept < 24
    assert sorted(one.name for one in out.iterdir() if "trials" not in one.name) == ["run.lock"], "no half-written file"
    for folder in (out, tmp_path / "whole"):
        code, _, err = run(capsys, *words(file, folder, *more))
        assert code == 0, err
    assert rows(out) == rows(tmp_path / "whole")


def _finished(folder):
    from grip2.experiments.store import Store

    if not (folder / "trials.sqlite").exists():
        return 0
    with Store(folder, create=False) as store:
        (count,) = store._connection.execute("SELECT count(*) FROM trials WHERE status = 'done'").fetchone()
        return count
