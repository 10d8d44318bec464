"""Reading a plan from TOML: every complaint names the file, the line, what was expected and what was found."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from grip2.datasets.families import FAMILIES
from grip2.experiments.plan import (
    DEFAULT_FDR,
    KNOCKOFFS,
    S_CHOICES,
    SETTINGS,
    SIMULATED,
    SOURCES,
    Design,
    Method,
    Plan,
    PlanError,
)
from grip2.experiments.toml_lines import Path, key_lines, line_of
from grip2.statistics.registry import STATISTICS

_TOP = ("name", "about", "setting", "seed", "trials", "batch", "fdr", "settings", "data", "method")
_METHOD = ("name", "statistic", "ensemble", "setting", "settings", "only", "trials")
_COMMON = ("source", "knockoffs", "s", "center", "trials")


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A checked plan from the text of a TOML file; raises PlanError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{file}: not a TOML file: {error}.") from None
    return _Reader(text, file).plan(document)


class _Reader:
    """Walks a parsed document and knows the line of everything in it."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = key_lines(text)

    def plan(self, document: Mapping[str, Any]) -> Plan:
        self.known(document, _TOP, ())
        name = self.text_value(document, "name", ())
        trials = self.whole(document, "trials", (), default=1, least=1)
        setting = self.choice(document, "setting", SETTINGS, (), default="default")
        blocks = self.blocks(document, "data")
        designs = [design for k, block in enumerate(blocks) for design in self.designs(block, k, trials)]
        self.distinct([design.key for design in designs], "data", "the same data and knockoffs twice")
        methods = [
            m for k, block in enumerate(self.blocks(document, "method")) for m in self.methods(block, k, designs)
        ]
        self.distinct([(m.name, m.ensemble) for m in methods], "method", "two methods of one name and ensemble size")
        return Plan(
            name=name,
            designs=tuple(designs),
            methods=tuple(methods),
            setting=setting,
            seed=self.whole(document, "seed", (), default=0, least=0),
            batch=self.whole(document, "batch", (), default=1, least=1),
            fdr=self.levels(document),
            settings=self.table(document, "settings", ()),
            about=self.text_value(document, "about", (), default=""),
            text=self.text,
        )

    def designs(self, block: Mapping[str, Any], k: int, trials: int) -> list[Design]:
        at: Path = ("data", k)
        source = self.choice(block, "source", tuple(SOURCES), at)
        defaults = SOURCES[source]
        self.known(block, (*_COMMON, *defaults), at)
        usual = {"har": "copula", "hiv": "fixed"}.get(source, "exact")
        axes: dict[str, list[Any]] = {}
        for name, default in {**defaults, "knockoffs": usual, "s": "equi", "center": True}.items():
            axes[name] = self.several(block, name, default, at)
        for name, choices in (("knockoffs", KNOCKOFFS), ("s", S_CHOICES)):
            for value in axes[name]:
                if value not in choices:
                    self.fail(f"{name} must be one of {', '.join(choices)}, got {value!r}", (*at, name))
        if "exact" in axes["knockoffs"] and source not in SIMULATED:
            known = " or ".join(map(repr, SIMULATED))
            self.fail(f"knockoffs = 'exact' needs a known distribution: source = {known}", (*at, "knockoffs"))
        for value in axes.get("family", []):
            if value not in FAMILIES:
                self.fail(f"family: {self.unknown(value, list(FAMILIES))}", (*at, "family"))
        own = self.whole(block, "trials", at, default=trials, least=1)
        found = []
        for values in itertools.product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            options = {name: chosen[name] for name in defaults}
            found.append(Design(source, options, chosen["knockoffs"], chosen["s"], own, chosen["center"]))
        return found

    def methods(self, block: Mapping[str, Any], k: int, designs: list[Design]) -> list[Method]:
        at: Path = ("method", k)
        self.known(block, _METHOD, at)
        name = self.text_value(block, "name", at)
        statistic = self.text_value(block, "statistic", at, default=name)
        if statistic not in STATISTICS.names() and statistic.count(":") != 1:
            key = "statistic" if "statistic" in block else "name"
            self.fail(f"{key}: " + self.unknown(statistic, STATISTICS.names()), (*at, key))
        only = self.table(block, "only", at)
        parameters = sorted({name for design in designs for name in design.parameters})
        for key in only:
            if key not in parameters:
                self.fail(f"only: {self.unknown(key, parameters)}", (*at, "only"))
        sizes = self.several(block, "ensemble", 1, at)
        for size in sizes:
            if size < 1:
                self.fail(f"ensemble must hold whole numbers of at least 1, got {size}", (*at, "ensemble"))
        settings = self.table(block, "settings", at)
        setting = self.choice(block, "setting", SETTINGS, at) if "setting" in block else None
        trials = self.whole(block, "trials", at, default=1, least=1) if "trials" in block else None
        found = [Method(name, statistic, size, settings, only, setting, trials) for size in sizes]
        if not any(found[0].applies_to(design) for design in designs):
            self.fail(f"only: no data block has {dict(only)}", (*at, "only"))
        return found

    def levels(self, document: Mapping[str, Any]) -> tuple[float, ...]:
        levels = document.get("fdr", list(DEFAULT_FDR))
        if not isinstance(levels, list) or not levels:
            self.fail(f"fdr must be a list such as [0.05, 0.1], got {levels!r}", ("fdr",))
        for level in levels:
            if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
                self.fail(f"fdr must hold numbers between 0 and 1, got {level!r}", ("fdr",))
        return tuple(sorted({float(level) for level in levels}))

    def blocks(self, document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
        blocks = document.get(name)
        if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
            self.fail(f"at least one [[{name}]] block is needed", (name,))
        return blocks

    def several(self, block: Mapping[str, Any], name: str, default: Any, at: Path) -> list[Any]:
        """The values of a key that may be a list, each of the kind of its default."""
        values = block.get(name, default)
        values = values if isinstance(values, list) else [values]
        if not values:
            self.fail(f"{name} must not be an empty list", (*at, name))
        kinds = (int, float) if isinstance(default, float) else (type(default),)
        for value in values:
            if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, kinds):
                wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(default)]
                self.fail(f"{name} must be {wanted}, or a list of them, got {value!r}", (*at, name))
        return [float(value) if isinstance(default, float) else value for value in values]

    def whole(self, block: Mapping[str, Any], name: str, at: Path, *, default: int, least: int) -> int:
        value = block.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(f"{name} must be a whole number of at least {least}, got {value!r}", (*at, name))
        return value

    def text_value(self, block: Mapping[str, Any], name: str, at: Path, *, default: str | None = None) -> str:
        value = block.get(name, default)
        if value is None:
            self.fail(f"{name} is missing", at)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{name} must be a text, got {value!r}", (*at, name))
        return value

    def choice(
        self, block: Mapping[str, Any], name: str, choices: tuple[str, ...], at: Path, *, default: str | None = None
    ) -> str:
        value = self.text_value(block, name, at, default=default)
        if value not in choices:
            self.fail(f"{name}: {self.unknown(value, choices)}", (*at, name))
        return value

    def table(self, block: Mapping[str, Any], name: str, at: Path) -> dict[str, Any]:
        value = block.get(name, {})
        if not isinstance(value, dict):
            self.fail(f"{name} must be a table such as {{ steps = 500 }}, got {value!r}", (*at, name))
        return value

    def known(self, block: Mapping[str, Any], names: Iterable[str], at: Path) -> None:
        for name in block:
            if name not in names:
                self.fail(f"unknown key: {self.unknown(name, names)}", (*at, name))

    def distinct(self, keys: list[Any], name: str, complaint: str) -> None:
        if len(set(keys)) < len(keys):
            self.fail(complaint, (name, 0))

    def unknown(self, value: str, choices: Iterable[str]) -> str:
        choices = list(choices)
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"expected one of {', '.join(choices)}, got {value!r}{hint}"

    def fail(self, message: str, path: Path) -> NoReturn:
        number = line_of(self.lines, path)
        if number is None:
            raise PlanError(f"{self.file}: {message}.")
        line = self.text.splitlines()[number - 1].rstrip()
        raise PlanError(f"{self.file}, line {number}: {message}.\n    {line.strip()}")
