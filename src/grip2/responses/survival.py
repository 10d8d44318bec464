"""Censored times to an event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from grip2.errors import Grip2Error
from grip2.responses.base import Response
from grip2.responses.given import TIMES
from grip2.standardise import standardise

FEWEST_EVENTS = 5
# Rows censored before the first event have no hazard behind them and say nothing; the logarithm needs a number.
LEAST_HAZARD = 1e-8


@dataclass(frozen=True, eq=False)
class Survival(Response):
    """Times until an event, some of them censored; the output is a log hazard ratio.

    The loss of a row is half the deviance of a Poisson count, event or not, whose mean is ``H exp(output)``, where H is the
    cumulative hazard up to its time in the model without features (Nelson and Aalen). It is the likelihood of proportional
    hazards with the baseline fixed there: its gradient at output 0 is that of Cox's partial likelihood, the martingale
    residual. Unlike the partial likelihood it is a sum over rows, so that minibatches and held-out rows have a loss.

    ``y`` holds the martingale residuals of the model without features, for models of measurements.
    """

    times: np.ndarray  # (rows,)
    events: np.ndarray  # (rows,) 1: seen; 0: censored
    hazards: np.ndarray  # (rows,) cumulative, without features, at the time of the row

    task: ClassVar[str] = "survival"
    noun: ClassVar[str] = "times to an event"
    explained_is: ClassVar[str] = "deviance"
    estimator_type: ClassVar[str] = "regressor"
    linear_model: ClassVar[str] = "likelihood"
    leaves_residual: ClassVar[bool] = False
    gaussian_noise: ClassVar[bool] = False
    has_working_response: ClassVar[bool] = True

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return asked or values.dtype == TIMES

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        if values.dtype != TIMES:
            raise Grip2Error(
                f"{who}: survival needs a time and an event for every row: a structured array with both fields, or two "
                "columns, time and event (--target time --event status)."
            )
        times, events = values["time"], values["event"]
        _check(times, events, who)
        hazards = np.maximum(cumulative_hazard(times, events, np.zeros(len(times))), LEAST_HAZARD)
        return cls(events - hazards, times, events, hazards)

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def loss_input(self) -> np.ndarray:
        """(rows, 2) events and the logarithm of the hazard behind them."""
        return np.column_stack([self.events, np.log(self.hazards)])

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean half deviance: 0 where exp(output) is the event over the hazard."""
        event, log_mean = y[:, 0], outputs[:, 0] + y[:, 1]
        return xp.mean(xp.exp(log_mean) - event * (1.0 + log_mean))

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        return np.log([(self.events.sum() + prior_rows) / (self.hazards.sum() + prior_rows)])

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(self.hazards[:, None] * np.exp(outputs))

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        return self.mean_of(outputs)

    def working_responses(self, outputs: np.ndarray) -> list[np.ndarray]:
        """Martingale residuals at the fit, whose baseline hazard is estimated anew, plus the fit on their scale."""
        log_ratio = outputs[:, 0] - outputs[:, 0].mean()
        hazards = cumulative_hazard(self.times, self.events, log_ratio)
        return [standardise(self.events.mean() * log_ratio + self.events - hazards * np.exp(log_ratio))]

    def indicators(self) -> np.ndarray:
        return self.events[:, None]

    @property
    def contrasts(self) -> list[np.ndarray]:
        return [standardise(self.y)]

    @property
    def labels(self) -> np.ndarray:
        return self.contrasts[0]

    @property
    def strata(self) -> np.ndarray | None:
        return self.events

    def take(self, rows: np.ndarray) -> Self:
        return replace(
            self, y=self.y[rows], times=self.times[rows], events=self.events[rows], hazards=self.hazards[rows]
        )

    def describe(self) -> str:
        seen = int(self.events.sum())
        return f"{self.noun}: {seen} events and {len(self) - seen} censored rows"


def cumulative_hazard(times: np.ndarray, events: np.ndarray, log_ratios: np.ndarray) -> np.ndarray:
    """(rows,) Breslow's estimate of the baseline cumulative hazard at the time of every row, given log hazard ratios.

    That of Nelson and Aalen where all ratios are 1. Rows with equal times are at risk together.
    """
    _, place = np.unique(times, return_inverse=True)
    seen = np.bincount(place, weights=events)
    at_risk = np.cumsum(np.bincount(place, weights=np.exp(log_ratios))[::-1])[::-1]
    return np.asarray(np.cumsum(seen / at_risk)[place])


def _check(times: np.ndarray, events: np.ndarray, who: str) -> None:
    n_rows = len(times)
    for name, column in (("times", times), ("events", events)):
        bad = int(np.count_nonzero(~np.isfinite(column)))
        if bad:
            raise Grip2Error(f"{who}: {name} must be finite, got NaN or infinity in {bad} of {n_rows} rows. Drop them.")
    if not np.isin(events, (0.0, 1.0)).all():
        found = ", ".join(f"{value:g}" for value in np.unique(events)[:5])
        raise Grip2Error(
            f"{who}: events must be 1 (seen) or 0 (censored), or True and False, got {found}. Say which value is the event, "
            "for example status == 2."
        )
    early = int(np.count_nonzero(times <= 0))
    if early:
        raise Grip2Error(
            f"{who}: times must be positive, got {times.min():g} or other times of 0 and below in {early} of {n_rows} rows. "
            "Drop these rows or, where 0 means the first day, add half a day to all."
        )
    seen = int(events.sum())
    if seen < FEWEST_EVENTS:
        raise Grip2Error(
            f"{who}: at least {FEWEST_EVENTS} events are needed, got {seen} in {n_rows} rows. Is the event coded as 1?"
        )
    if times.min() == times.max():
        raise Grip2Error(f"{who}: y is a constant (time {times[0]:g} in every row); there is nothing to explain.")
