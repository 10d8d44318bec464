"""The guide "add your own statistic": its code is the example file, and the example works."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from grip2.statistics.registry import STATISTICS

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


def blocks_of_the_guide() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "add-a-statistic.md").read_text(), re.S)


def test_the_code_of_the_guide_runs(example, monkeypatch):
    """All blocks but the example itself, which `test_it_runs_and_finds` runs."""
    monkeypatch.setattr(STATISTICS, "_own", dict(STATISTICS._own))
    estimator, _, registering = blocks_of_the_guide()
    for block in (estimator, registering):
        exec(block, {})
    assert STATISTICS.create("bins", bins=8).get_params() == {"bins": 8}


def test_equal_values_fall_into_one_bin(example):
    """0/1 columns in a table sorted by y: neither the order of the rows nor an empty bin says anything."""
    y = np.sort(np.random.default_rng(0).standard_normal(200))
    columns = np.zeros((200, 2))
    columns[::4, 0] = 1.0  # one row in four, at every height of y
    columns[150:, 1] = 1.0
    scores = example.BinnedVariance(bins=8)._scores(columns, y)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_allclose(example.BinnedVariance(bins=8)._scores(columns[order], y[order]), scores)
    low, high = y[:150].mean() - y.mean(), y[150:].mean() - y.mean()
    assert scores[0] < 0.01
    assert scores[1] == pytest.approx((0.75 * low**2 + 0.25 * high**2) / y.var())


def test_classes_have_no_order(example):
    """The class in the middle is told by the column; numbering the classes another way changes nothing."""
    rng = np.random.default_rng(0)
    X, Xk = rng.standard_normal((2, 300, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    y = np.where(y == 2, 0, y) + 2 * (rng.random(300) < 0.3)  # 0 and 1, some of them renamed 2 and 3
    found, renamed = (
        example.BinnedVariance().importance(X, Xk, names, rng=np.random.default_rng(0), task="classification")
        for names in (y, np.array([2, 0, 3, 1])[y])
    )
    np.testing.assert_allclose(renamed.W, found.W)
    assert np.argmax(found.W) == 0


def test_two_classes_score_as_their_numbers(example):
    rng = np.random.default_rng(0)
    X, Xk = rng.standard_normal((2, 100, 3))
    y = (X[:, 0] > 0).astype(float)
    as_classes, as_numbers = (
        example.BinnedVariance().importance(X, Xk, y, rng=np.random.default_rng(0), task=task)
        for task in ("classification", "regression")
    )
    np.testing.assert_allclose(as_classes.original, as_numbers.original)
    np.testing.assert_allclose(as_classes.knockoff, as_numbers.knockoff)
