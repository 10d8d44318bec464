"""The registries: names as pinned, classes imported on demand, open to other packages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grip2 import knockoffs, statistics
from grip2.errors import Grip2Error
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.registry import Entry, Registry
from grip2.statistics.base import Statistic
from grip2.statistics.paper_settings import PAPER_SETTINGS
from grip2.statistics.registry import STATISTICS

PINNED = {"grip2", "grip1", "grip1a", "gr", "effects", "deeppink", "mald", "shap", "lapa", "lcd", "rf"}
REGISTRIES = [(STATISTICS, Statistic, statistics), (SAMPLERS, KnockoffSampler, knockoffs)]


def small(**more: str) -> Registry:
    """A registry of its own, so that tests register nothing for good."""
    entries = [Entry(name, location) for name, location in more.items()]
    lasso = Entry("lcd", "grip2.statistics.lasso_coefficient:LassoCoefficient")
    return Registry("statistic", base="grip2.statistics.base:Statistic", group="grip2.test", entries=[lasso, *entries])


def test_names_are_the_pinned_ones():
    assert set(STATISTICS.names()) >= PINNED
    assert SAMPLERS.names() == ["auto", "copula", "sequential", "gaussian", "fixed"]


@pytest.mark.parametrize(("registry", "base", "package"), REGISTRIES, ids=["statistics", "knockoffs"])
def test_every_entry_loads_is_exported_and_is_described(registry, base, package):
    for entry in registry.own_entries():
        loaded = registry.load(entry.name)
        assert issubclass(loaded, base)
        assert getattr(package, loaded.__name__) is loaded
        assert loaded.__name__ in package.__all__
        assert loaded.__name__ in dir(package)
        assert entry.summary
        assert entry.title
        assert type(registry.create(entry.name)) is loaded


@pytest.mark.parametrize("name", [entry.name for entry in STATISTICS.own_entries()])
def test_every_statistic_has_the_papers_settings(name):
    for setting in PAPER_SETTINGS:
        assert type(STATISTICS.load(name).paper(setting)) is STATISTICS.load(name)


def test_settings_are_passed_on():
    assert STATISTICS.create("lcd", folds=7).get_params()["folds"] == 7


@pytest.mark.parametrize(
    ("registry", "name", "near"), [(STATISTICS, "gripp2", "grip2"), (SAMPLERS, "gausian", "gaussian")]
)
def test_unknown_names_list_the_known_ones_and_suggest_one(registry, name, near):
    expected = rf"{registry.what} must be one of .*, or 'module:Class', got '{name}'\. Did you mean '{near}'\?"
    with pytest.raises(Grip2Error, match=expected):
        registry.create(name)


def test_register():
    registry = small()
    registry.register("path", "grip2.statistics.lasso_path:LassoPath", "a test")
    assert registry.names() == ["lcd", "path"]
    assert type(registry.create("path")) is statistics.LassoPath
    assert registry.entry("path").title == "path"
    with pytest.raises(Grip2Error, match=r"the name 'path' is taken by grip2\.statistics\.lasso_path:LassoPath"):
        registry.register("path", "somewhere:Else")
    with pytest.raises(Grip2Error, match="location must look like 'module:Class', got 'nowhere'"):
        registry.register("other", "nowhere")


def test_a_location_takes_the_place_of_a_name():
    assert type(small().create("grip2.statistics.lasso_path:LassoPath")) is statistics.LassoPath


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("json:dumps", "json:dumps must be a subclass of grip2.statistics.base.Statistic"),
        ("grip2.knockoffs.copula:CopulaKnockoffs", "must be a subclass of grip2.statistics.base.Statistic"),
        ("json:nothing", r"json:nothing cannot be imported \(module 'json' has no attribute 'nothing'\)"),
        ("no_such_module:Thing", r"no_such_module:Thing cannot be imported \(No module named 'no_such_module'\)"),
        ("grip2.statistics.base:Statistic", "Statistic cannot be created"),
        ("grip2.statistics.from_estimator:FromEstimator", "FromEstimator cannot be created .*estimator"),
    ],
)
def test_a_location_must_hold_a_statistic_that_can_be_created(location, message):
    with pytest.raises(Grip2Error, match=message):
        small().create(location)


def test_names_and_the_lasso_come_without_the_network_engine():
    code = (
        "import sys; from grip2.statistics import LassoCoefficient; from grip2.statistics.registry import STATISTICS; "
        "STATISTICS.names(); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", [statistics, knockoffs], ids=["statistics", "knockoffs"])
def test_unknown_attribute(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nonsense'"):
        _ = package.Nonsense
