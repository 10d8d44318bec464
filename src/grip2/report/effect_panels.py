"""How selected features act, as the small panels of a page: curves with bands, and heat maps of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grip2.feature_effects import (
    BY_LEVEL,
    TOGETHER,
    UNCLEAR,
    EffectCurve,
    EffectDescription,
    EffectSurface,
    FeatureEffect,
)
from grip2.figure_style import BLUE, GREY, new_figure, to_svg

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_CURVES, MAX_SURFACES = 3, 2  # of one feature: those with the largest shares
SHOWN_LABELS, LABEL_LENGTH = 6, 10
WIDTH, HEIGHT = 3.3, 2.1  # inches


@dataclass(frozen=True)
class EffectPanel:
    """One feature on the page."""

    name: str
    told: str  # direction and share, in words
    drawings: tuple[str, ...]  # SVG
    partners: tuple[str, ...]  # in words
    note: str = ""  # what is not drawn


def effect_panels(effects: EffectDescription) -> list[EffectPanel]:
    """A panel for every feature that is described, in their order."""
    return [_panel(effect) for effect in effects]


def percent(share: float) -> str:
    """A share for people: "12 %", "0.34 %"."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _panel(effect: FeatureEffect) -> EffectPanel:
    alone = effect.direction not in (TOGETHER, UNCLEAR)
    curves = sorted(effect.curves, key=lambda curve: -curve.share) if alone else []
    drawn = [curve for curve in curves if curve.direction != UNCLEAR][:MAX_CURVES] or curves[:1]
    surfaces = [interaction.surface for interaction in effect.interactions[:MAX_SURFACES]]
    left_out = len(curves) - len(drawn)
    notes = [
        "Its levels are in the table of levels below." if effect.direction == BY_LEVEL else "",
        f"{left_out} more {'columns act' if left_out > 1 else 'column acts'} less; selection.json has all curves."
        if left_out
        else "",
    ]
    return EffectPanel(
        name=effect.name,
        told=f"{effect.direction}, {percent(effect.share)}"
        + (f" (chance of {effect.output})" if effect.output else ""),
        drawings=tuple(to_svg(figure) for figure in [*map(curve_figure, drawn), *map(surface_figure, surfaces)]),
        partners=tuple(
            f"together with {each.partner}: {percent(each.share)} ({each.functions[0]})" for each in effect.interactions
        ),
        note=" ".join(note for note in notes if note),
    )


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
