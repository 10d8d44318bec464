"""The figure of a selection: the W of every feature against the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grip2.figure_style import BLUE, GREY, ORANGE, new_figure
from grip2.plain_text import short_name
from grip2.result import SelectionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS = 60


def statistics_figure(result: SelectionResult) -> Figure:
    """Bars of W, largest |W| first: features that won, features that lost to a knockoff, and the threshold."""
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
