"""How selected features act, as typed records: shares of variance, curves with bands, and surfaces of pairs.

A description without an error guarantee. The false discovery rate is controlled for the selection; curves, shares and partners
come from a Bayesian model that is fitted to the selected features afterwards, on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grip2.errors import Grip2Error, did_you_mean

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
UNCLEAR = "unclear"  # the model sees no effect, as of products of three features

BAND = 0.9  # posterior probability of a band at each point of a curve


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
    labels: tuple[str, ...]  # of the points of the grid where these are levels; else empty
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
    functions: tuple[str, ...]  # "line x step": of the feature, then of the partner; the most probable first
    surface: EffectSurface  # of the two columns that act most, where features have several


@dataclass(frozen=True)
class FeatureEffect:
    """How one selected feature acts: a description, without an error guarantee.

    Shares of features do not add up: an interaction counts with both features, and correlated features explain the same.
    """

    name: str
    direction: str  # see the constants of this module
    share: float  # of the variance of the response, alone and in interactions
    share_alone: float
    output: str  # the class whose chance is described, where the response has classes; else empty
    curves: tuple[EffectCurve, ...]  # one for each column that is no level of a category
    interactions: tuple[Interaction, ...]  # the largest share first

    @property
    def two_levels(self) -> tuple[str, str] | None:
        """The lower and the higher of two levels, where that is all the feature has and its direction is clear."""
        labels = self.curves[0].labels if len(self.curves) == 1 else ()
        if len(labels) != 2 or self.direction not in (INCREASING, DECREASING):
            return None
        return (labels[0], labels[1]) if self.direction == INCREASING else (labels[1], labels[0])

    @property
    def in_brief(self) -> str:
        """The direction in a word or two: of two levels, the one with which the response is higher."""
        return self.direction if self.two_levels is None else f"higher with {self.two_levels[1]}"


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


def rounded(values: Any) -> Any:
    """Numbers of an array, in nested tuples, to five significant digits: more would be noise in files."""
    if getattr(values, "ndim", 0):
        return tuple(rounded(part) for part in values)
    return float(f"{float(values):.5g}")
