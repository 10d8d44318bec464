"""One figure: are null signs fair, and are false discoveries at most at their level? A dot for every cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from grip2.figure_style import BLUE, GREY, ORANGE, new_figure, to_svg
from guarantee.evidence import LEVELS
from guarantee.verdicts import FEW_SELECTIONS, Row


def draw_figure(rows: list[Row]) -> str:
    """Left: how far the share of originals that win is from fair, in standard errors. Right: mean FDP at the larger level."""
    with new_figure(9.0, 3.6) as figure:
        left, right = figure.subplots(1, 2)
        _draw_signs(left, [row for row in rows if row.signs.signs])
        _draw_proportions(right, [row for row in rows if row.selections.trials >= FEW_SELECTIONS])
        return to_svg(figure)


def _draw_signs(ax: Any, rows: list[Row]) -> None:
    counts = np.array([row.signs.signs for row in rows])
    fair = np.array([1 / (1 + row.cell.copies) for row in rows])
    shares = np.array([row.signs.wins[0] / row.signs.signs for row in rows])
    z = (shares - fair) / np.sqrt(fair * (1 - fair) / counts) if rows else np.zeros(0)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.scatter(counts, z, s=9, color=BLUE, linewidth=0)
    if rows:
        ax.set_xscale("log")
    ax.set_xlabel("null signs of a cell, without the shuffle")
    ax.set_ylabel("originals that win, from fair (standard errors)")
    ax.set_title("Signs on exact knockoffs", loc="left", fontsize=9)


def _draw_proportions(ax: Any, rows: list[Row]) -> None:
    for exact, colour, label in ((True, BLUE, "exact knockoffs"), (False, ORANGE, "estimated knockoffs")):
        chosen = [row for row in rows if row.cell.exact == exact]
        ordered = sorted(chosen, key=lambda row: float(row.selections.mean_fdp[-1]))
        place = (np.arange(len(ordered)) + 0.5) / max(1, len(ordered))
        means = np.array([row.selections.mean_fdp[-1] for row in ordered])
        errors = np.array([2 * row.selections.error_of_fdp[-1] for row in ordered])
        ax.errorbar(place, means, errors, fmt="o", markersize=2, linewidth=0.4, color=colour, label=label)
    ax.axhline(LEVELS[-1], color=GREY, linewidth=0.8)
    ax.set_xlabel(f"cells of at least {FEW_SELECTIONS} selections, by their mean")
    ax.set_ylabel(f"mean FDP at {LEVELS[-1]} ± 2 standard errors")
    ax.set_ylim(0, max(0.4, 1.1 * max((float(row.selections.mean_fdp[-1]) for row in rows), default=0.0)))
    ax.set_title("False discoveries", loc="left", fontsize=9)
    if rows:
        ax.legend(frameon=False, fontsize=8)
