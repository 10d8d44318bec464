"""The guide "add your own statistic": its code is the example file, and the example works."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from grip2.statistics import registry

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_statistic.py"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    return importlib.import_module("own_statistic")


def test_the_guide_shows_the_example():
    assert EXAMPLE.read_text().rstrip() in (ROOT / "docs" / "add-a-statistic.md").read_text()


def test_the_class_has_20_lines():
    lines = EXAMPLE.read_text().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("class "))
    end = next(k for k, line in enumerate(lines) if line.startswith("def main"))
    assert len([line for line in lines[start:end] if line.strip()]) <= 20


def test_scores_by_hand(example):
    y = np.array([1.0, 2.0, 3.0, 6.0])
    column = np.array([[10.0], [20.0], [30.0], [40.0]])
    # Bins {1, 2} and {3, 6}: means 1.5 and 4.5 around 3, variance between 2.25, in all 3.5.
    np.testing.assert_allclose(example.BinnedVariance(bins=2)._scores(column, y), [2.25 / 3.5])


def test_it_runs_and_finds(example, capsys):
    example.main()
    found, false = (int(text.split()[0]) for text in capsys.readouterr().out.splitlines()[-1].split(", "))
    assert found >= 8
    assert false <= 5


def test_it_can_be_registered(example, monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    registry.register("bins", "own_statistic:BinnedVariance")
    assert registry.create("bins", bins=8).get_params() == {"bins": 8}
