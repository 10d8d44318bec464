"""The base class of knockoff samplers: ``fit`` learns the distribution of X, ``sample`` draws knockoffs of given rows.

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
    """A matrix had to be changed slightly before it could be used; the text says by how much, and the effect on the FDR."""


class KnockoffSampler(BaseEstimator, ABC):
    """Base class of all samplers.

    A subclass implements three methods. ``fit`` sets ``covariance_`` and ``s_``, does every factorisation once and ends
    with ``_remember_columns``. ``_sample`` draws the knockoffs; its generator is a private stream, so that data simulated
    from the same seed share no random numbers with their knockoffs. ``assumptions`` lists, after ``fit``, what the
    false discovery rate guarantee rests on, in plain words.

    What a sampler can do is declared by the class attributes below; callers read them and never ask for the class.
    """

    # True: X is a fixed matrix. Knockoffs exist for the rows of ``fit`` only, and the guarantee is proven only for
    # statistics that use the data through Gram matrices.
    fixed_x: ClassVar[bool] = False
    # True: ``augment_rows`` adds rows to a table that has fewer than ``rows_needed``.
    augments_rows: ClassVar[bool] = False

    covariance_: np.ndarray
    s_: np.ndarray
    n_features_in_: int

    # State after construction; ``_remember_columns`` changes both.
    _fitted: bool = False
    _fitted_names: list[str] | None = None

    @abstractmethod
    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn what ``sample`` needs. ``y`` is ignored; scikit-learn's pipelines pass it."""

    @abstractmethod
    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw knockoffs of the rows of ``X``."""

    @abstractmethod
    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""

    def rows_needed(self, p: int) -> int:
        """The fewest rows from which knockoffs of ``p`` columns can be sampled; 0 where there is no such limit."""
        return 0

    def augment_rows(self, X: np.ndarray, y: np.ndarray, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The data to fit and score: extended to ``rows_needed`` where ``augments_rows`` is True, else unchanged.

        Added rows carry Gaussian noise in ``y``: call this only for a response with Gaussian noise.
        """
        return X, y

    def sample(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """One knockoff copy of ``X``: same shape, drawn without looking at any response."""
        who = type(self).__name__
        if not self._fitted:
            raise Grip2Error(f"{who}: call fit before sample.")
        self._check_names(X, who)
        X = as_matrix(X, who)
        if X.shape[1] != self.n_features_in_:
            raise Grip2Error(f"{who}: fitted on {self.n_features_in_} columns, got an array of shape {X.shape}.")
        return self._sample(X, stream(rng, "knockoffs"))

    def _remember_columns(self, X: object, p: int) -> None:
        """Mark the sampler as fitted on these columns; ``sample`` refuses a table with other names or another order."""
        self.n_features_in_ = p
        self._fitted_names = _column_names(X)
        self._fitted = True

    def _check_names(self, X: object, who: str) -> None:
        fitted, given = self._fitted_names, _column_names(X)
        if fitted is None or given is None or len(fitted) != len(given) or fitted == given:
            return
        j = next(j for j, (a, b) in enumerate(zip(fitted, given, strict=True)) if a != b)
        hint = " Reorder the columns as in fit." if sorted(fitted) == sorted(given) else ""
        raise Grip2Error(
            f"{who}: columns must be those of fit in the same order, got {given[j]!r} at position {j}, where fit had "
            f"{fitted[j]!r}.{hint}"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted


def as_matrix(X: object, who: str, *, name: str = "X") -> np.ndarray:
    """X as a matrix of finite numbers; float32 stays float32, everything else becomes float64.

    Error messages call the matrix ``name``.
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
    for block in row_blocks(matrix):
        if not np.isfinite(matrix[block]).all():
            bad = np.flatnonzero(~np.isfinite(matrix[block]).all(axis=0))
            raise Grip2Error(
                f"{who}: {name} must be finite, got NaN or infinity in {column_list(X, bad)}. Impute or drop them first."
            )
    return matrix


def _refuse_missing(X: object, matrix: np.ndarray, who: str, name: str) -> None:
    """Raise where the matrix holds None or pandas' NA, which NumPy cannot turn into numbers."""
    missing = np.frompyfunc(lambda value: value is None or type(value).__name__ == "NAType", 1, 1)
    bad = np.flatnonzero(missing(matrix).astype(bool).any(axis=0))
    if len(bad):
        raise Grip2Error(
            f"{who}: {name} must be finite, got missing values in {column_list(X, bad)}. Impute or drop them first."
        )


def refuse_constant(X: object, constant: np.ndarray, who: str) -> None:
    """Raise if any column is marked in the mask ``constant``: every knockoff of a constant column equals it."""
    columns = np.flatnonzero(constant)
    if len(columns):
        what, remedy = ("a constant", "Drop it.") if len(columns) == 1 else ("constant", "Drop them.")
        raise Grip2Error(f"{who}: every column must vary, got {what} {column_list(X, columns)}. {remedy}")


def _column_names(X: object) -> list[str] | None:
    names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def column_list(X: object, columns: np.ndarray, limit: int = 5) -> str:
    """The columns as an error message lists them: by name if X is a data frame, by position otherwise."""
    names = getattr(X, "columns", None)
    shown = [str(names[j]) if names is not None else str(j) for j in columns[:limit]]
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return f"column{'s' if len(columns) > 1 else ''} {', '.join(shown)}{more}"


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices of consecutive rows, each so small that a few float64 copies of it need little memory beside X."""
    step = max(64, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))
