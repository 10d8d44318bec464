"""The examples of a sampler and of a response: shown whole in the guides, and they find what acts."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from grip2 import Grip2Error
from grip2.responses import recognition, register
from grip2.responses.measurement import Measurement

ROOT = Path(__file__).parents[1]


@pytest.fixture
def example(monkeypatch):
    """Import one of the examples; what it registers is forgotten afterwards."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setattr(recognition, "KINDS", recognition.KINDS)
    return importlib.import_module


@pytest.mark.parametrize("kind", ["sampler", "response"])
def test_the_guide_shows_the_example(kind):
    text = (ROOT / "examples" / f"own_{kind}.py").read_text(encoding="utf-8")
    assert text in (ROOT / "docs" / f"add-a-{kind}.md").read_text(encoding="utf-8")


def test_the_sampler_is_exact_and_finds(example, capsys):
    own = example("own_sampler")
    own.main()
    assert "3 of 8 features selected at fdr 0.2: price, rating, brand" in capsys.readouterr().out
    chances = [{0.0: 0.25, 4.0: 0.75}, {1.0: 0.5, 2.0: 0.5}]
    sampler = own.DesignKnockoffs(chances).fit(np.zeros((4, 2)))
    np.testing.assert_allclose(sampler.s_for(3), [3.0, 0.25])  # variances, by hand
    drawn = sampler.sample(np.zeros((20_000, 2)), rng=np.random.default_rng(0), copies=2)
    np.testing.assert_allclose(drawn.mean(axis=1), [[3.0, 1.5]] * 2, atol=0.06)
    with pytest.raises(Grip2Error, match="single columns only"):
        sampler.fit(np.zeros((4, 2)), groups=["a", "a"])


def test_the_response_is_found_by_its_task_and_finds(example, capsys):
    own = example("own_response")
    register(own.Shares)  # an earlier test may have imported the example
    own.main()
    out = capsys.readouterr().out
    assert "shares: from" in out
    assert "4 of 20 features selected at fdr 0.1: x0, x1, x2, x3" in out
    with pytest.raises(Grip2Error, match="Divide percentages by 100"):
        own.Shares.encode(np.array([1.0, 50.0]), "test")


def test_only_kinds_of_response_can_be_registered(monkeypatch):
    monkeypatch.setattr(recognition, "KINDS", recognition.KINDS)
    with pytest.raises(Grip2Error, match=r"must be a subclass of grip2\.responses\.Response"):
        register(str)
    with pytest.raises(Grip2Error, match="must not be 'auto'"):
        register(type("Guess", (Measurement,), {"task": "auto"}))
    again = register(Measurement)
    assert again is Measurement
    assert recognition.KINDS.count(Measurement) == 1
