"""Figures of a selection: the W of every feature against the threshold, and one regularization surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grip2.figure_style import BLUE, GREY, ORANGE, new_figure
from grip2.plain_text import short_name
from grip2.result import SelectionResult, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BARS = 60


def statistics_figure(result: SelectionResult) -> Figure:
    """Bars of W, largest |W| first: what beat its knockoff, what was beaten, and where the threshold lies."""
    order = np.argsort(-np.abs(result.W), kind="stable")[:MAX_BARS]
    W, selected = result.W[order], result.selected_mask[order]
    with new_figure(9.0, 3.9) as figure:
        axes = figure.subplots()
        for mask, colour, label in (
            (selected, BLUE, "selected"),
            (~selected & (W > 0), GREY, "not selected"),
            (W < 0, ORANGE, "beaten by its knockoff" if result.copies == 1 else "beaten by a knockoff"),
        ):
            places = np.flatnonzero(mask)
            if len(places):
                axes.bar(places, W[places], color=colour, width=0.75, label=f"{label} ({len(places)})")
        axes.axhline(0, color="black", linewidth=0.8)
        if result.e_values is None and np.isfinite(result.threshold):
            for level in (result.threshold, -result.threshold):
                axes.axhline(level, color="black", linewidth=0.8, linestyle="--")
            axes.text(len(order) - 0.4, result.threshold, "threshold", ha="right", va="bottom", fontsize=8)
        shown = f"the {len(order)} largest of {len(result.W)}" if len(result.W) > len(order) else "all"
        axes.set_xlabel(f"features by |W| ({shown})")
        axes.set_ylabel("W  (feature minus knockoff)" if result.copies == 1 else "W  (winner minus median)")
        axes.set_xticks(
            range(len(order)),
            [short_name(result.feature_names[j], 24) for j in order],
            rotation=90,
            fontsize=6.5,
            parse_math=False,
        )
        axes.set_xlim(-0.8, len(order) - 0.2)
        if W.any():
            axes.legend(frameon=False, loc="upper right")
    return figure


def surface_figure(result: SelectionResult, feature: str | None = None) -> Figure | None:
    """The activity of one feature and of its knockoff over (lambda, a); None where the statistic has no surface."""
    surface = result.surface
    if surface is None or len(result.W) == 0:
        return None
    # The feature that leads in the network itself: the largest W may come from a model before it.
    gap = (surface.original - surface.knockoff).mean(axis=0)
    j = result.feature_names.index(feature) if feature is not None else int(np.argmax(gap))
    with new_figure(9.0, 3.3) as figure:
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        top = max(surface.original[:, j].max(), surface.knockoff[:, j].max(), 1e-12)
        name = result.feature_names[j]
        points = _panel(left, surface, surface.original[:, j], name, top)
        _panel(right, surface, surface.knockoff[:, j], f"knockoff of {name}", top)
        left.set_ylabel("a  (penalty geometry)")
        figure.colorbar(points, ax=[left, right], label="group activity ||w||", shrink=0.9)
    return figure


def _panel(axes: Axes, surface: Surface, activity: np.ndarray, title: str, top: float) -> Any:
    points = axes.scatter(
        surface.lambda_, surface.a, c=activity, cmap="viridis", vmin=0, vmax=top, s=34, edgecolors="none"
    )
    axes.set_xscale("log")
    axes.set_xlabel("lambda  (penalty strength)")
    axes.set_title(title, fontsize=9, parse_math=False)
    return points
