"""Figures of an experiment: measures against target FDR, correlation or ensemble size, and our numbers beside the paper's.

Methods differ by colour (Okabe and Ito's palette, which colour-blind readers can tell apart), marker and dash.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: smaller, searchable, and drawn in the page's font
    "svg.hashsalt": "grip2",  # the same figure gives the same bytes
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
}

# name: (label, colour, marker, line)
_LOOK: dict[str, tuple[str, str, str, Any]] = {
    "grip2": ("GRIP2", "#D55E00", "o", "-"),
    "grip2-auto": ("GRIP2 (auto)", "#882255", "*", "-"),
    "grip2-network": ("GRIP2, network alone", "#D55E00", "d", (0, (1, 1.2))),
    "grip2-paper": ("GRIP2, paper's settings", "#D55E00", "D", (0, (4, 1.5))),
    "grip2-low": ("GRIP2, low lambda", "#D55E00", "D", (0, (4, 1.5))),
    "grip1": ("GRIP1", "#E69F00", "s", "-"),
    "grip1a": ("GRIP1a", "#E69F00", "^", (0, (4, 1.5))),
    "gr": ("GR", "#9A9A9A", "v", "-"),
    "lapa": ("LAPA", "#0072B2", "s", "-"),
    "lcd": ("LCD", "#56B4E9", "P", (0, (4, 1.5))),
    "mald": ("MALD", "#009E73", "^", "-"),
    "shap": ("SHAP", "#CC79A7", "v", "-"),
    "posterior": ("Additive model", "#882255", "p", (0, (4, 1.5))),
    "rf": ("Random forest", "#0072B2", "h", (0, (4, 1.5))),
    "nothing": ("nothing", "#9A9A9A", "x", (0, (1, 1.2))),
    "deeppink": ("DeepPINK", "#000000", "X", (0, (1, 1.2))),
}
_SPARE = (("#0072B2", "*"), ("#009E73", "h"), ("#CC79A7", "d"), ("#000000", "<"), ("#E69F00", ">"))
_NAMES = {"power": "power", "fdr": "realised FDR", "stability": "stability (mean Jaccard index)"}


def look(method: str, number: int = 0) -> tuple[str, str, str, Any]:
    """Label, colour, marker and line of a method."""
    if method in _LOOK:
        return _LOOK[method]
    colour, marker = _SPARE[number % len(_SPARE)]
    return method, colour, marker, (0, (6, 2))


def label(method: str) -> str:
    return look(method)[0]


def measures_figure(
    table: pd.DataFrame, x: str, measures: Sequence[str], *, x_label: str, target: float | None = None
) -> Figure:
    """One panel for each measure, one line for each method, bars of one standard error.

    The dashed line in a panel of realised FDR is what must not be exceeded: the target itself.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(3.6 * len(measures) + 1.6, 3.4), layout="constrained")
        panels = figure.subplots(1, len(measures), squeeze=False)[0]
        for axes, measure in zip(panels, measures, strict=True):
            _lines(axes, table, x, measure)
            if measure == "fdr":
                _target_line(axes, table, x, target)
            _limits([axes], table, measure)
            axes.set_xlabel(x_label)
            axes.set_ylabel(_NAMES[measure])
        _legend(figure, panels)
    return figure


def fdr_figure(table: pd.DataFrame, column: str, values: Sequence[Any]) -> Figure:
    """Realised against target FDR, one panel for each value of a column (appendix A.1)."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(3.2 * len(values) + 1.6, 3.3), layout="constrained")
        panels = figure.subplots(1, len(values), squeeze=False, sharey=True)[0]
        for axes, value in zip(panels, values, strict=True):
            part = table[table[column] == value]
            _lines(axes, part, "target_fdr", "fdr")
            _target_line(axes, part, "target_fdr", None)
            axes.set_title(
                f"{column} = {value:g}" if isinstance(value, int | float) else f"{column} = {value}", fontsize=9
            )
            axes.set_xlabel("target FDR q")
        _limits(panels, table[table[column].isin(list(values))], "fdr")
        panels[0].set_ylabel("realised FDR")
        _legend(figure, panels)
    return figure


def families_figure(table: pd.DataFrame) -> Figure:
    """Power against the number of rows, one panel for each family of signals.

    Means over cells: of noise levels that every number of rows has, and of methods that were run in all of them.
    """
    if "snr" in table:
        everywhere = table.groupby("snr")["n"].nunique() == table["n"].nunique()
        table = table[table["snr"].isin(everywhere.index[everywhere])]
    cells = table.groupby("method")["power"].transform("size")
    table = table[cells == cells.max()]
    families = list(dict.fromkeys(table["family"]))
    columns = min(3, len(families))
    lines = -(-len(families) // columns)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(2.9 * columns + 1.6, 2.6 * lines + 0.4), layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, family in zip(panels.flat, families, strict=False):
            mean = table[table["family"] == family].groupby(["method", "n"], sort=False)["power"].mean().reset_index()
            _lines(axes, mean.assign(power_se=0.0, size=np.log10(mean["n"])), "size", "power")
            sizes = sorted(mean["n"].unique())
            axes.set_xticks(np.log10(sizes), [f"{size:,.0f}" for size in sizes])
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(str(family), fontsize=9)
        for axes in panels.flat[len(families) :]:
            axes.set_visible(False)
        for axes in panels[-1]:
            axes.set_xlabel("rows n")
        for axes in panels[:, 0]:
            axes.set_ylabel("power")
        _legend(figure, panels.flat)
    return figure


def beside_paper_figure(ours: pd.DataFrame, paper: pd.DataFrame) -> Figure:
    """Our measures (filled) and the paper's (open), one line for each method."""
    methods = list(dict.fromkeys(ours["method"]))[::-1]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(9.0, 0.32 * len(methods) + 1.3), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        for axes, measure in zip(panels, ("power", "fdr", "stability"), strict=True):
            for place, method in enumerate(methods):
                _, colour, marker, _ = look(method)
                for table, fill, shift in ((ours, colour, 0.12), (paper, "white", -0.12)):
                    row = table[table["method"] == method]
                    if len(row):
                        axes.errorbar(
                            row[measure].iloc[0],
                            place + shift,
                            xerr=_bar(row, measure),
                            fmt=marker,
                            color=colour,
                            markerfacecolor=fill,
                            markersize=5.5,
                            linewidth=1,
                        )
            axes.set_xlabel(_NAMES[measure])
            right = max(axes.get_xlim()[1], 1.0 if measure == "stability" else 0.06)
            axes.set_xlim(-0.03 * right, 1.03 * right)
            axes.set_ylim(-0.6, len(methods) - 0.4)
        panels[1].axvline(0.05, color="black", linewidth=0.8, linestyle="--")
        panels[0].set_yticks(range(len(methods)), [label(method) for method in methods])
    return figure


def svg(figure: Figure) -> str:
    """The figure as an SVG element, ready to stand in a page."""
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _lines(axes: Any, table: pd.DataFrame, x: str, measure: str) -> None:
    methods = list(dict.fromkeys(table["method"]))
    places = np.unique(table[x].to_numpy(float))
    span = float(np.ptp(places))
    for number, method in enumerate(methods):
        part = table[table["method"] == method].sort_values(x)
        name, colour, marker, line = look(method, number)
        errors = part[f"{measure}_se"].to_numpy() if f"{measure}_se" in part else None
        # A little apart, so that bars at one place can be told from each other.
        shift = (number - (len(methods) - 1) / 2) * 0.008 * span
        axes.errorbar(
            part[x].to_numpy(float) + shift,
            part[measure].to_numpy(float),
            yerr=errors,
            label=name,
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=4.5,
            linewidth=2.0 if method == "grip2" else 1.3,
            elinewidth=0.7,
            capsize=1.5,
            zorder=4 if method == "grip2" else 3,
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


def _target_line(axes: Any, table: pd.DataFrame, x: str, target: float | None) -> None:
    places = table[x].to_numpy(float)
    ends = [places.min(), places.max()]
    axes.plot(
        ends, ends if target is None else [target, target], color="black", linewidth=0.9, linestyle="--", zorder=2
    )


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
