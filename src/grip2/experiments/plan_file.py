"""Reads a plan from TOML: every error names the file, the line, what was expected and what was found."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from grip2.copies import COPIES_LIMIT
from grip2.errors import Grip2Error, did_you_mean
from grip2.experiments.method_looks import SIZE_IN_NAME, MethodLooks
from grip2.experiments.plan import DEFAULT_FDR, DEFAULT_SETTING, EXACT, SETTINGS, Design, Method, Plan, PlanError
from grip2.experiments.source import Option, Source
from grip2.experiments.sources import SOURCES
from grip2.experiments.toml_lines import Path, key_lines, line_of
from grip2.knockoffs.registry import SAMPLERS
from grip2.knockoffs.s_matrix import SOLVERS
from grip2.registry import Registry
from grip2.statistics.registry import STATISTICS

# A plan's name is the name of a folder too.
_FILE_NAME = re.compile(r"\w[\w .-]*")
_TOP = ("name", "about", "setting", "seed", "trials", "batch", "fdr", "settings", "data", "method")
_METHOD = ("name", "label", "statistic", "ensemble", "setting", "settings", "only", "trials")
# More cannot be computed, and would fill the memory before the first trial.
MOST_DESIGNS = 100_000
MOST_TRIALS = 10_000_000
# Keys that every [[data]] block may have, beside the options of its source.
_COMMON = ("source", "knockoffs", "s", "center", "copies", "grouped", "trials")


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A checked plan from the text of a TOML file; raises PlanError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{file}: not a TOML file: {error}.") from None
    return _Reader(text, file).plan(document)


class _Reader:
    """Checks a parsed document, and knows the line of everything in it."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = key_lines(text)

    def plan(self, document: Mapping[str, Any]) -> Plan:
        self.known(document, _TOP, ())
        name = self.plain_text(document, "name", ())
        if not _FILE_NAME.fullmatch(name):
            self.fail(
                "name is also the name of a folder, so it must hold letters, digits, spaces, '-', '_' and '.' only, and begin "
                f"with a letter or digit, got {name!r}",
                ("name",),
            )
        trials = self.whole(document, "trials", (), default=1, least=1, most=MOST_TRIALS)
        setting = self.choice(document, "setting", SETTINGS, (), default=DEFAULT_SETTING)
        blocks = self.blocks(document, "data")
        designs = [design for k, block in enumerate(blocks) for design in self.designs(block, k, trials)]
        self.distinct([design.key for design in designs], "data", "the same data and knockoffs twice")
        methods = [
            m for k, block in enumerate(self.blocks(document, "method")) for m in self.methods(block, k, designs)
        ]
        self.distinct([(m.name, m.ensemble) for m in methods], "method", "two methods of one name and ensemble size")
        self.check_labels(methods)
        return Plan(
            name=name,
            designs=tuple(designs),
            methods=tuple(methods),
            setting=setting,
            seed=self.whole(document, "seed", (), default=0, least=0),
            batch=self.whole(document, "batch", (), default=1, least=1),
            fdr=self.levels(document),
            settings=self.settings(document, ()),
            about=self.text_value(document, "about", (), default=""),
            text=self.text,
            file=self.file,
        )

    def designs(self, block: Mapping[str, Any], k: int, trials: int) -> list[Design]:
        at: Path = ("data", k)
        source = SOURCES[self.choice(block, "source", SOURCES, at)]
        self.known(block, (*_COMMON, *source.options), at)
        of_sampler = {
            "knockoffs": Option(source.default_knockoffs),
            "s": Option("equi", choices=tuple(SOLVERS)),
            "center": Option(True),
            "copies": Option(1, least=1, most=COPIES_LIMIT),
            "grouped": Option(False),
        }
        axes = {
            name: self.several(block, name, option, at) for name, option in {**source.options, **of_sampler}.items()
        }
        self.check_samplers(block, source, axes["knockoffs"], at)
        self.check_units(source, axes, at)
        own = self.whole(block, "trials", at, default=trials, least=1, most=MOST_TRIALS)
        count = math.prod(len(values) for values in axes.values())
        if count > MOST_DESIGNS:
            self.fail(f"the lists of this block have {count} combinations, more than {MOST_DESIGNS}", at)
        found = []
        for values in itertools.product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            options = {name: chosen[name] for name in source.options}
            try:
                source.check(options)
            except Grip2Error as error:
                self.fail(str(error), (*at, _first_named(str(error), block)))
            of_design = {name: chosen[name] for name in ("knockoffs", "s", "center", "copies", "grouped")}
            found.append(Design(source.name, options, trials=own, **of_design))
        return found

    def check_samplers(self, block: Mapping[str, Any], source: Source, names: list[str], at: Path) -> None:
        """Samplers must exist, and ``s`` be given only if one of them has it. ``center`` is ignored by all but one."""
        has_s = EXACT in names
        for name in names:
            if name == EXACT and not source.known_distribution:
                with_known = " or ".join(repr(other.name) for other in SOURCES.values() if other.known_distribution)
                self.fail(f"knockoffs = 'exact' needs a known distribution: source = {with_known}", (*at, "knockoffs"))
            if name != EXACT:
                self.registered(SAMPLERS, name, (*at, "knockoffs"), beside=(EXACT,))
                has_s |= "s" in self.loaded(SAMPLERS, name, (*at, "knockoffs"))().get_params(deep=False)
        if "s" in block and not has_s:
            self.fail(f"s: {' and '.join(names)} knockoffs have no such setting", (*at, "s"))

    def check_units(self, source: Source, axes: Mapping[str, list[Any]], at: Path) -> None:
        """Every sampler must be able to draw the copies; only sources with units of several columns can be grouped."""
        for name in axes["knockoffs"]:
            if name != EXACT and max(axes["copies"]) > 1 and not SAMPLERS.load(name).draws_copies:
                self.fail(f"copies: {name} knockoffs exist in one copy only", (*at, "copies"))
        if True in axes["grouped"] and not source.has_groups:
            with_groups = " or ".join(repr(other.name) for other in SOURCES.values() if other.has_groups)
            self.fail(f"grouped = true needs units of several columns: source = {with_groups}", (*at, "grouped"))

    def methods(self, block: Mapping[str, Any], k: int, designs: list[Design]) -> list[Method]:
        at: Path = ("method", k)
        self.known(block, _METHOD, at)
        name = self.plain_text(block, "name", at)
        statistic = self.text_value(block, "statistic", at, default=name)
        self.registered(STATISTICS, statistic, (*at, "statistic" if "statistic" in block else "name"))
        only = self.table(block, "only", at)
        parameters = sorted({name for design in designs for name in design.parameters})
        for key in only:
            if key not in parameters:
                self.fail(f"only: {self.unknown(key, parameters)}", (*at, "only"))
        sizes = self.several(block, "ensemble", Option(1, least=1), at)
        shared = Method(
            name,
            statistic,
            settings=self.settings(block, at),
            only=only,
            setting=self.choice(block, "setting", SETTINGS, at) if "setting" in block else None,
            trials=self.whole(block, "trials", at, default=1, least=1, most=MOST_TRIALS) if "trials" in block else None,
            label=self.plain_text(block, "label", at, default=""),
            line=line_of(self.lines, (*at, "settings")),
        )
        if not any(shared.applies_to(design) for design in designs):
            self.fail(f"only: no data block has {dict(only)}", (*at, "only"))
        return [replace(shared, ensemble=size) for size in sizes]

    def check_labels(self, methods: list[Method]) -> None:
        """Refuse two methods that a page would list under one name."""
        looks, seen = MethodLooks(methods), dict[str, str]()
        for method in methods:
            complaint = ""
            if SIZE_IN_NAME in method.name or SIZE_IN_NAME in method.label:
                complaint = f"a method's name must not hold {SIZE_IN_NAME!r}, which tells the size of an ensemble"
            elif seen.setdefault(label := looks.label(method.name), method.name) != method.name:
                complaint = f"{seen[label]!r} and {method.name!r} are both shown as {label!r}; give one another label"
            if complaint:
                raise PlanError.at(self.file, self.text, method.line, complaint)

    def settings(self, block: Mapping[str, Any], at: Path) -> dict[str, Any]:
        """Settings of a statistic by dotted names: { network = { steps = 500 } } is network.steps."""
        return dict(_dotted(self.table(block, "settings", at)))

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

    def several(self, block: Mapping[str, Any], name: str, option: Option, at: Path) -> list[Any]:
        """The values of a key that may be a list."""
        default = option.default
        values = block.get(name, default)
        values = values if isinstance(values, list) else [values]
        if not values:
            self.fail(f"{name} must not be an empty list", (*at, name))
        kinds = (int, float) if isinstance(default, float) else (type(default),)
        for value in values:
            if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, kinds):
                wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(default)]
                self.fail(f"{name} must be {wanted}, or a list of them, got {value!r}", (*at, name))
            if not option.holds(value):
                self.fail(f"{name} must be {option.limits() or 'finite'}, got {value!r}", (*at, name))
            if option.choices and value not in option.choices:
                self.fail(f"{name}: {self.unknown(value, option.choices)}", (*at, name))
        return [float(value) if isinstance(default, float) else value for value in values]

    def whole(
        self, block: Mapping[str, Any], name: str, at: Path, *, default: int, least: int, most: int | None = None
    ) -> int:
        value = block.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(f"{name} must be a whole number of at least {least}, got {value!r}", (*at, name))
        if most is not None and value > most:
            self.fail(f"{name} must be at most {most}, got {value}", (*at, name))
        return value

    def text_value(self, block: Mapping[str, Any], name: str, at: Path, *, default: str | None = None) -> str:
        value = block.get(name, default)
        if value is None:
            self.fail(f"{name} is missing", at)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{name} must be a text, got {value!r}", (*at, name))
        return value

    def plain_text(self, block: Mapping[str, Any], name: str, at: Path, *, default: str | None = None) -> str:
        """A text of one line, which pages and terminals can show."""
        value = self.text_value(block, name, at, default=default)
        if not value.isprintable() or value != value.strip():
            self.fail(f"{name} must be one line of plain text without spaces around it, got {value!r}", (*at, name))
        return value

    def choice(
        self, block: Mapping[str, Any], name: str, choices: Iterable[str], at: Path, *, default: str | None = None
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

    def registered(self, registry: Registry, name: str, path: Path, beside: tuple[str, ...] = ()) -> None:
        """Refuse a text that is neither a registered name nor "module:Class"."""
        names = [*beside, *registry.names()]
        if name not in names and name.count(":") != 1:
            self.fail(f"{path[-1]}: {self.unknown(name, names)}", path)

    def loaded(self, registry: Registry, name: str, path: Path) -> type[Any]:
        try:
            return registry.load(name)
        except Grip2Error as error:
            self.fail(str(error), path)

    def unknown(self, value: Any, choices: Iterable[Any]) -> str:
        texts = [str(choice) for choice in choices]
        return f"expected one of {', '.join(texts)}, got {value!r}.{did_you_mean(str(value), texts)}"

    def fail(self, message: str, path: Path) -> NoReturn:
        raise PlanError.at(self.file, self.text, line_of(self.lines, path), message)


def _first_named(message: str, names: Iterable[str]) -> str:
    """The key that an error message names first; empty if it names none."""
    found = {name: match.start() for name in names if (match := re.search(rf"\b{re.escape(name)}\b", message))}
    return min(found, key=lambda name: found[name], default="")


def _dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
