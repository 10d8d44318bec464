"""The suite: every case can be run, contestants of a task agree, and the command writes its files."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from grip2 import cli
from grip2.bench import suite
from grip2.bench.case import Case
from grip2.bench.contestants import engine, lasso, samplers, selection, solvers
from grip2.bench.contestants.designs import correlated, found_by
from grip2.bench.suite import FULL, PARTS, QUICK, cases, parts_named
from grip2.errors import Grip2Error
from tests.bench.test_measurements import SMALL

FOLDER = Path(suite.__file__).parent / "contestants"


def parameters(code: str) -> tuple[set[str], bool]:
    """Names of a contestant's settings, and whether it takes others; read, not imported: peers are not installed here."""
    module, _, function = code.partition(":")
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    return {argument.arg for argument in found.args.kwonlyargs}, found.args.kwarg is not None


@pytest.mark.parametrize("extent", [QUICK, FULL], ids=["quick", "full"])
def test_every_case_is_of_a_contestant_that_takes_its_settings(extent):
    every = cases(list(PARTS), extent)
    assert {case.part for case in every} == set(PARTS)
    assert len({case.key for case in every}) == len(every)
    for case in every:
        known, open_ = parameters(case.code)
        assert open_ or set(case.settings) <= known, case


def test_peers_import_nothing_of_ours():
    for name in ("torch_training", "knockpy_library", "designs", "networks", "products"):
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        assert "grip2" not in text, name


def test_parts_by_name():
    assert parts_named("lasso, engine") == ["engine", "lasso"]
    with pytest.raises(Grip2Error, match="got 'laso'"):
        parts_named("laso")


def test_our_lasso_and_scikit_learns_are_the_same_task():
    for task in (lasso.cross_validated, lasso.path):
        (ours,) = task(n=200, p=8, ours=True)().items()
        (theirs,) = task(n=200, p=8, ours=False)().items()
        assert ours[0] == theirs[0]
        assert ours[1] == pytest.approx(theirs[1], rel=1e-3)


def test_our_contestants_do_what_they_say():
    assert engine.steps(**{**SMALL, "steps": 25}, members=2)() == {"count": 50}
    objective = {m: solvers.solver(method=m, p=12)()()["mvr objective"] for m in ("mvr", "maxent")}
    assert 0 < objective["mvr"] < objective["maxent"]
    assert samplers.draw(kind="gaussian", n=50, p=4)() == {}
    words = {"statistic": "lcd", "knockoffs": "gaussian", "copies": 1, "describe": False}
    assert selection.correlated_columns(n=400, p=30, true=15, **words)()["power"] > 0.8


def test_the_design_has_exact_knockoffs():
    import numpy as np

    design = correlated(20_000, 6, true=2, curved=False)
    both = np.cov(np.hstack([design.X, design.Xk]).T)
    assert np.abs(both[:6, :6] - both[6:, 6:]).max() < 0.06  # 20,000 rows: standard errors of 0.01
    between = both[:6, 6:] - both[:6, :6]
    assert np.abs(between - np.diag(np.diag(between))).max() < 0.06
    W = np.array([5.0, 4.0, 3.0] * 4 + [-1.0])
    assert found_by(W, np.arange(12)) == {"power": 1.0, "fdp": 0.0}
    assert found_by(-W, np.arange(12)) == {"power": 0.0, "fdp": 0.0}


def test_the_command_measures_and_writes(tmp_path, monkeypatch, capsys):
    def small(_):
        for name, steps in (("A", 5), ("B", 50)):
            yield Case("engine", "products", name, "products:steps", {**SMALL, "steps": steps})
        yield Case("growth", "products by rows", "A", "products:steps", SMALL, size=8)

    monkeypatch.setitem(suite.PARTS, "engine", small)
    monkeypatch.chdir(tmp_path)  # where there is no environment for peers
    out = tmp_path / "out"
    words = ["bench", "--quick", "--only", "engine", "--out", str(out), "--budget", "2"]
    cli.main(words)
    printed = capsys.readouterr()
    assert "Training" in printed.out
    assert "torch is not installed" in " ".join(printed.err.split())
    found = json.loads((out / "bench.json").read_text())
    assert [row["contestant"] for row in found["rows"]] == ["A", "B"]
    assert found["rows"][1]["ratio"]["repeats"] == QUICK.comparisons
    assert found["complete"]
    assert (out / "growth.svg").read_text().startswith("<svg")
    before = (out / "measurements.jsonl").read_text()
    cli.main(words)  # nothing is left to be done
    assert (out / "measurements.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--peers", "/no/python"], "--peers must be an interpreter with torch or knockpy, got /no/python"),
        (["--only", "speed"], "--only must name parts of start, engine"),
        (["--cores", "100000"], "--cores must be at most"),
    ],
)
def test_bad_words(words, answer, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", *words, "--out", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert answer in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
