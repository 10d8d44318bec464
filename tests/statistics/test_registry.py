"""The registry: names as pinned, lazy, and open to newcomers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grip2 import statistics
from grip2.statistics import registry


def test_names_are_the_pinned_ones():
    pinned = ["grip2", "grip1", "grip1a", "gr", "deeppink", "mald", "shap", "lapa", "lcd", "rf"]
    assert registry.names() == pinned


def test_every_entry_loads_and_is_exported():
    for name in registry.names():
        loaded = registry.entry(name).load()
        assert issubclass(loaded, statistics.Statistic)
        assert getattr(statistics, loaded.__name__) is loaded
        assert registry.entry(name).summary
        assert isinstance(registry.create(name), loaded)
        for setting in ("synthetic", "semireal", "hiv"):
            assert isinstance(registry.create_paper(name, setting), loaded)


def test_settings_are_passed_on():
    assert registry.create("lcd", folds=7).get_params()["folds"] == 7


def test_unknown_names_say_what_is_known():
    with pytest.raises(ValueError, match=r"one of grip2, grip1, .*, got 'gripp2'. Did you mean 'grip2'\?"):
        registry.create("gripp2")


def test_newcomers(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    registry.register("ridge", "grip2.statistics.lasso:LassoPath", "a test")
    assert "ridge" in registry.names()
    assert isinstance(registry.create("ridge"), statistics.LassoPath)
    with pytest.raises(ValueError, match="the name 'ridge' is taken"):
        registry.register("ridge", "somewhere:Else")
    with pytest.raises(ValueError, match="location must look like 'module:Class'"):
        registry.register("other", "nowhere")


def test_names_and_the_lasso_come_without_the_network_engine():
    code = (
        "import sys; from grip2.statistics import registry, LassoCoefficient; registry.names(); "
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = statistics.Nonsense
    assert "GRIP2" in dir(statistics)


@pytest.mark.parametrize("place", ["json:dumps", "json:nothing", "no_such_module:Thing"])
def test_a_place_must_hold_a_statistic(place):
    with pytest.raises(ValueError, match=place.partition(":")[2]):
        registry.create(place)
