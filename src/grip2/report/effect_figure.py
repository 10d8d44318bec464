"""How selected features act, as one figure: a row for each feature, its curves first, then surfaces of its interactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grip2.errors import Grip2Error
from grip2.feature_effects import FeatureEffect
from grip2.figure_style import new_figure
from grip2.plain_text import short_name
from grip2.report.effect_axes import draw_curve, draw_surface
from grip2.report.effect_panels import drawn_curves, drawn_surfaces, percent
from grip2.result import SelectionResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FEATURES = 12  # drawn unless features are named
WIDTH, HEIGHT = 3.4, 2.4  # of a panel, in inches
TITLE_LENGTH = 40


def effects_figure(result: SelectionResult, features: Sequence[str] | None = None) -> Figure:
    """The figure of the features named, or of the strongest that are described."""
    effects = _chosen(result, features)
    rows = [(effect, drawn_curves(effect) or list(effect.curves[:1]), drawn_surfaces(effect)) for effect in effects]
    rows = [row for row in rows if row[1] or row[2]]
    if not rows:
        raise Grip2Error(
            "SelectionResult.plot_effects: nothing to draw, as the features are categories; see result.level_contrasts."
        )
    across = max(len(curves) + len(surfaces) for _, curves, surfaces in rows)
    with new_figure(WIDTH * across, HEIGHT * len(rows)) as figure:
        grid = figure.subplots(len(rows), across, squeeze=False)
        for (effect, curves, surfaces), places in zip(rows, grid, strict=True):
            for axes, curve in zip(places, curves, strict=False):
                draw_curve(axes, curve)
            for axes, surface in zip(places[len(curves) :], surfaces, strict=False):
                draw_surface(axes, surface)
            for axes in places[len(curves) + len(surfaces) :]:
                axes.set_axis_off()
            places[0].set_title(_title(effect), fontsize=9, loc="left", parse_math=False)
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


def _title(effect: FeatureEffect) -> str:
    of_class = f", chance of {effect.output}" if effect.output else ""
    return f"{short_name(effect.name, TITLE_LENGTH)}: {effect.direction}, {percent(effect.share)}{of_class}"
