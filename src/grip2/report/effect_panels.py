"""How selected features act, as matplotlib figures: curves with bands, and heat maps of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grip2.feature_effects import EffectCurve, EffectSurface
from grip2.figure_style import BLUE, GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SHOWN_LABELS, LABEL_LENGTH = 6, 10
WIDTH, HEIGHT = 3.3, 2.1  # inches


def percent(share: float) -> str:
    """A share for people: "12 %", "0.34 %"."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def curve_figure(curve: EffectCurve) -> Figure:
    """Posterior mean and band; points with bars where the column has levels or two values."""
    grid = np.array(curve.grid)
    mean, lower, upper = (np.array(values) for values in (curve.mean, curve.lower, curve.upper))
    with new_figure(WIDTH, HEIGHT) as figure:
        axes = figure.subplots()
        axes.axhline(0, color=GREY, linewidth=0.7)
        if curve.labels or len(grid) == 2:
            axes.vlines(grid, lower, upper, color=BLUE, alpha=0.4, linewidth=4)
            axes.plot(grid, mean, "o", color=BLUE)
            axes.set_xlim(grid[0] - 0.5 * _step(grid), grid[-1] + 0.5 * _step(grid))
            axes.set_xticks(grid)
            _label(axes.xaxis, grid, curve.labels)
        else:
            axes.fill_between(grid, lower, upper, color=BLUE, alpha=0.2, linewidth=0)
            axes.plot(grid, mean, color=BLUE)
        axes.set_xlabel(curve.column, parse_math=False)
        axes.set_ylabel("effect")
    return figure


def surface_figure(surface: EffectSurface) -> Figure:
    """Heat map of the posterior mean: red above, blue below the sum of the two curves."""
    grid, partner_grid, mean = np.array(surface.grid), np.array(surface.partner_grid), np.array(surface.mean)
    top = max(float(np.abs(mean).max()), 1e-12)
    # Points of unequal distance, as levels may have, stand side by side.
    across, up = (_even(points) for points in (grid, partner_grid))
    with new_figure(WIDTH, 1.25 * HEIGHT) as figure:
        axes = figure.subplots()
        image = axes.imshow(
            mean.T,
            origin="lower",
            aspect="auto",
            interpolation="none",
            cmap="RdBu_r",
            vmin=-top,
            vmax=top,
            extent=(
                across[0] - 0.5 * _step(across), across[-1] + 0.5 * _step(across),
                up[0] - 0.5 * _step(up), up[-1] + 0.5 * _step(up),
            ),
        )  # fmt: skip
        for axis, places, points, labels in (
            (axes.xaxis, across, grid, surface.labels),
            (axes.yaxis, up, partner_grid, surface.partner_labels),
        ):
            if labels or not np.array_equal(places, points) or len(points) == 2:
                shown = np.unique(np.linspace(0, len(points) - 1, SHOWN_LABELS).round().astype(int))
                axis.set_ticks(places[shown].tolist())
                _label(axis, points[shown], tuple(labels[k] for k in shown) if labels else ())
        axes.set_xlabel(surface.column, parse_math=False)
        axes.set_ylabel(surface.partner_column, parse_math=False)
        figure.colorbar(image, ax=axes, label="effect together", shrink=0.9)
    return figure


def _step(points: np.ndarray) -> float:
    return float(points[-1] - points[0]) / max(1, len(points) - 1) or 1.0


def _even(points: np.ndarray) -> np.ndarray:
    """The points themselves where they have equal distances, else their numbers."""
    return points if np.allclose(np.diff(points), _step(points)) else np.arange(len(points), dtype=float)


def _label(axis: Axis, points: np.ndarray, labels: tuple[str, ...]) -> None:
    texts = labels or tuple(f"{point:g}" for point in points)
    short = [text if len(text) <= LABEL_LENGTH else text[: LABEL_LENGTH - 3] + "..." for text in texts]
    axis.set_ticklabels(short, parse_math=False)
