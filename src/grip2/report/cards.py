"""Cards of the selected units: what each one is, how it acts, and how certain its selection is."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from grip2.facts import LevelContrast
from grip2.feature_effects import (
    BY_COLUMN,
    BY_LEVEL,
    DECREASING,
    INCREASING,
    NOT_MONOTONE,
    TOGETHER,
    UNCLEAR,
    EffectCurve,
    FeatureEffect,
    Interaction,
    percent,
)
from grip2.plain_text import short_name
from grip2.report.effect_drawings import curve_drawing, surface_drawing
from grip2.report.effect_subject import subject
from grip2.report.level_order import contrasts_of
from grip2.result import SelectionResult
from grip2.units import other_columns

MOST_CARDS = 60
# Drawings of one card: those with the largest shares.
MOST_CURVES, MOST_SURFACES = 3, 2
MOST_LEVELS = 8  # that are shown before the rest is folded

ARROWS = {INCREASING: "↗", DECREASING: "↘", NOT_MONOTONE: "∿", TOGETHER: "×", BY_LEVEL: "≠", BY_COLUMN: "≠"}
WORDS = {
    INCREASING: "{subject} increases with it",
    DECREASING: "{subject} decreases with it",
    NOT_MONOTONE: "acts, but neither only upwards nor only downwards",
    TOGETHER: "acts only together with others",
    BY_LEVEL: "{subject} differs between its levels",
    BY_COLUMN: "its columns act in different directions",
    UNCLEAR: "the model of effects sees no direction",
}
# Of functions whose names in the model say little; the page explains them.
SHAPES = {"V": "bend"}


@dataclass(frozen=True)
class Partner:
    """Another selected unit that a unit acts together with."""

    name: str
    told: str  # share and kind, in words


@dataclass(frozen=True)
class Card:
    """One selected unit on the page."""

    name: str
    arrow: str
    direction: str  # in words; empty: not described
    share: str  # of the response's variance; empty: not described
    q_value: float
    frequency: float | None  # share of the draws that select it by themselves
    lasso: bool | None  # does the lasso select it too? None: not compared
    stands_for: tuple[str, ...]  # the columns, where they are others than the unit's name
    partners: tuple[Partner, ...]
    contrasts: tuple[LevelContrast, ...]  # of its levels, the largest difference first, those without one last
    drawings: tuple[Markup, ...]
    note: str  # what is not drawn; empty: nothing


def cards(result: SelectionResult) -> list[Card]:
    """A card for each selected unit, most convincing first."""
    effects = {} if result.effects is None else {effect.name: effect for effect in result.effects}
    place = {name: j for j, name in enumerate(result.feature_names)}
    return [_card(result, name, place[name], effects.get(name)) for name in result.selected[:MOST_CARDS]]


def _card(result: SelectionResult, name: str, j: int, effect: FeatureEffect | None) -> Card:
    columns = tuple(result.groups.get(name, (name,)))
    return Card(
        name=name,
        arrow="" if effect is None else ARROWS.get(effect.direction, "?"),
        direction="" if effect is None else _direction(effect, result.task),
        share="" if effect is None else percent(effect.share),
        q_value=float(result.q_values[j]),
        frequency=None if result.frequency is None else float(result.frequency[j]),
        lasso=None if result.lasso is None else result.lasso.q_values[j] <= result.fdr,
        stands_for=columns if other_columns(name, columns) else (),
        partners=() if effect is None else tuple(_partner(each) for each in effect.interactions),
        contrasts=contrasts_of(result, name),
        drawings=() if effect is None else _drawings(effect),
        note="" if effect is None else _note(effect),
    )


def _direction(effect: FeatureEffect, task: str) -> str:
    of = subject(task, effect.output)
    if effect.two_levels is not None:
        lower, higher = effect.two_levels
        return f"{of} is higher with {short_name(higher)} than with {short_name(lower)}"
    return WORDS[effect.direction].format(subject=of) if effect.direction in WORDS else effect.direction


def _partner(interaction: Interaction) -> Partner:
    shapes = " x ".join(SHAPES.get(shape, shape) for shape in interaction.functions[0].split(" x "))
    return Partner(interaction.partner, f"{percent(interaction.share)} ({shapes})")


def _drawings(effect: FeatureEffect) -> tuple[Markup, ...]:
    surfaces = [each.surface for each in effect.interactions[:MOST_SURFACES]]
    return (*map(curve_drawing, _drawn(effect)), *map(surface_drawing, surfaces))


def _drawn(effect: FeatureEffect) -> list[EffectCurve]:
    """The curves that are drawn; none for a feature without an effect of its own."""
    if effect.direction in (TOGETHER, UNCLEAR):
        return []
    curves = sorted(effect.curves, key=lambda curve: -curve.share)
    return [curve for curve in curves if curve.direction != UNCLEAR][:MOST_CURVES] or curves[:1]


def _note(effect: FeatureEffect) -> str:
    if effect.direction in (TOGETHER, UNCLEAR):
        return ""
    left_out = len(effect.curves) - len(_drawn(effect))
    if not left_out:
        return ""
    return f"{left_out} more {'columns act' if left_out > 1 else 'column acts'} less; selection.json has all curves."
