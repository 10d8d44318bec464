"""How selected features act, as one figure: feature after feature, its curves first, then levels, then surfaces with others.

What is selected and not drawn is named below the panels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grip2.errors import Grip2Error
from grip2.facts import LevelContrast
from grip2.feature_effects import (
    TOGETHER,
    UNCLEAR,
    EffectCurve,
    EffectSurface,
    FeatureEffect,
    beyond_whole,
    percent,
)
from grip2.figure_style import new_figure
from grip2.plain_text import short_name
from grip2.report.effect_axes import draw_curve, draw_levels, draw_surface
from grip2.report.level_order import contrasts_of
from grip2.result import SelectionResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FEATURES = 12  # drawn unless features are named
MOST_CURVES, MOST_SURFACES = 3, 2  # of one feature: those with the largest shares
ACROSS = 3  # panels
WIDTH, HEIGHT = 3.3, 2.5  # of a panel, in inches
TITLE_LENGTH = 30
# Of differences between levels, by task.
LEVEL_UNITS = {"regression": "standard deviations", "classification": "probability"}
MOST_NAMED = 5  # of the features that are not drawn
LETTERS, LINE = 48, 0.16  # below the panels: letters of a line for each panel of a row, and its height in inches


@dataclass(frozen=True)
class _Panel:
    """One curve or surface, or the levels of a category, with its title."""

    title: str
    shown: EffectCurve | EffectSurface | tuple[LevelContrast, ...]
    unit: str = ""  # of differences between levels; empty: none that has a name

    def draw(self, axes: Axes) -> None:
        if isinstance(self.shown, EffectCurve):
            draw_curve(axes, self.shown)
        elif isinstance(self.shown, EffectSurface):
            draw_surface(axes, self.shown)
        else:
            draw_levels(axes, self.shown, self.unit)
        axes.set_title(self.title, fontsize=8, loc="left", parse_math=False)


def effects_figure(result: SelectionResult, features: Sequence[str] | None = None) -> Figure:
    """The figure of the features named, or of the strongest that are described."""
    chosen = _chosen(result, features)
    by_feature = [_panels(result, effect) for effect in chosen]
    panels = [panel for own in by_feature for panel in own]
    if not panels:
        raise Grip2Error(
            "SelectionResult.plot_effects: nothing to draw, as the features are categories whose levels were not compared, as "
            "with several classes, or cannot be told from other features; see result.effects."
        )
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    empty = [effect.name for effect, own in zip(chosen, by_feature, strict=True) if not own]
    drawn = {effect.name for effect in chosen}
    left_out = [name for name in result.selected if name not in drawn] if features is None else []
    below = (
        _named(
            "Without a panel, as categories whose levels were not compared or cannot be told from other features", empty
        ),
        _named("Selected, but not drawn", left_out),
        beyond_whole(chosen),
    )
    lines = [line for sentence in below for line in textwrap.wrap(sentence, LETTERS * across)]
    with new_figure(WIDTH * across, HEIGHT * down + LINE * len(lines)) as figure:
        places = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(places, panels, strict=False):
            panel.draw(axes)
        for axes in places[len(panels) :]:
            axes.remove()
        if lines:
            figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8, parse_math=False)
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
    """The curves of columns that act by themselves; the first curve of a feature that would show nothing otherwise."""
    ordered = sorted(effect.curves, key=lambda curve: -curve.share)
    acting = [] if effect.direction == TOGETHER else [curve for curve in ordered if curve.direction != UNCLEAR]
    return acting[:MOST_CURVES] or ([] if effect.interactions else ordered[:1])


def _levels(result: SelectionResult, effect: FeatureEffect) -> list[tuple[LevelContrast, ...]]:
    """The level contrasts of the categories of a feature, if it acts by itself or shows nothing else; one entry for each."""
    if effect.direction in (TOGETHER, UNCLEAR) and effect.interactions:
        return []
    by_variable: dict[str, list[LevelContrast]] = {}
    for contrast in contrasts_of(result, effect.name):
        by_variable.setdefault(contrast.variable, []).append(contrast)
    return [tuple(each) for each in by_variable.values() if any(one.estimated for one in each)][:MOST_CURVES]


def _named(what: str, names: Sequence[str]) -> str:
    """A sentence about features; empty where there are none."""
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{what}: {', '.join(short_name(name, TITLE_LENGTH) for name in names[:MOST_NAMED])}{more}."


def _panels(result: SelectionResult, effect: FeatureEffect) -> list[_Panel]:
    name = short_name(effect.name, TITLE_LENGTH)
    of_class = f", chance of {short_name(effect.output, 12)}" if effect.output else ""
    told = f"{name}\n{short_name(effect.in_brief, TITLE_LENGTH)}, {percent(effect.share)}{of_class}"
    surfaces = [
        _Panel(f"{name}\nwith {short_name(each.partner, TITLE_LENGTH)}, {percent(each.share)}", each.surface)
        for each in effect.interactions[:MOST_SURFACES]
    ]
    levels = [_Panel(told, each, LEVEL_UNITS.get(result.task, "")) for each in _levels(result, effect)]
    return [*(_Panel(told, curve) for curve in _curves(effect)), *levels, *surfaces]
