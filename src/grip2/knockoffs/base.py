"""What a knockoff sampler is: ``fit`` learns the distribution of X, ``sample`` draws knockoffs of given rows.

Samplers never see the response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from grip2._random import stream
from grip2.errors import Grip2Error

_BLOCK_BYTES = 8_000_000


class NumericalRepairWarning(UserWarning):
    """A matrix had to be changed a little before it could be used; the text names by how much and what follows."""


class KnockoffSampler(BaseEstimator, ABC):
    """Base of all samplers.

    A subclass implements ``fit`` (sets ``covariance_`` and ``s_``, calls ``_remember_columns``, does every
    factorisation once) and ``_sample``. The generator it gets there is a private stream: a caller who seeds
    data and sampler alike is safe.

    After ``fit``, ``assumptions()`` lists in plain words what the false discovery rate guarantee rests on.
    """

    # True where X is a fixed matrix: knockoffs of other rows make no sense, and only statistics that see the
    # data through Gram matrices are covered by a proof.
    fixed_x: ClassVar[bool] = False

    # True where `augment_rows` may add rows, because the construction needs more of them than X may have.
    augments_rows: ClassVar[bool] = False

    covariance_: np.ndarray
    s_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn what is needed to sample; ``y`` is ignored, for scikit-learn's sake."""

    @abstractmethod
    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw knockoffs of the rows of ``X``."""

    @abstractmethod
    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""

    def augment_rows(self, X: np.ndarray, y: np.ndarray, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The data with rows added until the construction has enough; unchanged where ``augments_rows`` is False."""
        return X, y

    def sample(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """One knockoff copy of ``X``: same shape, drawn without looking at any response."""
        who = type(self).__name__
        if not hasattr(self, "n_features_in_"):
            raise Grip2Error(f"{who}: call fit before sample.")
        self._check_names(X, who)
        X = as_matrix(X, who)
        if X.shape[1] != self.n_features_in_:
            raise Grip2Error(f"{who}: fitted on {self.n_features_in_} columns, got an array of shape {X.shape}.")
        return self._sample(X, stream(rng, "knockoffs"))

    def _remember_columns(self, X: object, p: int) -> None:
        """Number and names of the columns of ``fit``: ``sample`` refuses a table with other ones, or in another order."""
        self.n_features_in_ = p
        self._names = _column_names(X)

    def _check_names(self, X: object, who: str) -> None:
        fitted, given = getattr(self, "_names", None), _column_names(X)
        if fitted is None or given is None or len(fitted) != len(given) or fitted == given:
            return
        j = next(j for j, (a, b) in enumerate(zip(fitted, given, strict=True)) if a != b)
        hint = " Reorder the columns as in fit." if sorted(fitted) == sorted(given) else ""
        raise Grip2Error(
            f"{who}: columns must be those of fit in the same order, got {given[j]!r} at position {j}, where fit had "
            f"{fitted[j]!r}.{hint}"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


def as_matrix(X: object, who: str, *, name: str = "X") -> np.ndarray:
    """X as a matrix of finite numbers; float32 stays float32, everything else becomes float64.

    ``name`` is what error messages call it.
    """
    if issparse(X):
        raise Grip2Error(f"{who}: {name} must be a dense array, got a sparse one. Convert it: {name}.toarray().")
    matrix = np.asarray(X)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise Grip2Error(f"{who}: {name} must have rows and columns, got an array of shape {matrix.shape}.")
    if np.iscomplexobj(matrix):
        raise Grip2Error(f"{who}: {name} must hold real numbers, got complex ones. Split them into two columns each.")
    if matrix.dtype == object:
        _refuse_missing(X, matrix, who, name)
    if matrix.dtype != np.float32:
        try:
            matrix = matrix.astype(float, copy=False)
        except (TypeError, ValueError) as error:
            raise Grip2Error(
                f"{who}: {name} must hold numbers, got {error}. Encode categories as numbers first."
            ) from None
    for rows in row_blocks(matrix):
        if not np.isfinite(matrix[rows]).all():
            bad = np.flatnonzero(~np.isfinite(matrix[rows]).all(axis=0))
            raise Grip2Error(
                f"{who}: {name} must be finite, got NaN or infinity in {column_list(X, bad)}. Impute or drop them first."
            )
    return matrix


def _refuse_missing(X: object, matrix: np.ndarray, who: str, name: str) -> None:
    """None and pandas' NA, which numpy cannot turn into numbers."""
    missing = np.frompyfunc(lambda value: value is None or type(value).__name__ == "NAType", 1, 1)
    bad = np.flatnonzero(missing(matrix).astype(bool).any(axis=0))
    if len(bad):
        raise Grip2Error(
            f"{who}: {name} must be finite, got missing values in {column_list(X, bad)}. Impute or drop them first."
        )


def refuse_constant(X: object, constant: np.ndarray, who: str) -> None:
    """Raises where the mask ``constant`` names a column: it has no knockoff that differs from it."""
    columns = np.flatnonzero(constant)
    if len(columns):
        what, remedy = ("a constant", "Drop it.") if len(columns) == 1 else ("constant", "Drop them.")
        raise Grip2Error(f"{who}: every column must vary, got {what} {column_list(X, columns)}. {remedy}")


def _column_names(X: object) -> list[str] | None:
    names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def column_list(X: object, columns: np.ndarray, limit: int = 5) -> str:
    """Columns for an error message: by name where X is a data frame, by position otherwise."""
    names = getattr(X, "columns", None)
    shown = [str(names[j]) if names is not None else str(j) for j in columns[:limit]]
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(shown)}{more}"


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices of rows small enough that a few float64 copies of a block are nothing beside X."""
    step = max(64, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))
