"""How selected features act, as the small panels of a page: curves with bands, and heat maps of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grip2.feature_effects import (
    BY_LEVEL,
    TOGETHER,
    UNCLEAR,
    EffectCurve,
    EffectDescription,
    EffectSurface,
    FeatureEffect,
)
from grip2.figure_style import new_figure, to_svg
from grip2.report.effect_axes import draw_curve, draw_surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_CURVES, MAX_SURFACES = 3, 2  # of one feature: those with the largest shares
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
    """One curve by itself."""
    with new_figure(WIDTH, HEIGHT) as figure:
        draw_curve(figure.subplots(), curve)
    return figure


def surface_figure(surface: EffectSurface) -> Figure:
    """One surface by itself."""
    with new_figure(WIDTH, 1.25 * HEIGHT) as figure:
        draw_surface(figure.subplots(), surface)
    return figure
