"""Classes with an order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from grip2.errors import Grip2Error
from grip2.responses.base import LikelihoodResponse
from grip2.responses.classes import check_classes, named, numbered_classes, shares_of
from grip2.responses.given import RANKS
from grip2.standardise import standardise

# Stands for infinity where a threshold of the lowest or the highest class would be: exp(-40) is 0 beside 1.
BEYOND = 40.0


@dataclass(frozen=True, eq=False)
class OrderedClasses(LikelihoodResponse):
    """Ordered classes 0..K-1; the likelihood of proportional odds: ``logit P(class <= k) = threshold_k - output``.

    Thresholds are those of the model without features, where the gradient of the likelihood is the centred ridit, the share
    of rows in lower classes minus that in higher ones.
    """

    names: tuple[str, ...] = ()
    thresholds: tuple[float, ...] = ()  # (classes + 1,), the first and the last beyond all outputs

    task: ClassVar[str] = "ordered"
    noun: ClassVar[str] = "ordered classes"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return asked or values.dtype == RANKS

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        if values.dtype == RANKS:
            ranks, first = np.unique(values["rank"], return_index=True)
            y, names = values["rank"].astype(np.float64), tuple(str(name) for name in values["label"][first])
            y = np.searchsorted(ranks, y).astype(np.float64)
            check_classes(list(names), y, who)
        elif values.dtype.kind in "iufb":
            y, names = numbered_classes(values, who)
        else:
            raise Grip2Error(
                f"{who}: the order of classes such as {str(values[0])!r} is not known. Give numbers, or a pandas Categorical "
                "with ordered=True, whose categories are in order."
            )
        up_to = np.cumsum(shares_of(y, len(names)))[:-1]
        return cls(y, names, (-BEYOND, *(float(t) for t in np.log(up_to / (1.0 - up_to))), BEYOND))

    @property
    def loss_input(self) -> np.ndarray:
        """(rows, 2) the thresholds below and above the class."""
        number, all_thresholds = self.y.astype(int), np.array(self.thresholds)
        return np.column_stack([all_thresholds[number], all_thresholds[number + 1]])

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean negative log-likelihood: of ``expit(upper - output) - expit(lower - output)``."""
        lower, upper, output = y[:, 0], y[:, 1], outputs[:, 0]
        between = xp.log(-xp.expm1(lower - upper))
        return xp.mean(xp.logaddexp(0.0, output - upper) + xp.logaddexp(0.0, lower - output) - between)

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        """Where the gradient vanishes; 0 for the rows that the thresholds are those of."""
        shares, middle = shares_of(self.y, len(self.names)), 0.0
        counts = shares * len(self.y) + prior_rows
        lower, upper = np.array(self.thresholds[:-1]), np.array(self.thresholds[1:])
        low, high = -BEYOND, BEYOND
        for _ in range(100):  # the gradient falls in the output
            middle = 0.5 * (low + high)
            rises = counts @ (expit(lower - middle) - expit(middle - upper)) > 0
            low, high = (middle, high) if rises else (low, middle)
        return np.array([middle])

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        """Expected class numbers: the sum over thresholds of the chance of a class above."""
        inner = np.array(self.thresholds[1:-1])
        return np.asarray(expit(outputs - inner).sum(axis=1, keepdims=True))

    def working_residual(self, outputs: np.ndarray) -> np.ndarray:
        lower, upper = self.loss_input.T[:, :, None]
        return np.asarray(expit(lower - outputs) - expit(outputs - upper))

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        lower, upper = self.loss_input.T[:, :, None]
        below, above = expit(lower - outputs), expit(outputs - upper)
        return np.asarray(below * (1.0 - below) + above * (1.0 - above))

    def indicators(self) -> np.ndarray:
        return self.y[:, None]

    @property
    def contrasts(self) -> list[np.ndarray]:
        """Ridits: the working residual of the model without features."""
        return [standardise(self.working_residual(np.zeros((len(self.y), 1)))[:, 0])]

    @property
    def labels(self) -> np.ndarray:
        return self.contrasts[0]

    @property
    def strata(self) -> np.ndarray | None:
        return self.y

    def take(self, rows: np.ndarray) -> Self:
        return replace(self, y=self.y[rows])

    def describe(self) -> str:
        return named(self.noun, self.names, " < ")
