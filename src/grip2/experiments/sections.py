"""Sections of a report: their record, and those that several sources of data share (seed ensembles, tables of numbers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from grip2.experiments.figures import measures_figure
from grip2.experiments.method_looks import MethodLooks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STABILITY_NOTE = "Two empty selections agree completely: a method that selects nothing has stability 1."


@dataclass(frozen=True)
class Section:
    """One figure or table with a name for its files, a title and a caption."""

    name: str
    title: str
    caption: str
    figure: Figure | None = None
    table: pd.DataFrame | None = None  # texts, ready to print


def ensemble_sections(
    table: pd.DataFrame, looks: MethodLooks, level: float, where: str, *, suffix: str = ""
) -> list[Section]:
    """Power and stability against ensemble size, for methods that were run with several sizes; none if there are none."""
    at_level = table[table["target_fdr"] == level]
    sizes = at_level.groupby("method")["ensemble"].transform("nunique")
    several = at_level[sizes > 1]
    if several.empty:
        return []
    return [
        Section(
            f"ensembles{suffix}",
            f"Seed ensembles of K members, {where}, q = {level:g}",
            f"Equal budget: the steps of a single run are split over the members. {STABILITY_NOTE}",
            measures_figure(several, looks, "ensemble", ("power", "stability"), x_label="ensemble size K"),
        )
    ]


def numbers_section(table: pd.DataFrame, looks: MethodLooks, level: float, name: str, where: str) -> Section:
    """All measures of every method at one target level."""
    rows = table[table["target_fdr"] == level]
    printed = pd.DataFrame(
        {
            "Method": [looks.label(method) for method in rows["method"]],
            "K": rows["ensemble"].to_numpy(),
            "Trials": rows["trials"].to_numpy(),
            "Power (SE)": with_errors(rows, "power"),
            "Realised FDR (SE)": with_errors(rows, "fdr"),
            "Stability": numbers(rows["stability"]),
            "Selected": [f"{value:.1f}" for value in rows["selected"]],
            "Seconds": [f"{value:.1f}" for value in rows["seconds"]],
        }
    )
    caption = (
        "Means over trials. Where methods share one trained network, its seconds count for the method that ran first."
    )
    return Section(name, f"Numbers, {where}, q = {level:g}", caption, table=printed)


def with_errors(rows: pd.DataFrame, name: str) -> list[str]:
    """A measure with its standard error in brackets."""
    return [
        number(value) + (f" ({error:.3f})" if pd.notna(error) else "")
        for value, error in zip(rows[name], rows[f"{name}_se"], strict=True)
    ]


def numbers(values: Sequence[float]) -> list[str]:
    return [number(value) for value in values]


def number(value: float) -> str:
    return f"{value:.3f}" if pd.notna(value) else "-"


def nearest_level(table: pd.DataFrame, level: float) -> float:
    """The target level of the plan that is closest to a wanted one."""
    levels = table["target_fdr"].unique()
    return float(min(levels, key=lambda found: abs(found - level)))
