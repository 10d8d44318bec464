"""Curves, level contrasts and surfaces of effects, drawn on given axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grip2.facts import LevelContrast
from grip2.feature_effects import EffectCurve, EffectSurface
from grip2.figure_style import BLUE, GREY
from grip2.plain_text import short_name, visible_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

SHOWN_LABELS, LABEL_LENGTH = 6, 10
SHOWN_LEVELS = 8  # of a category: those that differ most
NORMAL_90 = 1.645  # standard errors in half of a 90 % interval


def draw_curve(axes: Axes, curve: EffectCurve) -> None:
    """Posterior mean and band; points with bars if the column has levels or two values."""
    grid = np.array(curve.grid)
    mean, lower, upper = (np.array(values) for values in (curve.mean, curve.lower, curve.upper))
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
    axes.set_xlabel(short_name(curve.column, 40), parse_math=False)
    axes.set_ylabel("effect")


def draw_levels(axes: Axes, contrasts: Sequence[LevelContrast], unit: str) -> None:
    """Differences of the levels of one category to its reference as points with 90 % bars; those that differ most."""
    found = [
        (each.level, each.difference, each.standard_error or 0.0) for each in contrasts if each.difference is not None
    ]
    shown = sorted(found, key=lambda each: -abs(each[1]))[:SHOWN_LEVELS][::-1]
    names, differences, errors = zip(*shown, strict=True)
    rows, middle, half = np.arange(len(shown)), np.array(differences), NORMAL_90 * np.array(errors)
    axes.axvline(0, color=GREY, linewidth=0.7)
    axes.hlines(rows, middle - half, middle + half, color=BLUE, alpha=0.4, linewidth=4)
    axes.plot(middle, rows, "o", color=BLUE)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_yticks(rows)
    _label(axes.yaxis, rows, names)
    n_hidden = len(contrasts) - len(shown)
    more = f"{n_hidden} more levels" if n_hidden > 1 else "1 more level" if n_hidden else ""
    below = "; ".join(part for part in (unit, more) if part)
    axes.set_xlabel(f"difference to {short_name(contrasts[0].reference, 20)}\n{below}".rstrip(), parse_math=False)
    axes.set_ylabel(short_name(contrasts[0].variable, 30), parse_math=False)


def draw_surface(axes: Axes, surface: EffectSurface) -> None:
    """Heat map of the posterior mean: red above, blue below the sum of the two curves."""
    grid, partner_grid, mean = np.array(surface.grid), np.array(surface.partner_grid), np.array(surface.mean)
    top = max(float(np.abs(mean).max()), 1e-12)
    # Points of unequal distance, such as levels, are drawn side by side.
    across, up = (_even(points) for points in (grid, partner_grid))
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
    axes.set_xlabel(short_name(surface.column, 40), parse_math=False)
    axes.set_ylabel(short_name(surface.partner_column, 40), parse_math=False)
    axes.figure.colorbar(image, ax=axes, label="effect together", shrink=0.9)


def _step(points: np.ndarray) -> float:
    return float(points[-1] - points[0]) / max(1, len(points) - 1) or 1.0


def _even(points: np.ndarray) -> np.ndarray:
    """The points themselves if they have equal distances, otherwise 0, 1, 2, ..."""
    return points if np.allclose(np.diff(points), _step(points)) else np.arange(len(points), dtype=float)


def _label(axis: Axis, points: np.ndarray, labels: tuple[str, ...]) -> None:
    texts = tuple(map(visible_line, labels)) or tuple(f"{point:g}" for point in points)
    short = [text if len(text) <= LABEL_LENGTH else text[: LABEL_LENGTH - 3] + "..." for text in texts]
    axis.set_ticklabels(short, parse_math=False)
