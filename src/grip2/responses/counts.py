"""Counts: numbers of events, with a logarithmic link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from grip2.errors import Grip2Error
from grip2.responses.base import LikelihoodResponse
from grip2.responses.measurement import numbers_of
from grip2.standardise import standardise

# Below this dispersion the formulas of the negative binomial lose digits, and it cannot be told from Poisson.
LEAST_DISPERSION = 1e-4
# Unless asked for, counts are whole numbers from 0, the most frequent one, to at most 500: at least and at most so many different
# ones, clearly skewed (codes of classes are not), in tables that are not so long that they should be read block by block,
# which models of counts cannot.
LEAST_DISTINCT, MOST_DISTINCT, LARGEST, LEAST_SKEWNESS, MOST_ROWS = 4, 100, 500, 1.0, 100_000


@dataclass(frozen=True, eq=False)
class Counts(LikelihoodResponse):
    """Whole numbers from 0 up; half the deviance of a negative binomial model with a logarithmic link.

    The output is the logarithm of the mean over ``base``, the mean without features.

    The variance is ``mean + dispersion * mean^2``. The dispersion is that of the model without features: it can only be too
    large where features matter, which costs little, while a Poisson model would let rows with large counts decide alone
    where counts vary more than Poisson. Counts that vary no more have dispersion 0, the Poisson model.
    """

    dispersion: float = 0.0
    base: float = 1.0  # so that networks start at the model without features

    task: ClassVar[str] = "counts"
    noun: ClassVar[str] = "counts"
    has_working_response: ClassVar[bool] = True

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return asked or _look_like_counts(values)

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        if values.dtype.names is not None:
            raise Grip2Error(
                f"{who}: counts must be one column of whole numbers, got {', '.join(values.dtype.names)}. Leave the event out, "
                "or task='counts'."
            )
        y, least = numbers_of(values, who, cls.task)
        if least:
            raise Grip2Error(f"{who}: counts must be below 2^53, got {values.max()!r}; these are no counts.")
        if y.min() < 0:
            raise Grip2Error(
                f"{who}: counts must not be negative, got {y.min():g} in {np.count_nonzero(y < 0)} of {len(y)} rows. Correct "
                "these rows, or pass task='regression'."
            )
        whole = y == np.floor(y)
        if not whole.all():
            raise Grip2Error(
                f"{who}: counts must be whole numbers, got {y[~whole][0]:g} and other fractions in {np.count_nonzero(~whole)} "
                f"of {len(y)} rows. For rates or amounts pass task='regression'."
            )
        if y.min() == y.max():
            raise Grip2Error(f"{who}: y is a constant ({y[0]:g} in every row); there is nothing to explain.")
        return cls(y, dispersion_of(y, np.full(len(y), y.mean())), float(y.mean()))

    @property
    def loss_input(self) -> np.ndarray:
        """(rows, 3) counts, the dispersion and the logarithm of the base."""
        known = (max(self.dispersion, LEAST_DISPERSION), np.log(self.base))
        return np.column_stack([self.y, np.tile(known, (len(self.y), 1))])

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean half deviance of the negative binomial: 0 where the mean is the count."""
        count, a = y[:, 0], y[:, 1]
        log_mean = outputs[:, 0] + y[:, 2]
        # (y + 1/a) [log(1 + a mean) - log(1 + a y)] - y [log mean - log y]
        rise = xp.logaddexp(log_mean + xp.log(a), 0.0) - xp.log1p(a * count)
        return xp.mean((count + 1.0 / a) * rise - count * (log_mean - xp.log(xp.maximum(count, 1.0))))

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        return np.log([(self.y.sum() + prior_rows * self.base) / ((len(self.y) + prior_rows) * self.base)])

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(self.base * np.exp(outputs))

    def working_residual(self, outputs: np.ndarray) -> np.ndarray:
        mean, a = self.mean_of(outputs), max(self.dispersion, LEAST_DISPERSION)
        return np.asarray((self.indicators() - mean) / (1.0 + a * mean))

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        mean, a = self.mean_of(outputs), max(self.dispersion, LEAST_DISPERSION)
        return np.asarray(mean * (1.0 + a * self.indicators()) / (1.0 + a * mean) ** 2)

    def working_responses(self, outputs: np.ndarray) -> list[np.ndarray]:
        """Pearson residuals at the fit plus the fit on their scale, with the dispersion that the fit leaves."""
        mean = self.mean_of(outputs)[:, 0]
        deviation = np.sqrt(mean + dispersion_of(self.y, mean) * mean**2)
        slope = float(np.mean(mean / deviation))  # of a Pearson residual in the logarithm of the mean
        return [standardise(slope * outputs[:, 0] + (self.y - mean) / deviation)]

    def indicators(self) -> np.ndarray:
        return self.y[:, None]

    @property
    def contrasts(self) -> list[np.ndarray]:
        """The counts themselves: the working residual of the model without features, up to a factor."""
        return [standardise(self.y)]

    @property
    def labels(self) -> np.ndarray:
        return self.contrasts[0]

    def describe(self) -> str:
        return f"{self.noun}: from {self.y.min():g} to {self.y.max():g}, mean {self.y.mean():.3g}"


def dispersion_of(y: np.ndarray, mean: np.ndarray) -> float:
    """Of counts with these means, by moments: variance above Poisson's, in squares of the mean; at least 0."""
    return max(0.0, float(((y - mean) ** 2 - mean).sum() / (mean**2).sum()))


def _look_like_counts(values: np.ndarray) -> bool:
    if values.dtype.kind not in "iuf" or values.ndim != 1 or len(values) > MOST_ROWS:
        return False
    distinct, frequency = np.unique(values, return_counts=True)
    if not LEAST_DISTINCT <= len(distinct) <= MOST_DISTINCT or distinct[0] != 0 or frequency.argmax() != 0:
        return False
    if distinct[-1] > LARGEST or (distinct != np.floor(distinct)).any():
        return False
    centred = distinct - np.average(distinct, weights=frequency)
    spread = np.average(centred**2, weights=frequency)
    return bool(np.average(centred**3, weights=frequency) > LEAST_SKEWNESS * spread**1.5)
