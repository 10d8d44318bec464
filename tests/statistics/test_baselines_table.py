"""The script of the table of baselines: one row per finished trial, and a stopped run goes on where it stopped."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    script = importlib.import_module("baselines_table")

    def call(*options: str) -> list[str]:
        sizes = ["--n", "120", "--p", "10", "--rho", "0.3", "--out", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["baselines_table.py", *sizes, *options])
        script.main()
        return capsys.readouterr().out.splitlines()

    return call


def test_resumes(run, tmp_path):
    assert len(run("--methods", "lcd", "--trials", "2")) == 2
    assert run("--methods", "lcd", "--trials", "2") == []
    with (tmp_path / "trials.csv").open("a", encoding="utf-8") as stream:
        stream.write("120,10,0.3,0.2,0,lapa,0,0.1")  # a run killed in the middle of a line
    printed = run("--methods", "lcd,lapa", "--trials", "2")
    assert [line.split()[1:3] for line in printed] == [["0", "lapa"], ["1", "lapa"]]
    rows = (tmp_path / "trials.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 5
    assert all(row.count(",") == rows[0].count(",") for row in rows)
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| lcd | 2 |" in table
    assert "| lapa | 2 |" in table


def test_other_sizes_are_other_rows(run, tmp_path):
    run("--methods", "lapa", "--trials", "1")
    run("--methods", "lapa", "--trials", "1", "--snr", "0.5")
    assert len((tmp_path / "trials.csv").read_text(encoding="utf-8").splitlines()) == 3
    assert "| lapa | 1 |" in (tmp_path / "table.md").read_text(encoding="utf-8")
