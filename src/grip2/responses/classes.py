"""Classes without order: two, or several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit, softmax

from grip2.errors import Grip2Error
from grip2.responses.base import Response
from grip2.user_warnings import warn_user

# Folds of cross-validation, in most statistics: a class with fewer rows is missing in some of them.
ROWS_FOR_FOLDS = 5
NAMES_SHOWN = 5


def numbered_classes(values: np.ndarray, who: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class numbers (rows,) in sorted order, and the names; raises where these cannot be classes, warns of small ones."""
    classes, numbers = np.unique(values, return_inverse=True)
    check_classes([str(name) for name in classes], numbers, who)
    return numbers.astype(np.float64), tuple(str(name) for name in classes)


def check_classes(names: list[str], numbers: np.ndarray, who: str) -> None:
    """Refuse a single class, and as many classes as identifiers have; warn of classes too small for folds, all at once."""
    n_rows = len(numbers)
    if len(names) < 2:
        raise Grip2Error(f"{who}: y holds one class only ({names[0]!r}), so nothing can be told apart.")
    if len(names) > max(2, n_rows // 3):
        raise Grip2Error(
            f"{who}: y has {len(names)} classes in {n_rows} rows (such as {names[0]!r}): measurements or "
            "identifiers rather than classes. Convert numbers stored as text, or pass task='regression'."
        )
    sizes = np.bincount(numbers.astype(int), minlength=len(names))
    small = np.flatnonzero(sizes < ROWS_FOR_FOLDS)
    if len(small):
        listed = ", ".join(f"{names[k]!r} ({sizes[k]} row{'s' if sizes[k] > 1 else ''})" for k in small)
        warn_user(
            f"{who}: y has classes with fewer than {ROWS_FOR_FOLDS} rows, too few for cross-validation: {listed}. Models "
            "learn little or nothing of them; merge them with others or drop their rows.",
        )


def named(noun: str, names: tuple[str, ...], separator: str = ", ") -> str:
    """A kind with the names of its classes, for a report."""
    shown = separator.join(names[:NAMES_SHOWN]) + (f"{separator}..." if len(names) > NAMES_SHOWN else "")
    return f"{noun}: {shown}"


def shares_of(y: np.ndarray, n_classes: int) -> np.ndarray:
    """(classes,) of the rows."""
    return np.asarray(np.bincount(y.astype(int), minlength=n_classes) / len(y))


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
    latent_labels: ClassVar[bool] = True
    effects_scale: ClassVar[str] = "latent measurement behind the class (probit), whose noise has deviation 1"

    @classmethod
    def encode(cls, values: np.ndarray, who: str) -> Self:
        return cls(*numbered_classes(values, who))

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
        return shares_of(self.y, len(self.names))

    def describe(self) -> str:
        return named(self.noun, self.names)


@dataclass(frozen=True, eq=False)
class TwoClasses(_Classes):
    """Two classes, one logit; binary cross-entropy."""

    noun: ClassVar[str] = "two classes"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return values.dtype.names is None and len(np.unique(values)) == 2

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

    def outputs_of_chances(self, chances: np.ndarray) -> np.ndarray:
        return np.asarray(logit(chances))

    @property
    def contrast_names(self) -> tuple[str, ...]:
        return self.names[1:]

    def indicators(self) -> np.ndarray:
        return self.y[:, None]


@dataclass(frozen=True, eq=False)
class SeveralClasses(_Classes):
    """Three classes or more, one logit each; softmax cross-entropy."""

    noun: ClassVar[str] = "several classes"

    @classmethod
    def recognises(cls, values: np.ndarray, *, asked: bool) -> bool:
        return values.dtype.names is None and (asked or values.dtype.kind in "OUSb")

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

    def outputs_of_chances(self, chances: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(chances))

    def latent_order(self, rng: np.random.Generator) -> np.ndarray:
        """Class by class, the classes in random order."""
        return np.argsort(rng.permutation(len(self.names))[self.y.astype(int)], kind="stable")

    @property
    def contrast_names(self) -> tuple[str, ...]:
        return self.names

    def indicators(self) -> np.ndarray:
        return np.asarray((self.y[:, None] == np.arange(len(self.names))).astype(float))
