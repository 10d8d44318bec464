"""Figures of an experiment: measures against target FDR, correlation, rows or ensemble size, or beside published numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from grip2.experiments.method_looks import MethodLooks
from grip2.figure_style import BLACK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AXIS_LABELS = {"power": "power", "fdr": "realised FDR", "stability": "stability (mean Jaccard index)"}


def measures_figure(
    table: pd.DataFrame, looks: MethodLooks, x: str, measures: Sequence[str], *, x_label: str
) -> Figure:
    """One panel for each measure, one line for each method, bars of one standard error.

    The dashed line in a panel of realised FDR is the target itself, which must not be exceeded.
    """
    with new_figure(3.6 * len(measures) + 1.6, 3.4, grid=True) as figure:
        panels = figure.subplots(1, len(measures), squeeze=False)[0]
        for axes, measure in zip(panels, measures, strict=True):
            _lines(axes, table, looks, x, measure)
            if measure == "fdr":
                _target_line(axes, table, x)
            _limits([axes], table, measure)
            axes.set_xlabel(x_label)
            axes.set_ylabel(_AXIS_LABELS[measure])
        _legend(figure, panels)
    return figure


def fdr_figure(table: pd.DataFrame, looks: MethodLooks, column: str, values: Sequence[Any]) -> Figure:
    """Realised against target FDR, one panel for each value of a column (appendix A.1)."""
    with new_figure(3.2 * len(values) + 1.6, 3.3, grid=True) as figure:
        panels = figure.subplots(1, len(values), squeeze=False, sharey=True)[0]
        for axes, value in zip(panels, values, strict=True):
            part = table[table[column] == value]
            _lines(axes, part, looks, "target_fdr", "fdr")
            _target_line(axes, part, "target_fdr")
            axes.set_title(
                f"{column} = {value:g}" if isinstance(value, int | float) else f"{column} = {value}", fontsize=9
            )
            axes.set_xlabel("target FDR q")
        _limits(panels, table[table[column].isin(list(values))], "fdr")
        panels[0].set_ylabel("realised FDR")
        _legend(figure, panels)
    return figure


def power_by_rows_figure(table: pd.DataFrame, looks: MethodLooks, column: str) -> Figure:
    """Mean power against the number of rows, one panel for each value of a column."""
    values = list(dict.fromkeys(table[column]))
    columns = min(3, len(values))
    lines = -(-len(values) // columns)
    with new_figure(2.9 * columns + 1.6, 2.6 * lines + 0.4, grid=True) as figure:
        panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, value in zip(panels.flat, values, strict=False):
            mean = table[table[column] == value].groupby(["method", "n"], sort=False)["power"].mean().reset_index()
            _lines(axes, mean.assign(power_se=0.0, size=np.log10(mean["n"])), looks, "size", "power")
            sizes = sorted(mean["n"].unique())
            axes.set_xticks(np.log10(sizes), [f"{size:,.0f}" for size in sizes])
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(plain_label(str(value)), fontsize=9)
        for axes in panels.flat[len(values) :]:
            axes.set_visible(False)
        for axes in panels[-1]:
            axes.set_xlabel("rows n")
        for axes in panels[:, 0]:
            axes.set_ylabel("power")
        _legend(figure, panels.flat)
    return figure


def beside_published_figure(ours: pd.DataFrame, published: pd.DataFrame, looks: MethodLooks, target: float) -> Figure:
    """Our measures (filled) and published ones (open), one line for each method; dashed: the target FDR."""
    methods = list(dict.fromkeys(ours["method"]))[::-1]
    with new_figure(9.0, 0.32 * len(methods) + 1.3, grid=True) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, measure in zip(panels, ("power", "fdr", "stability"), strict=True):
            for place, method in enumerate(methods):
                look = looks[method]
                for table, fill, shift in ((ours, look.colour, 0.12), (published, "white", -0.12)):
                    row = table[table["method"] == method]
                    if len(row):
                        axes.errorbar(
                            row[measure].iloc[0],
                            place + shift,
                            xerr=_bar(row, measure),
                            fmt=look.marker,
                            color=look.colour,
                            markerfacecolor=fill,
                            markersize=5.5,
                            linewidth=1,
                        )
            axes.set_xlabel(_AXIS_LABELS[measure])
            right = max(axes.get_xlim()[1], 1.0 if measure == "stability" else 0.06)
            axes.set_xlim(-0.03 * right, 1.03 * right)
            axes.set_ylim(-0.6, len(methods) - 0.4)
        panels[1].axvline(target, color=BLACK, linewidth=0.8, linestyle="--")
        panels[0].set_yticks(range(len(methods)), [plain_label(looks.label(method)) for method in methods])
    return figure


def plain_label(text: str) -> str:
    """A text that matplotlib draws as it is: dollars start no formula, and a leading underscore does not hide it."""
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _lines(axes: Any, table: pd.DataFrame, looks: MethodLooks, x: str, measure: str) -> None:
    methods = list(dict.fromkeys(table["method"]))
    places = np.unique(table[x].to_numpy(float))
    span = float(np.ptp(places))
    for number, method in enumerate(methods):
        part = table[table["method"] == method].sort_values(x)
        look = looks[method]
        errors = part[f"{measure}_se"].to_numpy() if f"{measure}_se" in part else None
        # Methods are drawn a little apart, so that their bars can be distinguished.
        shift = (number - (len(methods) - 1) / 2) * 0.008 * span
        axes.errorbar(
            part[x].to_numpy(float) + shift,
            part[measure].to_numpy(float),
            yerr=errors,
            label=plain_label(looks.label(method)),
            color=look.colour,
            marker=look.marker,
            linestyle=look.dash,
            markersize=4.5,
            linewidth=look.width,
            elinewidth=0.7,
            capsize=1.5,
            zorder=2 + look.width,
        )
    if len(places) <= 8:
        axes.set_xticks(places, [f"{place:g}" for place in places])


def _limits(panels: Sequence[Any], table: pd.DataFrame, measure: str) -> None:
    """From a little below zero to a little above the highest bar; stability always up to one."""
    errors = table[f"{measure}_se"].fillna(0.0) if f"{measure}_se" in table else 0.0
    heights = (table[measure] + errors).fillna(0.0)  # stability of a single trial is not a number
    top = max(float(heights.max()), 1.0 if measure == "stability" else 0.1)
    if measure == "fdr":
        top = max(top, float(table["target_fdr"].max()))
    for axes in panels:
        axes.set_ylim(-0.03 * top, 1.05 * top)


def _target_line(axes: Any, table: pd.DataFrame, x: str) -> None:
    places = table[x].to_numpy(float)
    ends = [places.min(), places.max()]
    axes.plot(ends, ends, color=BLACK, linewidth=0.9, linestyle="--", zorder=2)


def _legend(figure: Figure, panels: Iterable[Any]) -> None:
    """One legend of all methods that any panel shows."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False, fontsize=8.5)


def _bar(row: pd.DataFrame, measure: str) -> float | None:
    value = row[f"{measure}_se"].iloc[0] if f"{measure}_se" in row else float("nan")
    return float(value) if np.isfinite(value) else None
