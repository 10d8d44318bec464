"""What y is and how it is scored: one class for each kind of response.

A `Response` alone knows how y is encoded, which loss a network has, what a model without features predicts, what a model
leaves unexplained and how people are told of it. The rest of the package asks it and never looks at the name of a task.
A new kind is one subclass and one entry of `KINDS`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax

from grip2.engine.target import Target
from grip2.errors import Grip2Error
from grip2.standardise import standardise


@dataclass(frozen=True, eq=False)
class Response(ABC):
    """An encoded response, one number for each row."""

    y: np.ndarray  # (rows,)

    # What users call this kind: the values of ``task=``.
    task: ClassVar[str]
    # In words: what y is, and what a model explains of it.
    noun: ClassVar[str]
    explained_is: ClassVar[str]
    # Which scikit-learn estimators fit: "regressor" or "classifier".
    estimator_type: ClassVar[str]
    # How a linear model of one of the `contrasts` is fitted: "least squares" or "logistic".
    linear_model: ClassVar[str]
    # True where what a model leaves of y is a response of the same kind; else models are chained by their outputs (logits).
    leaves_residual: ClassVar[bool]
    # True where y may be linear in X with Gaussian noise, as the theorem about fixed-X knockoffs wants it.
    gaussian_noise: ClassVar[bool]

    @classmethod
    @abstractmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        """Are these values of this kind? ``asked``: the user has named the task."""

    @classmethod
    @abstractmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        """From a user's values; raises where they cannot be of this kind."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Outputs of a network, or columns of logits."""

    @staticmethod
    @abstractmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean loss over rows, never negative and 0 for a perfect prediction; ``xp`` is numpy or jax.numpy."""

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

    @property
    def strata(self) -> np.ndarray | None:
        """(rows,) what folds must be balanced in; None: nothing."""
        return None

    @property
    def contrasts(self) -> list[np.ndarray]:
        """Vectors (rows,) for models of one output: y itself, or a 0/1 label of each class against the rest."""
        return list(self.indicators().T)

    @property
    def labels(self) -> np.ndarray:
        """y as scikit-learn estimators of this type take it."""
        return self.y

    def take(self, rows: np.ndarray) -> Self:
        """Some of the rows, in the same units."""
        return replace(self, y=self.y[rows])

    def target(self, logits: np.ndarray | None = None) -> Target:
        """What a network learns; ``logits`` (rows, outputs) are known already."""
        return Target(self.y, type(self).loss, self.n_outputs, logits)

    def mean_loss(self, outputs: np.ndarray) -> float:
        """Loss of given outputs (rows, outputs) or of a constant (outputs,)."""
        return self.target().mean_loss(outputs)

    def working_residual(self, outputs: np.ndarray) -> np.ndarray:
        """(rows, outputs) what a model leaves: minus the gradient of the loss, up to a factor."""
        return np.asarray(self.indicators() - self.mean_of(outputs))

    def __len__(self) -> int:
        return len(self.y)


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

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return True

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        try:
            y = values.astype(np.float64)
        except (TypeError, ValueError):
            raise Grip2Error(f"{who}: regression needs a numeric y, got values such as {values[0]!r}.") from None
        if not np.isfinite(y).all():
            raise Grip2Error(f"{who}: y must be finite, got NaN or infinity.")
        with np.errstate(over="ignore"):
            centre, scale = float(y.mean()), float((y - y.mean()).std())
        return cls(standardise(y), centre, scale)

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

    def describe(self) -> str:
        return self.noun


@dataclass(frozen=True, eq=False)
class _Classes(Response):
    """Class numbers 0..K-1 in ``y``; the deviance of a logistic or softmax model."""

    names: tuple[str, ...] = ()

    task: ClassVar[str] = "classification"
    explained_is: ClassVar[str] = "deviance"
    estimator_type: ClassVar[str] = "classifier"
    linear_model: ClassVar[str] = "logistic"
    leaves_residual: ClassVar[bool] = False
    gaussian_noise: ClassVar[bool] = False

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        classes, numbers_of = np.unique(values, return_inverse=True)
        if len(classes) < 2:
            raise Grip2Error(f"{who}: y holds one class only ({classes[0]!r}), so nothing can be told apart.")
        if len(classes) > max(2, len(values) // 3):
            raise Grip2Error(
                f"{who}: y has {len(classes)} classes in {len(values)} rows (such as {classes[0]!r}): measurements or "
                "identifiers rather than classes. Convert numbers stored as text, or pass task='regression'."
            )
        return cls(numbers_of.astype(np.float64), tuple(str(name) for name in classes))

    def curvature(self, outputs: np.ndarray) -> np.ndarray:
        probability = self.mean_of(outputs)
        return np.asarray(probability * (1.0 - probability))

    @property
    def strata(self) -> np.ndarray | None:
        return self.y

    @property
    def labels(self) -> np.ndarray:
        return self.y.astype(int)

    @property
    def shares(self) -> np.ndarray:
        """(classes,) of the rows."""
        return np.bincount(self.y.astype(int), minlength=len(self.names)) / len(self.y)

    def describe(self) -> str:
        shown = ", ".join(self.names[:5]) + (", ..." if len(self.names) > 5 else "")
        return f"{self.noun}: {shown}"


@dataclass(frozen=True, eq=False)
class TwoClasses(_Classes):
    """Two classes, one logit; binary cross-entropy."""

    noun: ClassVar[str] = "two classes"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return len(np.unique(values)) == 2

    @property
    def n_outputs(self) -> int:
        return 1

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean negative log-likelihood of labels 0/1 for one logit per row."""
        logits = outputs[:, 0]
        return xp.mean(xp.logaddexp(logits, 0.0) - y * logits)

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        counts = self.shares * len(self.y) + prior_rows
        return np.log(counts[1:] / counts[:1])

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(expit(outputs))

    def indicators(self) -> np.ndarray:
        return self.y[:, None]


@dataclass(frozen=True, eq=False)
class SeveralClasses(_Classes):
    """Three classes or more, one logit each; softmax cross-entropy."""

    noun: ClassVar[str] = "several classes"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return asked or values.dtype.kind in "OUSb"

    @property
    def n_outputs(self) -> int:
        return len(self.names)

    @staticmethod
    def loss(outputs: Any, y: Any, xp: Any) -> Any:
        """Mean negative log-likelihood of class numbers for one logit per class."""
        picked = xp.take_along_axis(outputs, y.astype(xp.int32)[:, None], axis=1)[:, 0]
        top = outputs.max(axis=1)  # without it large logits overflow
        return xp.mean(top + xp.log(xp.sum(xp.exp(outputs - top[:, None]), axis=1)) - picked)

    def constant_outputs(self, prior_rows: float = 0.0) -> np.ndarray:
        counts = self.shares * len(self.y) + prior_rows
        return np.asarray(np.log(counts / counts.sum()))

    def mean_of(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(outputs, axis=1))

    def indicators(self) -> np.ndarray:
        return np.asarray((self.y[:, None] == np.arange(len(self.names))).astype(float))


# In the order in which they are tried.
KINDS: tuple[type[Response], ...] = (TwoClasses, SeveralClasses, Measurement)


def share_explained(loss: float, null_loss: float) -> float:
    """Share of the loss without a model that a model removes: held-out R2, or its counterpart for deviance; at least 0."""
    return max(0.0, 1.0 - loss / null_loss) if null_loss > 0 else 0.0


def tasks() -> tuple[str, ...]:
    """What ``task=`` may be, beside "auto"."""
    return tuple(dict.fromkeys(kind.task for kind in reversed(KINDS)))


def response_from(values: np.ndarray, task: str = "auto", *, who: str = "response") -> Response:
    """The response that these values are, by the task named or, for "auto", by what they look like.

    "auto": text, booleans and two distinct values are classes, everything else is a measurement.
    """
    values = np.asarray(values)
    if task not in ("auto", *tasks()):
        raise Grip2Error(f"{who}: task must be one of {', '.join(('auto', *tasks()))}, got {task!r}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise Grip2Error(f"{who}: y must be finite, got NaN or infinity.")
    if task == "auto":
        check_varies(values, who)
    for kind in KINDS:
        if task in ("auto", kind.task) and kind.recognises(values, asked=task == kind.task):
            if task == "auto":
                _warn_of_whole_numbers(values, kind, who)
            return kind.encode(values, who)
    raise AssertionError("the last kind recognises everything")


def check_varies(values: np.ndarray, who: str) -> None:
    """Refuse a response with the same value in every row."""
    if len(np.unique(values)) < 2:
        only = "one class" if values.dtype.kind in "OUSb" else "a constant"
        raise Grip2Error(f"{who}: y is {only} ({values[0]!r} in every row); there is nothing to explain.")


def _warn_of_whole_numbers(values: np.ndarray, kind: type[Response], who: str) -> None:
    n_distinct = len(np.unique(values))
    if kind.estimator_type == "regressor" and values.dtype.kind in "iu" and n_distinct <= 10:
        warnings.warn(
            f"{who}: y has {n_distinct} distinct whole numbers and is treated as {kind.noun} ({kind.task}). "
            "If they are classes, say so: task='classification' (--task classification).",
            UserWarning,
            stacklevel=4,
        )
