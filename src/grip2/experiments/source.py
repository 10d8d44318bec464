"""The base class of data sources: their options, what trials share, how data is made, and what a report shows.

Everything about one source is in one file of the folder ``sources``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from grip2.responses import Measurement, Response

if TYPE_CHECKING:
    import pandas as pd

    from grip2.experiments.method_looks import MethodLooks
    from grip2.experiments.sections import Section

NO_S = "-"  # stands for s in tables of knockoffs that have no such setting

OptionValue = bool | int | float | str


@dataclass(frozen=True)
class Option:
    """A key of a ``[[data]]`` block. Its values have the type of the default; a whole number will do for a float."""

    default: OptionValue
    choices: tuple[OptionValue, ...] = ()  # empty: any value of the type
    least: float | None = None  # the smallest value of a number
    above: float | None = None  # a number must be larger than this
    most: float | None = None  # the largest value of a number
    below: float | None = None  # a number must be smaller than this
    # True for options that were added after trials had been stored: at its default such an option does not enter the keys
    # of designs, so that those trials are still recognised.
    added_later: bool = False

    def limits(self) -> str:
        """The limits of a number in words: "above 0 and at most 1"; empty if there are none."""
        limits = {"at least": self.least, "above": self.above, "at most": self.most, "below": self.below}
        return " and ".join(f"{words} {limit:g}" for words, limit in limits.items() if limit is not None)

    def holds(self, value: OptionValue) -> bool:
        """Is a number finite and within the limits?"""
        if isinstance(value, bool | str):
            return True
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True)
class Population:
    """The data that all trials of a design draw from, and the truth they are judged by."""

    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]  # X and y of one trial
    feature_names: tuple[str, ...]
    truth: np.ndarray  # units that matter
    units: np.ndarray | None = None  # (p,) unit of every feature; None: each feature is its own unit
    covariance: np.ndarray | None = None  # (p, p) of X, if rows are known to be normal with mean zero


class Source(ABC):
    """Base of all sources; class attributes describe a source."""

    name: ClassVar[str]
    options: ClassVar[Mapping[str, Option]]
    default_knockoffs: ClassVar[str]
    # Parameters of designs that `sections` shows side by side; it is given designs that differ in these only.
    axes: ClassVar[tuple[str, ...]] = ()
    # True: the distribution of X is known, so that exact knockoffs exist; `Population.covariance` is then given.
    known_distribution: ClassVar[bool] = False
    # True: units are groups of columns (`Population.units`).
    has_groups: ClassVar[bool] = False
    # True: X, and y, are the same in all trials.
    shares_X: ClassVar[bool] = False
    shares_y: ClassVar[bool] = False

    def response(self, options: Mapping[str, Any]) -> type[Response]:
        """The kind of response that the data has."""
        return Measurement

    def check(self, options: Mapping[str, Any]) -> None:  # noqa: B027 (a hook that few sources need)
        """Refuse options that do not go together; `Option.choices` has been checked before."""

    def fetch(self, options: Mapping[str, Any], data_home: Path | None) -> None:  # noqa: B027 (few sources need files)
        """Download the files of a design that are missing; raises if that cannot be done."""

    @abstractmethod
    def population(self, options: Mapping[str, Any], data_home: Path | None) -> Population:
        """Load or define the data of one design."""

    @abstractmethod
    def sections(self, table: pd.DataFrame, trials: pd.DataFrame, looks: MethodLooks) -> list[Section]:
        """The figures and tables of a report, without those whose numbers have not been computed yet.

        ``table`` holds means over trials, ``trials`` single trials (`grip2.experiments.summary`), both with every parameter
        of the designs.
        """

    def keyed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options by which a design is recognised."""
        return {
            name: value
            for name, value in options.items()
            if not (self.options[name].added_later and value == self.options[name].default)
        }
