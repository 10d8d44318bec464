"""Statistics by name: the one list from which the command line, the experiments and the contract tests take
theirs.

Classes are imported when asked for, so that listing names costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grip2.errors import Grip2Error

if TYPE_CHECKING:
    from grip2.statistics.base import Statistic


@dataclass(frozen=True)
class Entry:
    """Where a statistic lives and what it is, in one line."""

    name: str
    location: str  # "module:Class"
    summary: str

    def load(self) -> type[Statistic]:
        module, _, class_name = self.location.partition(":")
        try:
            found = getattr(importlib.import_module(module), class_name)
        except (ImportError, AttributeError) as error:
            raise Grip2Error(f"statistic {self.name!r}: {self.location} cannot be imported ({error}).") from error
        base = importlib.import_module("grip2.statistics.base").Statistic
        if not (isinstance(found, type) and issubclass(found, base)):
            raise Grip2Error(
                f"statistic {self.name!r}: {self.location} must be a subclass of grip2.statistics.Statistic."
            )
        return found


_HERE = "grip2.statistics"
_ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("grip2", f"{_HERE}.grip:GRIP2", "group regularization persistence over strength and geometry"),
        Entry("grip1", f"{_HERE}.grip:GRIP1", "ablation of grip2: strength moves, geometry fixed"),
        Entry("grip1a", f"{_HERE}.grip:GRIP1a", "ablation of grip2: geometry moves, strength fixed"),
        Entry("gr", f"{_HERE}.grip:GroupLasso", "group lasso network at one strength"),
        Entry("deeppink", f"{_HERE}.deeppink:DeepPINK", "network with a pairwise filter layer (Lu et al. 2018)"),
        Entry("mald", f"{_HERE}.mald:MALD", "mean absolute local derivative of a network"),
        Entry("shap", f"{_HERE}.deepshap:DeepSHAP", "mean absolute SHAP value of a network"),
        Entry("lapa", f"{_HERE}.lasso:LassoPath", "penalty at which a feature enters the lasso path"),
        Entry("lcd", f"{_HERE}.lasso:LassoCoefficient", "coefficient of the cross-validated lasso"),
        Entry("rf", f"{_HERE}.random_forest:RandomForest", "impurity decrease in a random forest"),
    )
}


def names() -> list[str]:
    """All registered names, in the order they were registered."""
    return list(_ENTRIES)


def entry(name: str) -> Entry:
    """The entry of a name, or of a "module:Class"; an unknown one raises ValueError and names its neighbours."""
    if name.count(":") == 1:
        return Entry(name, name, "")
    if name not in _ENTRIES:
        near = difflib.get_close_matches(name, _ENTRIES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise Grip2Error(f"statistic must be one of {', '.join(_ENTRIES)}, or 'module:Class', got {name!r}.{hint}")
    return _ENTRIES[name]


def create(name: str, **settings: Any) -> Statistic:
    """A statistic by name, with the defaults of its class unless ``settings`` say otherwise."""
    return entry(name).load()(**settings)


def create_paper(name: str, setting: str) -> Statistic:
    """A statistic as the paper ran it in one of its experiments: "synthetic", "semireal" or "hiv".

    Statistics that the paper does not tune to an experiment come with their defaults.
    """
    statistic = entry(name).load()
    paper = getattr(statistic, "paper", None)
    return statistic() if paper is None else paper(setting)


def register(name: str, location: str, summary: str = "") -> None:
    """Make a statistic known under a name; ``location`` is "module:Class"."""
    if name in _ENTRIES:
        raise Grip2Error(f"register: the name {name!r} is taken by {_ENTRIES[name].location}.")
    if location.count(":") != 1:
        raise Grip2Error(f"register: location must look like 'module:Class', got {location!r}.")
    _ENTRIES[name] = Entry(name, location, summary)
