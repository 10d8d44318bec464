"""A continuous response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from grip2.errors import Grip2Error
from grip2.responses.base import Response
from grip2.standardise import standardise
from grip2.user_warnings import warn_user

EXACT_WHOLE = 2**53
# Where a value lies beyond ALARMING_SD robust standard deviations of the median, those beyond EXTREME_SD are moved to that
# distance. Skewed distributions such as squares and exponentials of normal ones reach EXTREME_SD, and are left alone, unless a
# few values stand apart: at most one in STANDING_APART rows, ISOLATED times as far from the median as the next one.
ALARMING_SD, EXTREME_SD = 30.0, 10.0
STANDING_APART, ISOLATED = 200, 2.5
ROWS_FOR_SPREAD = 20  # fewer do not tell what is extreme
ROBUST_SD = 1.4826  # standard deviations of a normal distribution in its median absolute deviation
# Squares of values in this range neither overflow nor vanish.
SQUARES_FROM, SQUARES_TO = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class Measurement(Response):
    """A continuous response, to mean 0 and deviation 1; squared error."""

    centre: float = 0.0  # in the user's units
    scale: float = 1.0

    task: ClassVar[str] = "regression"
    noun: ClassVar[str] = "a measurement"
    explained_is: ClassVar[str] = "variance"
    estimator_type: ClassVar[str] = "regressor"
    linear_model: ClassVar[str] = "least squares"
    leaves_residual: ClassVar[bool] = True
    gaussian_noise: ClassVar[bool] = True
    effects_scale: ClassVar[str] = "units of the response"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return values.dtype.names is None

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        y, shift = numbers_of(values, who)
        y = _winsorised(y, who)
        unit = _unit(y)
        y = y / unit if unit != 1.0 else y
        centre, scale = float(y.mean()), float((y - y.mean()).std())
        return cls(standardise(y), centre * unit + shift, scale * unit)

    @classmethod
    def residual(cls, values: np.ndarray, fit_rows: np.ndarray | None = None) -> Self:
        """What a model fitted to some rows (all by default) leaves of a measurement, to mean 0 and deviation 1 on these rows.

        Rows that were not fitted take no part in centre and scale, so that they can judge the model.
        """
        own = values if fit_rows is None else values[fit_rows]
        centre, scale = float(own.mean()), float(own.std())
        return cls((values - centre) / (scale or 1.0), centre, scale)

    @property
    def n_outputs(self) -> int:
        return 1

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean squared error."""
        return xp.mean((outputs[:, 0] - y) ** 2)

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        return np.array([self.y.mean()])

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        return outputs

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        return np.ones_like(outputs)

    def indicators(self) -> np.ndarray:
        return self.y[:, None]

    @property
    def effect_unit(self) -> float:
        return self.scale

    def describe(self) -> str:
        return self.noun


def numbers_of(values: np.ndarray, who: str, task: str = Measurement.task) -> tuple[np.ndarray, int]:
    """Values as finite double-precision numbers, and what was subtracted from them before: 0 but for huge whole numbers.

    Whole numbers beyond 2^53 have no exact double; identifiers and time stamps of this size may differ in their last digits
    only. So their minimum is subtracted first.
    """
    if values.dtype.kind in "iu" and len(values) and max(abs(int(values.min())), abs(int(values.max()))) > EXACT_WHOLE:
        least = int(values.min())
        return np.array([int(value) - least for value in values], dtype=np.float64), least
    try:
        y = values.astype(np.float64)
    except (TypeError, ValueError):
        raise Grip2Error(
            f"{who}: {task} needs a numeric y, got values such as {str(values[0])!r}. Choose a column of numbers, or "
            "leave the task out."
        ) from None
    if not np.isfinite(y).all():
        raise Grip2Error(f"{who}: y must be finite, got NaN or infinity.")
    return y, 0


def _winsorised(y: np.ndarray, who: str) -> np.ndarray:
    """y with values beyond 10 robust standard deviations of the median moved there, if some lie beyond 30 or stand apart.

    Squared error would otherwise be about these rows alone. The bound depends on y only, so no guarantee is touched. Where
    more than half of the rows have one value, the deviation is that of the others.
    """
    if len(y) < ROWS_FOR_SPREAD:
        return y
    middle = float(np.median(y))
    with np.errstate(over="ignore"):
        away = np.abs(y - middle)
    typical = float(np.median(away)) or (float(np.median(away[away > 0])) if away.any() else 0.0)
    limit = EXTREME_SD * ROBUST_SD * typical
    if not np.isfinite(limit) or not _alarming(away, limit):
        return y
    extreme = int(np.count_nonzero(away > limit))
    warn_user(
        f"{who}: {extreme} of {len(y)} values of y lie beyond {EXTREME_SD:g} robust standard deviations of the median, such as "
        f"{_plainly(y[int(np.argmax(away))])} (median {_plainly(middle)}); they are moved to that distance, else they alone "
        "would decide. Correct them if they are wrong; if y has a long tail, take its logarithm, or pass task='counts' for "
        "counts.",
    )
    return np.asarray(np.clip(y, middle - limit, middle + limit))


def _alarming(away: np.ndarray, limit: float) -> bool:
    """Do distances from the median go far beyond the limit, or do a few beyond it stand apart from all others?"""
    if np.any(away > ALARMING_SD / EXTREME_SD * limit):
        return True
    few = max(1, len(away) // STANDING_APART)
    farthest = np.sort(away)[::-1][: few + 1]
    return bool(np.any((farthest[:-1] > limit) & (farthest[:-1] >= ISOLATED * farthest[1:])))


def _plainly(value: float) -> str:
    """A number for people: 48,090 and not 4.809e+04, up to where digits are too many to read."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def _unit(y: np.ndarray) -> float:
    """What y is divided by so that its squares are numbers: 1 but for extremely large or small values."""
    largest = float(np.max(np.abs(y), initial=0.0))
    return 1.0 if largest == 0.0 or SQUARES_FROM < largest < SQUARES_TO else largest
