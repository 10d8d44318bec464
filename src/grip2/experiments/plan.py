"""Plans: which data, which knockoffs, which methods, how many trials; a TOML file that people can read and write.

A list in a ``[[data]]`` block means one design for each of its values. ``[[method]]`` blocks run on every design, or on
those that ``only`` names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from grip2.errors import Grip2Error, did_you_mean
from grip2.experiments.sources import SOURCES
from grip2.responses import Response
from grip2.statistics.paper_settings import PAPER_SETTINGS

PRESETS = ("synthetic", "har", "hiv", "calibration")

# The name, beside those of registered samplers, for knockoffs from the known distribution of a source.
EXACT = "exact"
DEFAULT_FDR = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
# What methods start from: the paper's values for one of its experiments, or the defaults of their statistics.
DEFAULT_SETTING = "default"
SETTINGS = (*PAPER_SETTINGS, DEFAULT_SETTING)


class PlanError(Grip2Error):
    """A plan that cannot be run; the message names the file and the line."""

    @classmethod
    def at(cls, file: str, text: str, line: int | None, message: str) -> Self:
        """The error for a line (from 1) of a plan's text, which is shown."""
        sentence = message if message.endswith((".", "?")) else f"{message}."
        if line is None:
            return cls(f"{file}: {sentence}")
        return cls(f"{file}, line {line}: {sentence}\n    {text.splitlines()[line - 1].strip()}")


@dataclass(frozen=True)
class Design:
    """One data set with one kind of knockoffs."""

    source: str
    options: Mapping[str, Any]  # complete: defaults filled in
    knockoffs: str  # "exact", a registered name, or "module:Class"
    s: str
    trials: int
    center: bool = True  # fixed-X knockoffs only: the model has an intercept
    copies: int = 1  # knockoffs of every unit, drawn together
    # True: the units of the source are selected as wholes. False: columns are selected, and judged by their units.
    grouped: bool = False

    @property
    def response(self) -> type[Response]:
        """The kind of response that the data has."""
        return SOURCES[self.source].response(self.options)

    @property
    def sampler_settings(self) -> dict[str, Any]:
        """Settings for the sampler, as far as it has them."""
        return {"s": self.s, "center": self.center}

    @property
    def data_key(self) -> str:
        """Identifies the data alone: designs that differ only in their knockoffs share data, trial by trial."""
        return digest({"source": self.source, **SOURCES[self.source].keyed(self.options)})

    @property
    def key(self) -> str:
        """Identifies data and knockoffs; trials in a store are found by it, so it must not change."""
        # Settings that were added later enter only if they are not at their defaults.
        added = {"copies": self.copies} if self.copies != 1 else {}
        added |= {"grouped": True} if self.grouped else {}
        return digest({"data": self.data_key, "knockoffs": self.knockoffs, **self.sampler_settings, **added})

    @property
    def sizes(self) -> dict[str, Any]:
        """Rows and columns, as far as the plan gives them; knockoffs may have added rows."""
        return {name: self.options[name] for name in ("n", "p") if name in self.options}

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything in which designs can differ, in one flat dictionary."""
        return {
            "source": self.source,
            **self.options,
            "knockoffs": self.knockoffs,
            **self.sampler_settings,
            "copies": self.copies,
            "grouped": self.grouped,
        }


@dataclass(frozen=True)
class Method:
    """A statistic with settings, under a name of its own, perhaps as a seed ensemble of size ``ensemble``."""

    name: str
    statistic: str  # a registered name, or "module:Class"
    ensemble: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)  # names may be dotted: "network.steps"
    only: Mapping[str, Any] = field(default_factory=dict)  # design parameter -> value or list of values
    setting: str | None = None  # None: the plan's
    trials: int | None = None  # at most so many of a design's trials; None: all
    label: str = ""  # in figures and tables; empty: from the registry
    line: int | None = field(default=None, compare=False)  # of its settings in the plan's file, for error messages

    def applies_to(self, design: Design) -> bool:
        parameters = design.parameters
        return all(
            parameters.get(name) in (wanted if isinstance(wanted, list) else [wanted])
            for name, wanted in self.only.items()
        )


@dataclass(frozen=True)
class Cell:
    """One method on one design: the trials of a cell differ in their trial number only."""

    design: Design
    method: Method
    configuration: str  # hash of everything that decides the results of a trial

    @property
    def trials(self) -> int:
        return min(self.design.trials, self.method.trials or self.design.trials)


@dataclass(frozen=True)
class Plan:
    """What to compute: all methods on all designs they apply to.

    A method starts from its ``setting``, or the plan's; then the plan's ``settings`` and its own are changed
    (`grip2.experiments.methods.statistic_for`).
    """

    name: str
    designs: tuple[Design, ...]
    methods: tuple[Method, ...]
    setting: str = "default"
    seed: int = 0
    batch: int = 1  # trials that are computed together, by methods that can
    fdr: tuple[float, ...] = DEFAULT_FDR
    settings: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    text: str = ""
    file: str = "plan"

    def cells(self) -> Iterator[Cell]:
        """Every method on every design it applies to."""
        for design in self.designs:
            for method in self.methods:
                if method.applies_to(design):
                    yield Cell(design, method, self._configuration(design, method))

    def shared_settings(self, method: Method) -> Mapping[str, Any]:
        """The plan's settings that apply to a method: none if it starts from a ``setting`` of its own."""
        return {} if method.setting else self.settings

    def _configuration(self, design: Design, method: Method) -> str:
        return digest(
            {
                "seed": self.seed,
                "batch": self.batch,
                "design": design.key,
                "statistic": method.statistic,
                "setting": method.setting or self.setting,
                "settings": {**self.shared_settings(method), **method.settings},
            }
        )

    def restricted(self, *, trials: int | None = None, methods: list[str] | None = None) -> Plan:
        """The plan with another number of trials, or with some of its methods only."""
        plan = self
        if trials is not None:
            if trials < 1:
                raise Grip2Error(f"trials must be at least 1, got {trials}.")
            plan = replace(plan, designs=tuple(replace(design, trials=trials) for design in plan.designs))
        if methods is not None:
            known = list(dict.fromkeys(method.name for method in plan.methods))
            for name in methods:
                if name not in known:
                    raise Grip2Error(
                        f"methods: the plan {plan.name!r} has {', '.join(known)}; there is no {name!r}."
                        f"{did_you_mean(name, known)}"
                    )
            plan = replace(plan, methods=tuple(method for method in plan.methods if method.name in methods))
        return plan


def digest(content: Any) -> str:
    """A short hash of plain content: the same on every machine, whatever the order of keys."""
    text = json.dumps(content, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_plan(name_or_path: str | Path, *, quick: bool = False) -> Plan:
    """A preset by name, or a plan from a TOML file."""
    from grip2.experiments.plan_file import parse_plan

    name = str(name_or_path)
    if name in PRESETS:
        file = f"{name}-quick.toml" if quick else f"{name}.toml"
        return parse_plan((resources.files("grip2.experiments.presets") / file).read_text(encoding="utf-8"), file)
    if quick:
        raise Grip2Error(f"--quick is for {', '.join(PRESETS)}; in a plan of your own, write smaller numbers.")
    path = Path(name)
    if path.suffix != ".toml":
        raise Grip2Error(
            f"{name}: expected {', '.join(PRESETS)} or a plan file ending in .toml.{did_you_mean(name, PRESETS)}"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise PlanError(f"{path}: cannot be read ({why}).") from None
    return parse_plan(text, str(path))
