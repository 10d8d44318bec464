"""What every kind of response knows of itself: `Response`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from grip2.engine.target import Target


@dataclass(frozen=True, eq=False)
class Response(ABC):
    """An encoded response; ``y`` is one number for each row, as a model of measurements may take it."""

    y: np.ndarray  # (rows,)

    # What users call this kind: the values of ``task=``.
    task: ClassVar[str]
    # In words: what y is, and what a model explains of it.
    noun: ClassVar[str]
    explained_is: ClassVar[str]
    # Which scikit-learn estimators fit: "regressor" or "classifier".
    estimator_type: ClassVar[str]
    # How a linear model is fitted: "least squares" or "logistic", to each of the `contrasts`, or "likelihood", to the one
    # output by the loss of the response.
    linear_model: ClassVar[str]
    # True where what a model leaves of y is a response of the same kind; else models are chained by their outputs (logits).
    leaves_residual: ClassVar[bool]
    # True where y may be linear in X with Gaussian noise, as the theorem about fixed-X knockoffs wants it.
    gaussian_noise: ClassVar[bool]
    # True where the `contrasts` are labels 0/1 that the signs of latent measurements may stand for.
    latent_labels: ClassVar[bool] = False
    # True where a model of measurements gains from the `working_responses` at a first fit.
    has_working_response: ClassVar[bool] = False
    # In words: the scale on which effects of features are described.
    effects_scale: ClassVar[str] = "standard deviations of the working response"

    @classmethod
    @abstractmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        """Are these values, as `rows_of` returns them, of this kind? ``asked``: the user has named the task."""

    @classmethod
    @abstractmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        """From a user's values, as `rows_of` returns them; raises where they cannot be of this kind."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Outputs of a network, or columns of logits."""

    @staticmethod
    @abstractmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean loss over rows: squared error or half a deviance; ``y`` is the `loss_input`, ``xp`` is numpy or jax.numpy."""

    @abstractmethod
    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        """(outputs,) the best prediction without features, after so many rows of prior for each class."""

    @abstractmethod
    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        """(rows, outputs) expected `indicators` under a model with these outputs."""

    @abstractmethod
    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        """(rows, outputs) second derivative of the loss of a row in each output, up to the factor of `working_residual`."""

    @abstractmethod
    def indicators(self) -> np.ndarray:
        """(rows, outputs) y as the columns that outputs predict."""

    @abstractmethod
    def describe(self) -> str:
        """The response in words, for a report."""

    def describe_part(self, expected: Callable[[np.ndarray], float]) -> str:
        """What a random part of the rows holds, in words; ``expected`` is the mean sum of values (rows,) over such a part."""
        return ""

    @property
    def loss_input(self) -> np.ndarray:
        """(rows,) or (rows, numbers) what the loss has to know of every row: y, unless a kind needs more."""
        return self.y

    @property
    def strata(self) -> np.ndarray | None:
        """(rows,) what folds must be balanced in; None: nothing."""
        return None

    @property
    def contrasts(self) -> list[np.ndarray]:
        """Vectors (rows,) for models of one output: y itself, or a 0/1 label of each class against the rest."""
        return list(self.indicators().T)

    @property
    def contrast_names(self) -> tuple[str, ...]:
        """What a label 1 of each of the `contrasts` stands for; empty where they are no labels."""
        return ("",)

    @property
    def effect_unit(self) -> float:
        """How much one unit of y is on the scale on which effects are described."""
        return 1.0

    @property
    def labels(self) -> np.ndarray:
        """y as scikit-learn estimators of this type take it."""
        return self.y

    def take(self, rows: np.ndarray) -> Self:
        """Some of the rows, in the same units."""
        return replace(self, y=self.y[rows])

    def target(self, logits: np.ndarray | None = None) -> Target:
        """What a network learns; ``logits`` (rows, outputs) are known already."""
        return Target(self.loss_input, type(self).loss, self.n_outputs, logits)

    def mean_loss(self, outputs: np.ndarray) -> float:
        """Loss of given outputs (rows, outputs) or of a constant (outputs,)."""
        return self.target().mean_loss(outputs)

    def working_residual(self, outputs: np.ndarray) -> np.ndarray:
        """(rows, outputs) what a model leaves: minus the gradient of the loss, up to a factor."""
        return np.asarray(self.indicators() - self.mean_of(outputs))

    def working_responses(self, outputs: np.ndarray) -> list[np.ndarray]:
        """Vectors (rows,) of measurements with noise of about equal variance, to which a model of measurements may be fitted.

        Where there are any, they are the step to the optimum of the likelihood from a fit with these outputs, so that small
        errors of that fit do not matter. The `contrasts`, which need no fit, for kinds without.
        """
        return self.contrasts

    def outputs_of_chances(self, chances: np.ndarray) -> np.ndarray:
        """(rows, outputs) for given chances (rows, contrasts) of a label 1, where there are `latent_labels`."""
        raise NotImplementedError

    def latent_order(self, rng: np.random.Generator) -> np.ndarray:
        """(rows,) numbers of the rows by a measurement that may stand behind y, lowest first.

        A simulated response deals the values of y out to other rows in this order. ``rng`` is for kinds without an order.
        """
        return np.argsort(self.y, kind="stable")

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class LikelihoodResponse(Response):
    """A response with one output and a likelihood of its own, which penalised linear models maximise."""

    explained_is: ClassVar[str] = "deviance"
    estimator_type: ClassVar[str] = "regressor"
    linear_model: ClassVar[str] = "likelihood"
    leaves_residual: ClassVar[bool] = False
    gaussian_noise: ClassVar[bool] = False

    @property
    def n_outputs(self) -> int:
        return 1


def share_explained(loss: float, null_loss: float) -> float:
    """Share of the loss without a model that a model removes: held-out R2, or its counterpart for deviance; at least 0."""
    return max(0.0, 1.0 - loss / null_loss) if null_loss > 0 else 0.0
