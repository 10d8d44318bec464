"""Censored times to an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from grip2.errors import Grip2Error
from grip2.responses.base import LikelihoodResponse
from grip2.responses.given import TIMES
from grip2.standardise import standardise

FEWEST_EVENTS = 5
# Rows censored before the first event have no hazard behind them and say nothing; the logarithm needs a number.
LEAST_HAZARD = 1e-8
SMALLEST_TOTAL = 1e-30  # of exp(outputs) at risk, where the largest is 1


@dataclass(frozen=True, eq=False)
class Survival(LikelihoodResponse):
    """Times until an event, some of them censored; the output is a log hazard ratio, and a constant does not matter.

    The loss is Cox's: minus the log partial likelihood (Breslow's for ties) per row, whose risk sets are those of the rows at
    hand, be they all, a minibatch or held out. It is counted from the model without features, whose loss is half the deviance
    of its martingale residuals, so that losses of few and of many rows compare. A loss that is a sum over rows, with
    the hazard of the model without features as exposure, was tried: the network finds less with it
    (``results/survival``).

    ``y`` holds the martingale residuals of the model without features, for models of measurements.
    """

    times: np.ndarray  # (rows,)
    events: np.ndarray  # (rows,) 1: seen; 0: censored
    hazards: np.ndarray  # (rows,) cumulative, without features, at the time of the row

    task: ClassVar[str] = "survival"
    noun: ClassVar[str] = "times to an event"
    has_working_response: ClassVar[bool] = True
    effects_scale: ClassVar[str] = (
        "standard deviations of the working response, a log hazard: above zero the risk is higher"
    )

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
    def loss_input(self) -> np.ndarray:
        """(rows, 3) events, ranks of times, and half the deviance without features."""
        deviance = self.hazards - self.events * (1.0 + np.log(self.hazards))
        return np.column_stack([self.events, self.ranks, deviance])

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean of ``event [log mean(exp(outputs at risk)) - output]``, 0 for equal outputs, and of the loss without features."""
        latest_first = xp.argsort(-y[:, 1])
        event, rank, output = y[latest_first, 0], -y[latest_first, 1], outputs[latest_first, 0]
        n_at_risk = xp.searchsorted(rank, rank, side="right")  # rows with equal times are at risk together
        top = output.max()  # without it large outputs overflow
        total = xp.maximum(xp.cumsum(xp.exp(output - top))[n_at_risk - 1], SMALLEST_TOTAL)
        log_mean = xp.log(total) + top - xp.log(n_at_risk.astype(output.dtype))
        return xp.mean(event * (log_mean - output)) + xp.mean(y[:, 2])

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        return np.zeros(1)

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        """Cumulative hazards of the rows, with Breslow's estimate of the baseline."""
        return cumulative_hazard(self.times, self.events, outputs[:, 0])[:, None]

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        at_risk = _Risk(self.times, self.events, outputs[:, 0])
        return np.asarray((at_risk.ratios * at_risk.hazards(1) - at_risk.ratios**2 * at_risk.hazards(2))[:, None])

    def working_responses(self, outputs: np.ndarray) -> list[np.ndarray]:
        """Martingale residuals at the fit plus the fit on their scale."""
        return [standardise(self.events.mean() * outputs[:, 0] + self.working_residual(outputs)[:, 0])]

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

    @property
    def ranks(self) -> np.ndarray:
        """(rows,) of the times, equal for equal times: single precision has them exactly, unlike the times."""
        return np.unique(self.times, return_inverse=True)[1].astype(np.float64)

    def latent_order(self, rng: np.random.Generator) -> np.ndarray:
        """By time. The event stays with its time, so that censoring depends on the features only where the time does."""
        return np.argsort(self.times, kind="stable")

    def describe(self) -> str:
        seen = int(self.events.sum())
        return f"{self.noun}: {seen} events and {len(self) - seen} censored rows"

    def describe_part(self, expected: Callable[[np.ndarray], float]) -> str:
        return f"about {round(expected(self.events)):,} events"


class _Risk:
    """Who is at risk when, for given log hazard ratios."""

    def __init__(self, times: np.ndarray, events: np.ndarray, log_ratios: np.ndarray) -> None:
        _, self._place = np.unique(times, return_inverse=True)
        self._seen = np.bincount(self._place, weights=events)
        self.ratios = np.exp(log_ratios - log_ratios.max(initial=0.0))
        at_risk = np.cumsum(np.bincount(self._place, weights=self.ratios)[::-1])[::-1]
        self._at_risk = np.maximum(at_risk, SMALLEST_TOTAL)

    def hazards(self, power: int) -> np.ndarray:
        """(rows,) sum over the events up to the time of the row of 1 / (sum of ratios at risk)^power."""
        return np.asarray(np.cumsum(self._seen / self._at_risk**power)[self._place])


def cumulative_hazard(times: np.ndarray, events: np.ndarray, log_ratios: np.ndarray) -> np.ndarray:
    """(rows,) cumulative hazard of every row up to its time, with Breslow's estimate of the baseline.

    That of Nelson and Aalen where all log hazard ratios are 0. Rows with equal times are at risk together.
    """
    at_risk = _Risk(times, events, log_ratios)
    return np.asarray(at_risk.ratios * at_risk.hazards(1))


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
