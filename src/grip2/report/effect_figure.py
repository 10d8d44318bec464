"""How selected features act, as one figure: feature after feature, its curves first, then surfaces of its interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grip2.errors import Grip2Error
from grip2.feature_effects import TOGETHER, UNCLEAR, EffectCurve, EffectSurface, FeatureEffect
from grip2.figure_style import new_figure
from grip2.plain_text import short_name
from grip2.report.effect_axes import draw_curve, draw_surface
from grip2.report.shares import percent
from grip2.result import SelectionResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FEATURES = 12  # drawn unless features are named
MOST_CURVES, MOST_SURFACES = 3, 2  # of one feature: those with the largest shares
ACROSS = 3  # panels
WIDTH, HEIGHT = 3.3, 2.5  # of a panel, in inches
TITLE_LENGTH = 30


@dataclass(frozen=True)
class _Panel:
    """One curve or surface with its title."""

    title: str
    shown: EffectCurve | EffectSurface

    def draw(self, axes: Axes) -> None:
        if isinstance(self.shown, EffectCurve):
            draw_curve(axes, self.shown)
        else:
            draw_surface(axes, self.shown)
        axes.set_title(self.title, fontsize=8, loc="left", parse_math=False)


def effects_figure(result: SelectionResult, features: Sequence[str] | None = None) -> Figure:
    """The figure of the features named, or of the strongest that are described."""
    panels = [panel for effect in _chosen(result, features) for panel in _panels(effect)]
    if not panels:
        raise Grip2Error(
            "SelectionResult.plot_effects: nothing to draw, as the features are categories; see result.level_contrasts."
        )
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    with new_figure(WIDTH * across, HEIGHT * down) as figure:
        places = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(places, panels, strict=False):
            panel.draw(axes)
        for axes in places[len(panels) :]:
            axes.remove()
    return figure


def _chosen(result: SelectionResult, features: Sequence[str] | None) -> list[FeatureEffect]:
    who = "SelectionResult.plot_effects"
    if result.effects is None:
        raise Grip2Error(f"{who}: effects were not described. Fit again with describe=True, the default.")
    if isinstance(features, str):
        features = [features]
    if features is not None and not len(features):
        raise Grip2Error(f"{who}: features must name at least one feature, got none.")
    if not len(result.effects):
        raise Grip2Error(f"{who}: no selected feature is described. {result.reason}")
    return list(result.effects)[:MOST_FEATURES] if features is None else [result.effects[name] for name in features]


def _curves(effect: FeatureEffect) -> list[EffectCurve]:
    """The curves of columns that act by themselves; of a feature that shows nothing else, the first one."""
    ordered = sorted(effect.curves, key=lambda curve: -curve.share)
    acting = [] if effect.direction == TOGETHER else [curve for curve in ordered if curve.direction != UNCLEAR]
    return acting[:MOST_CURVES] or ([] if effect.interactions else ordered[:1])


def _panels(effect: FeatureEffect) -> list[_Panel]:
    name = short_name(effect.name, TITLE_LENGTH)
    of_class = f", chance of {short_name(effect.output, 12)}" if effect.output else ""
    told = f"{name}\n{short_name(effect.in_brief, TITLE_LENGTH)}, {percent(effect.share)}{of_class}"
    surfaces = [
        _Panel(f"{name}\nwith {short_name(each.partner, TITLE_LENGTH)}, {percent(each.share)}", each.surface)
        for each in effect.interactions[:MOST_SURFACES]
    ]
    return [*(_Panel(told, curve) for curve in _curves(effect)), *surfaces]
