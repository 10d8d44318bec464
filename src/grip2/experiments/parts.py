"""Decides which designs share the sections of a report: those that differ only in the axes of their source.

Tables of a report name the parameters that vary in the plan. For sections they are completed by those that do not vary, so that
headings can name the values that were run. Designs that differ in anything else have sections of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from grip2.experiments.plan import EXACT, Design, Plan
from grip2.experiments.source import NO_S
from grip2.experiments.summary import varying
from grip2.knockoffs.registry import SAMPLERS


@dataclass(frozen=True)
class Part:
    """The rows of the designs that share sections."""

    table: pd.DataFrame
    trials: pd.DataFrame
    label: str = ""  # how they differ from other parts: "snr = 0.5, copies = 5"; empty if there is one part only
    suffix: str = ""  # ending of the names of their files


def parts_of(plan: Plan, table: pd.DataFrame, trials: pd.DataFrame, axes: Sequence[str]) -> Iterator[Part]:
    """The parts of a report, in the plan's order; ``axes`` are the parameters that one part may vary in."""
    table, trials = completed(plan, table), completed(plan, trials)
    apart = [name for name in varying(plan) if name not in axes]
    if not apart:
        yield Part(table, trials)
        return
    values = list(dict.fromkeys(tuple(row) for row in table[apart].itertuples(index=False)))
    for number, chosen in enumerate(values, start=1):
        label = ", ".join(f"{name} = {shown(value)}" for name, value in zip(apart, chosen, strict=True))
        suffix = re.sub(r"[^\w.]+", "-", label).strip("-")
        yield Part(_where(table, apart, chosen), _where(trials, apart, chosen), label, f"-{number}-{suffix}")


def completed(plan: Plan, table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for every parameter of the plan's designs, also for those that do not vary."""
    fixed = {name: value for name, value in plan.designs[0].parameters.items() if name not in table}
    table = table.assign(**fixed)
    without_s = [name for name in table["knockoffs"].unique() if not _has(name, "s")]
    return table.assign(s=table["s"].where(~table["knockoffs"].isin(without_s), NO_S))


def fixed_parameters(plan: Plan) -> str:
    """The parameters that are the same in all designs, in words: "n = 2000, rho = 0"."""
    design, free = plan.designs[0], set(varying(plan))
    fixed = {name: value for name, value in design.parameters.items() if name not in free and _matters(design, name)}
    return ", ".join(f"{name} = {shown(value)}" for name, value in fixed.items())


def kind_of_knockoffs(design: Design) -> str:
    """The knockoffs of a design in words: "copula (mvr)"."""
    return f"{design.knockoffs} ({design.s})" if _has(design.knockoffs, "s") else design.knockoffs


def shown(value: Any) -> str:
    """A parameter as a person writes it in a plan."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _matters(design: Design, name: str) -> bool:
    return name not in design.sampler_settings or _has(design.knockoffs, name)


def _has(knockoffs: str, setting: str) -> bool:
    """Does the sampler of this name have the setting?"""
    if knockoffs == EXACT:
        return setting == "s"
    return setting in SAMPLERS.create(knockoffs).get_params(deep=False)


def _where(table: pd.DataFrame, names: Sequence[str], values: Sequence[Any]) -> pd.DataFrame:
    for name, value in zip(names, values, strict=True):
        table = table[table[name] == value]
    return table
