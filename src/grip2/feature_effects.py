"""How selected features act, as typed records: shares of variance, curves with bands, and surfaces of pairs.

A description without an error guarantee. The false discovery rate is controlled for the selection; curves, shares and partners
come from a Bayesian model that is fitted to the selected features afterwards, on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from grip2.errors import Grip2Error, did_you_mean
from grip2.plain_text import short_name

NO_GUARANTEE = (
    "A description without an error guarantee: the false discovery rate is controlled for the selection only. A Bayesian model "
    "was fitted to the selected features after the selection, on the same rows, so effects tend to look larger than they are. "
    "Bands are those of the model, and of correlated features one may stand for the other."
)

# Directions of curves and of features.
INCREASING, DECREASING, NOT_MONOTONE = "increasing", "decreasing", "not monotone"
# Of features only.
TOGETHER = "only together with others"
BY_LEVEL = "differs between levels"  # of a category: see the level contrasts
BY_COLUMN = "differs between columns"  # of a group
UNCLEAR = "unclear"  # the model has no effect, as for products of three features

# What is said beside shares of which one is beyond the whole.
BEYOND_WHOLE = (
    "A share above 100 % does not mean more than everything: correlated features act in opposite directions there, and largely "
    "cancel each other."
)

BAND = 0.9  # posterior probability of a band at each point of a curve
MOST_LISTED = 15  # features of a description that is printed


@dataclass(frozen=True)
class EffectCurve:
    """What one column adds to the response by itself: posterior mean and 90 % band, without an error guarantee.

    The mean over all rows is 0. ``grid`` is in the units of the user's column: of a date in days since the first, of an ordered
    column the number of the level, and so forth (`ColumnFacts.done` of the column).
    """

    column: str
    direction: str  # "increasing", "decreasing", "not monotone", or "unclear": without an effect of its own
    share: float  # of the variance of the response, of this column by itself
    grid: tuple[float, ...]
    labels: tuple[str, ...]  # of the points of the grid, if these are levels; otherwise empty
    mean: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True)
class EffectSurface:
    """What two columns add together, beyond the curves of each: posterior mean, without an error guarantee.

    The mean over all rows is 0.
    """

    column: str
    partner_column: str
    grid: tuple[float, ...]
    labels: tuple[str, ...]
    partner_grid: tuple[float, ...]
    partner_labels: tuple[str, ...]
    mean: tuple[tuple[float, ...], ...]  # (grid, partner grid)


@dataclass(frozen=True)
class Interaction:
    """Another selected feature with which a feature acts together: a description, without an error guarantee."""

    partner: str
    probability: float  # posterior, that the two act together
    share: float  # of the variance of the response
    functions: tuple[
        str, ...
    ]  # "line x step", "V x line": of the feature, then of the partner; the most probable first
    surface: EffectSurface  # of the two columns that act most, where features have several


@dataclass(frozen=True)
class FeatureEffect:
    """How one selected feature acts: a description, without an error guarantee.

    Shares of features do not add up: an interaction counts with both features, and correlated features explain the same. A
    share is beyond 1 where a feature and a correlated one act in opposite directions, and largely cancel each other.
    """

    name: str
    direction: str  # see the constants of this module
    share: float  # of the variance of the response, alone and in interactions
    share_alone: float
    output: str  # the class whose chance is described, if the response has classes; otherwise empty
    curves: tuple[EffectCurve, ...]  # one for each column that is no level of a category
    interactions: tuple[Interaction, ...]  # the largest share first

    @property
    def two_levels(self) -> tuple[str, str] | None:
        """The lower and the higher of two levels, if the feature has two levels only and its direction is clear."""
        labels = self.curves[0].labels if len(self.curves) == 1 else ()
        if len(labels) != 2 or self.direction not in (INCREASING, DECREASING):
            return None
        return (labels[0], labels[1]) if self.direction == INCREASING else (labels[1], labels[0])

    @property
    def in_brief(self) -> str:
        """The direction in a word or two; for two levels, the one with the higher response."""
        return self.direction if self.two_levels is None else f"higher with {self.two_levels[1]}"

    def __str__(self) -> str:
        partners = ", ".join(f"{short_name(each.partner)} ({percent(each.share)})" for each in self.interactions)
        of_class = f" (chance of {short_name(self.output)})" if self.output else ""
        return (
            f"{short_name(self.name)}: {short_name(self.in_brief)}{of_class}, {percent(self.share)} of the variance"
            f"{f'; together with {partners}' if partners else ''}"
        )


@dataclass(frozen=True)
class EffectDescription:
    """How the selected features act, the largest W first: a description, without an error guarantee.

    ``result_.effects["age"].curves[0].mean``, ``for effect in result_.effects: ...``
    """

    scale: str  # of curves and surfaces, in words
    n_rows: int  # that the model was fitted to
    notes: tuple[str, ...]
    features: tuple[FeatureEffect, ...]
    guarantee: str = NO_GUARANTEE

    def __str__(self) -> str:
        count = len(self)
        if not count:
            return "No feature is described, as none was selected."
        head = (
            f"How {count} selected {'feature acts' if count == 1 else 'features act'} (fitted to {self.n_rows:,} rows; scale of "
            f"effects: {self.scale}): a description without an error guarantee."
        )
        shown = [f"  {effect}" for effect in self.features[:MOST_LISTED]]
        more = [f"  and {count - MOST_LISTED} more"] if count > MOST_LISTED else []
        return "\n".join([head, *shown, *more, *self.notes, *([self.about_shares] if self.about_shares else [])])

    @property
    def about_shares(self) -> str:
        """What to say beside the shares, where one is beyond the whole; else empty."""
        return beyond_whole(self.features)

    def __iter__(self) -> Iterator[FeatureEffect]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __contains__(self, name: object) -> bool:
        return any(effect.name == name for effect in self.features)

    def __getitem__(self, name: str) -> FeatureEffect:
        for effect in self.features:
            if effect.name == name:
                return effect
        raise Grip2Error(
            f"EffectDescription: {name!r} is not among the {len(self)} features described."
            f"{did_you_mean(name, [effect.name for effect in self.features])}"
        )


def percent(share: float) -> str:
    """A share for people: "12 %", "0.34 %"; "> 100 %" where correlated features cancel each other (`BEYOND_WHOLE`)."""
    if _beyond(share):
        return "> 100 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def beyond_whole(features: Iterable[FeatureEffect]) -> str:
    """What to say beside the shares of features, where one is beyond the whole; else empty."""
    shares = [share for each in features for share in (each.share, *(one.share for one in each.interactions))]
    return BEYOND_WHOLE if any(map(_beyond, shares)) else ""


def _beyond(share: float) -> bool:
    """Beyond the whole, after rounding to percent."""
    return share > 1.005


def rounded(values: Any) -> Any:
    """Numbers of an array, in nested tuples, to five significant digits: more would be noise in files."""
    if getattr(values, "ndim", 0):
        return tuple(rounded(part) for part in values)
    return float(f"{float(values):.5g}")
