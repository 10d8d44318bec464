"""The questions of a newcomer in `examples/tasks`: each names the page that answers it, and its script does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.documents import ROOT

TASKS = ROOT / "examples" / "tasks"
SCRIPTS = sorted([*TASKS.glob("*.sh"), *TASKS.glob("*.py")])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_page_that_answers_is_there(script):
    """A page, and the beginning of one of its headings where the script quotes one."""
    head = "\n".join(script.read_text(encoding="utf-8").splitlines()[:3])
    named = re.findall(r'(docs/[\w-]+\.md)(?: "([^"]+)")?', head)
    assert named, head
    for page, heading in named:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not heading or f"\n## {heading}" in text, (page, heading)


def test_the_list_is_complete():
    listed = re.findall(r"\]\((\d\d-[\w.-]+)\)", (TASKS / "README.md").read_text(encoding="utf-8"))
    assert listed == [script.name for script in SCRIPTS]
    assert len(SCRIPTS) == 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small tables, and a command ``grip2`` that runs this tree."""
    where = tmp_path_factory.mktemp("tasks")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((250, 8)), columns=["age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5"])
    X["s2"] += 3 * X["s1"]
    X.assign(y=2 * X["bmi"] - 2 * X["bp"] + X["s1"] + rng.standard_normal(250)).to_csv(where / "table.csv", index=False)
    times = rng.exponential(np.exp(-1.5 * X["bmi"] + 1.5 * X["age"]))
    X.assign(time=times, cens=(rng.random(250) < 0.8).astype(int)).to_csv(where / "survival.csv", index=False)
    (where / "bin").mkdir()
    command = where / "bin" / "grip2"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grip2 "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return where


def run(folder: Path, start: str, *arguments: str) -> str:
    """What the script whose name starts so prints."""
    bash = shutil.which("bash")
    [script] = [each for each in SCRIPTS if each.name.startswith(start)]
    if script.suffix == ".sh" and not bash:
        pytest.skip("no bash")
    program = [sys.executable] if script.suffix == ".py" else [str(bash)]
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "120",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [*program, str(script), *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_which_features_and_the_report_explained(folder):
    out = run(folder, "01", "table.csv", "y", "answer")
    assert "bmi" in out
    assert "Verdict on the knockoffs" in out
    assert {"report.html", "selection.csv", "selection.json"} == {each.name for each in (folder / "answer").iterdir()}
    told = run(folder, "10", "answer")
    selected = json.loads((folder / "answer" / "selection.json").read_text(encoding="utf-8"))["selected"]
    assert f"Of 8 candidates: {', '.join(selected)}." in told
    for section in ("Selected: bmi", "Near misses", "Can the knockoffs be trusted?", "What the guarantee rests on"):
        assert f"{section}\n" in told


@pytest.mark.slow
def test_steadier(folder):
    out = run(folder, "02", "table.csv", "y", "steady")
    assert "in draws" in out
    assert re.search(r"averaged over 10 draws, of at\s+least 8 / \(0\.2 x \d\)", out)
    assert out.count("Jaccard") == 2


@pytest.mark.slow
def test_why_nothing(folder):
    out = run(folder, "03")
    assert out.startswith("0 of 12 features selected at fdr 0.1. With 5 knockoff copies at least 2 features")
    assert "Likely cause: a weak signal, or none" in out
    assert "Next step" in out


@pytest.mark.slow
def test_groups(folder):
    out = run(folder, "04", "table.csv", "y", "grouped", "lipids", "s1", "s2")
    assert "of 7 features selected" in out
    assert "lipids (2 columns)" in out


@pytest.mark.slow
def test_survival(folder):
    out = run(folder, "05", "survival.csv", "time", "cens", "times")
    assert re.search(r"bmi +│ increasing", out)
    assert re.search(r"age +│ decreasing", out)
    assert "Direction (of the risk of the event)" in out
    assert "the risk of the event increases with it" in (folder / "times" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_lasso(folder):
    out = run(folder, "06", "table.csv", "y")
    assert "the cross-validated lasso keeps" in out
    assert re.search(r"selected by both:.* bmi", out)


@pytest.mark.slow
def test_the_same_again(folder):
    out = run(folder, "07", "table.csv", "y", "again")
    assert "--seed 0 --out again/here-again" in out
    assert '"scikit-learn": "' in out
    assert out.endswith("the same, to the last digit\n")


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("GRIP2_DATA"), reason="GRIP2_DATA is not set")
def test_the_papers_method(folder):
    out = run(folder, "08", "hiv", "2")
    assert "42 of 42 trials of hiv in hiv" in out
    assert re.search(r"\| GRIP2 \| 0\.\d+ \(0\.\d+\) \| 0\.222", out)


@pytest.mark.slow
def test_my_own_statistic(folder):
    out = run(folder, "09", "table.csv", "y")
    assert re.search(r"\d of 8 features selected at fdr 0\.2: .*bmi", out)
    assert "'name': 'RankRidge', 'penalty': 0.01" in out
