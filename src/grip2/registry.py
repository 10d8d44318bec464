"""Registries of classes by name: statistics and knockoff samplers of this package and of others.

A `Registry` is a list of entries, each of which says where its class is defined. A class is imported when it is first asked for,
so that listing names is fast. Other packages add entries by entry points in their ``pyproject.toml``::

    [project.entry-points."grip2.statistics"]
    my-statistic = "my_package.module:MyStatistic"

    [project.entry-points."grip2.knockoffs"]
    my-sampler = "my_package.module:MyKnockoffs"
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grip2.errors import Grip2Error
from grip2.spelling import nearest_name


@dataclass(frozen=True)
class Entry:
    """Where a class is defined, and how it is described to people."""

    name: str  # on the command line and in plans
    location: str  # "module:Class"
    summary: str = ""  # one line, for help texts
    label: str = ""  # in figures and tables; empty: the name

    @property
    def title(self) -> str:
        return self.label or self.name


class Registry:
    """Entries of one kind, ``what``, whose classes derive from ``base`` ("module:Class").

    ``group`` names the entry points by which other packages add theirs.
    """

    def __init__(self, what: str, *, base: str, group: str, entries: Sequence[Entry]) -> None:
        self.what = what
        self.base = base
        self.group = group
        self._own = {entry.name: entry for entry in entries}

    def own_entries(self) -> list[Entry]:
        """Entries that come with this package."""
        return list(self._own.values())

    def own_modules(self) -> dict[str, str]:
        """The module of each class that comes with this package, by the name of the class."""
        return {name: module for module, _, name in (entry.location.partition(":") for entry in self.own_entries())}

    def entries(self) -> dict[str, Entry]:
        """All entries by name: those of this package in their order, then those of others, which cannot replace them."""
        from importlib.metadata import entry_points  # takes longer to import than all of this module

        found = dict(self._own)
        for point in sorted(entry_points(group=self.group)):
            origin = f"from the package {point.dist.name}" if point.dist is not None else ""
            found.setdefault(point.name, Entry(point.name, point.value, origin))
        return found

    def names(self) -> list[str]:
        return list(self.entries())

    def entry(self, name: str) -> Entry:
        """The entry of a name or of a "module:Class"; an unknown name raises and suggests a similar one."""
        if name in self._own:
            return self._own[name]
        if name.count(":") == 1:
            return Entry(name, name)
        entries = self.entries()
        if name not in entries:
            called = {label: entry.name for entry in entries.values() for label in (entry.title, entry.name)}
            near = nearest_name(name, called)
            hint = "" if near is None else f" Did you mean {called[near]!r}?"
            raise Grip2Error(f"{self.what} must be one of {', '.join(entries)}, or 'module:Class', got {name!r}.{hint}")
        return entries[name]

    def load(self, name: str) -> type[Any]:
        """The class of a name."""
        entry = self.entry(name)
        module, _, class_name = entry.location.partition(":")
        try:
            found = getattr(importlib.import_module(module), class_name)
        except (ImportError, AttributeError) as error:
            raise Grip2Error(f"{self.what} {name!r}: {entry.location} cannot be imported ({error}).") from error
        base_module, _, base_name = self.base.partition(":")
        base = getattr(importlib.import_module(base_module), base_name)
        if not (isinstance(found, type) and issubclass(found, base)):
            raise Grip2Error(f"{self.what} {name!r}: {entry.location} must be a subclass of {base_module}.{base_name}.")
        return found

    def create(self, name: str, **settings: Any) -> Any:
        """An instance of a name, with the defaults of its class unless ``settings`` say otherwise."""
        return self._made(name, lambda found: found(**settings))

    def create_paper(self, name: str, setting: str) -> Any:
        """An instance of a name with the paper's settings for one of its experiments."""
        return self._made(name, lambda found: found.paper(setting))

    def _made(self, name: str, make: Callable[[type[Any]], Any]) -> Any:
        found = self.load(name)
        try:
            return make(found)
        except TypeError as error:  # an abstract class, or one that needs or does not know a parameter
            raise Grip2Error(f"{self.what} {name!r}: {found.__name__} cannot be created ({error}).") from error

    def register(self, name: str, location: str, summary: str = "") -> None:
        """Make a class known under a name in this process; ``location`` is "module:Class"."""
        if name in self.entries():
            raise Grip2Error(f"register: the name {name!r} is taken by {self.entries()[name].location}.")
        if location.count(":") != 1:
            raise Grip2Error(f"register: location must look like 'module:Class', got {location!r}.")
        self._own[name] = Entry(name, location, summary)


def lazy_exports(
    package: str, modules: Mapping[str, str], *, renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that imports each public name when it is first used.

    ``modules`` says in which module each name is defined, ``renamed`` the new name of each old one.
    """

    def get_attribute(name: str) -> Any:
        if renamed is not None and name in renamed:  # an ImportError keeps its text in "from package import name"
            raise ImportError(f"{package}.{name} is now called {renamed[name]}: from {package} import {renamed[name]}")
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    def directory() -> list[str]:
        return sorted(modules)

    return get_attribute, directory
