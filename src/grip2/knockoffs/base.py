"""What a knockoff sampler is: ``fit`` learns the distribution of X, ``sample`` draws knockoffs of given rows.

Samplers never see the response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from grip2._random import stream

_BLOCK_BYTES = 8_000_000


class NumericalRepairWarning(UserWarning):
    """A matrix had to be changed a little before it could be used; the text names by how much and what follows."""


class KnockoffSampler(BaseEstimator, ABC):
    """Base of all samplers.

    A subclass implements ``fit`` (sets ``covariance_``, ``s_`` and ``n_features_in_``, does every
    factorisation once) and ``_sample``. The generator it gets there is a private stream: a caller who seeds
    data and sampler alike is safe.

    After ``fit``, ``assumptions()`` lists in plain words what the false discovery rate guarantee rests on.
    """

    # True where X is a fixed matrix: knockoffs of other rows make no sense, and only statistics that see the
    # data through Gram matrices are covered by a proof.
    fixed_x: ClassVar[bool] = False

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

    def sample(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """One knockoff copy of ``X``: same shape, drawn without looking at any response."""
        who = type(self).__name__
        if not hasattr(self, "n_features_in_"):
            raise ValueError(f"{who}: call fit before sample.")
        X = as_matrix(X, who)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"{who}: fitted on {self.n_features_in_} columns, got an array of shape {X.shape}.")
        return self._sample(X, stream(rng, "knockoffs"))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


def as_matrix(X: object, who: str) -> np.ndarray:
    """X as a matrix of finite numbers; float32 stays float32, everything else becomes float64."""
    matrix = np.asarray(X)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{who}: X must have rows and columns, got an array of shape {matrix.shape}.")
    if matrix.dtype != np.float32:
        try:
            matrix = matrix.astype(float, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{who}: X must hold numbers, got {error}. Encode categories as numbers first.") from None
    for rows in row_blocks(matrix):
        if not np.isfinite(matrix[rows]).all():
            bad = np.flatnonzero(~np.isfinite(matrix[rows]).all(axis=0))
            raise ValueError(
                f"{who}: X must be finite, got NaN or infinity in {column_list(X, bad)}. Impute or drop them first."
            )
    return matrix


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
