"""The selection that is calibrated, ready for any response: the table is prepared and the sampler fitted, once.

Samplers never see y, so that one fit serves all simulated responses; knockoffs are drawn anew for each.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from grip2._random import stream
from grip2.calibration.signals import Functions, Truth, draw_truth, simulated_response
from grip2.decision import Evidence
from grip2.draws import OneRowEach, augmented, draw_importances
from grip2.groups import NamedUnits
from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response
from grip2.selector import KnockoffSelector
from grip2.statistics.base import Statistic


@dataclass(frozen=True, eq=False)
class Procedure:
    """Everything that decides a trial, but for the kind of signal and the number of the trial."""

    X: np.ndarray  # (n, p) NaN where a value is missing
    completed: np.ndarray  # (n, p) the same without missing values: what simulated responses depend on
    response: Response  # the user's
    units: NamedUnits
    statistic: Statistic
    sampler: KnockoffSampler  # fitted
    copies: int
    n_draws: int
    offset: int
    one_row_each: OneRowEach | None
    levels: tuple[float, ...]
    seed: int

    @classmethod
    def of(cls, fitted: KnockoffSelector, levels: tuple[float, ...], seed: int) -> Procedure:
        """From a fitted selector."""
        X, sampler = fitted.table_.X, fitted.sampler_
        rng = stream(np.random.default_rng(seed), "calibration: missing values")
        return cls(
            X=X,
            completed=sampler.complete(X, rng=rng),
            response=fitted.response_,
            units=fitted.units_,
            statistic=fitted.statistic_,
            sampler=sampler,
            copies=fitted.result_.copies,
            n_draws=int(fitted.n_draws),
            offset=int(fitted.offset),
            one_row_each=fitted.one_row_each_,
            levels=levels,
            seed=seed,
        )

    @cached_property
    def functions(self) -> Functions:
        return Functions.of(self.completed, self.units.units)

    def rng(self, signal: str, number: int) -> np.random.Generator:
        """Of one trial: it depends neither on other trials nor on who computes it."""
        return stream(np.random.default_rng([self.seed, zlib.crc32(signal.encode()), number]), "calibration")

    def simulate(self, signal: str, n_true: int, strength: float, rng: np.random.Generator) -> tuple[Truth, Response]:
        """A truth and a response of the user's kind that depends on it."""
        truth = draw_truth(self.functions, signal, n_true, rng)
        return truth, simulated_response(self.response, truth.signal, strength, rng)

    def select(self, response: Response, rng: np.random.Generator) -> Selected:
        """The whole procedure on a response: knockoffs, importances, and what is selected at every level."""
        X, response = augmented(self.sampler, self.X, response, rng, "calibrate")
        drawn = draw_importances(
            self.statistic,
            self.sampler,
            X,
            response,
            units=self.units.units,
            copies=self.copies,
            one_row_each=self.one_row_each,
            rngs=rng.spawn(self.n_draws),
        )
        evidence = Evidence.of(drawn.importances, offset=self.offset)
        at = {level: evidence.decide(level) for level in self.levels}
        return Selected(
            at[self.levels[0]].W, {level: np.flatnonzero(decision.selected) for level, decision in at.items()}
        )


@dataclass(frozen=True, eq=False)
class Selected:
    """W, and the numbers of the selected units at every target rate."""

    W: np.ndarray
    at: Mapping[float, np.ndarray]


@dataclass(frozen=True, eq=False)
class Parcel:
    """A procedure on its way to workers: packed once for all tasks, unpacked once in every worker."""

    procedure: Procedure

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps(self.procedure, protocol=pickle.HIGHEST_PROTOCOL)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self._packed,)


@lru_cache(maxsize=1)
def _unpacked(content: bytes) -> Parcel:
    return Parcel(pickle.loads(content))
