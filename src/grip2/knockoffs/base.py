"""The base class of knockoff samplers: ``fit`` learns the distribution of X, ``sample`` draws knockoff copies of given rows.

Samplers never see the response.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._groups import Groups as Groups
from grip2.knockoffs.s_matrix._groups import units_of
from grip2.units import Units

if TYPE_CHECKING:
    from grip2.knockoffs.covariance import ScatterSums

# For every category, the numbers of its 0/1 columns: one for every level except the reference.
Categories = Sequence[Sequence[int]]

_BLOCK_BYTES = 8_000_000  # of one copy of a block of rows, in float64


@dataclass(frozen=True)
class Verdict:
    """Can these knockoffs be trusted on this table? "good", "usable" or "do not trust", and why in sentences."""

    verdict: str
    reasons: tuple[str, ...]


class NumericalRepairWarning(UserWarning):
    """A matrix had to be changed slightly before it could be used; the text says by how much, and the effect on the FDR."""


class KnockoffSampler(BaseEstimator, ABC):
    """Base class of all samplers.

    A subclass implements three methods. ``fit`` sets ``covariance_`` and ends with ``_remember_columns``. ``_sample`` draws
    the knockoffs; its generator is a private stream, so that data simulated from the same seed share no random numbers
    with their knockoffs. ``assumptions`` lists, after ``fit``, what the false discovery rate guarantee rests on, in plain
    words. A sampler that draws one copy only also sets ``s_`` in ``fit``; one that draws several implements ``s_for``.

    What a sampler can do is declared by the class attributes below: callers read them and do not check for a class.
    """

    # True: X is a fixed matrix. Knockoffs exist for the rows of ``fit`` only, and the guarantee is proven only for
    # statistics that use the data through Gram matrices.
    fixed_x: ClassVar[bool] = False
    # True: ``augment_rows`` adds rows to a table that has fewer than ``rows_needed``.
    augments_rows: ClassVar[bool] = False
    # True: ``sample`` draws any number of copies that are jointly exchangeable with X. False: one copy only.
    draws_copies: ClassVar[bool] = False
    # True: ``fit`` takes ``groups`` of columns, and knockoffs are exchangeable unit by unit. False: single columns only.
    draws_groups: ClassVar[bool] = False
    # True: knockoffs of the indicator columns of a category are again indicators of one level. False: ``categories`` of
    # ``fit`` is ignored, and indicators are treated as numbers.
    draws_categories: ClassVar[bool] = False
    # True: ``fit`` takes a table with missing values (NaN), and ``complete`` fills them in.
    completes: ClassVar[bool] = False
    # True: ``fit`` takes a keyword ``progress``. False: it takes too little time to report progress.
    reports_progress: ClassVar[bool] = False
    # True: ``fit`` judges its knockoffs, and takes a keyword ``one_of_each``: the numbers of rows that are independent of each
    # other, one of each cluster, to judge them on. False: nothing is judged.
    judges: ClassVar[bool] = False

    covariance_: np.ndarray
    n_features_in_: int
    units_: Units
    # Weight on zero correlation in an estimated covariance; None: it was not estimated.
    shrinkage_: float | None = None

    # State after construction; ``_remember_columns`` changes both.
    _fitted: bool = False
    _fitted_names: list[str] | None = None

    @abstractmethod
    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        """Learn what ``sample`` needs. ``y`` is ignored; scikit-learn's pipelines pass it.

        ``groups`` holds a label for every column: columns with the same label form a unit. None: every column is a unit.
        ``categories`` holds, for every category, the numbers of its 0/1 columns: one for every level except the reference.
        The columns of a category lie in one unit.
        """

    @abstractmethod
    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        """(copies, n, p) knockoff copies of the rows of ``X``; ``copies`` is 1 unless ``draws_copies`` is True."""

    @abstractmethod
    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""

    def verdict(self, *, lines_only: bool = False, explained: float | None = None) -> Verdict | None:
        """The verdict of responses simulated on the rows of ``fit``; None: none were simulated.

        ``lines_only``: for a statistic that models straight lines only. ``explained``: the share of the response that is
        explained on held-out rows, None if it is not known.
        """
        return None

    @property
    def unjudged(self) -> str:
        """Why a sampler that ``judges`` has no verdict on the table of ``fit``; empty where it has one."""
        return ""

    @property
    def refines(self) -> bool:
        """After a ``fit`` to some rows: can the covariance be taken from all rows, by ``scores`` and ``refine``?"""
        return False

    def scores(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """(n, p) centred scores of complete rows, from whose covariance knockoffs are made; of a sampler that ``refines``."""
        raise NotImplementedError

    def refine(self, sums: ScatterSums) -> None:
        """Take the covariance from the ``scores`` of all rows; marginal distributions stay those of ``fit``."""
        raise NotImplementedError

    def rows_needed(self, p: int) -> int:
        """The fewest rows from which knockoffs of ``p`` columns can be sampled; 0 where there is no such limit."""
        return 0

    def augment_rows(self, X: np.ndarray, y: np.ndarray, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The data to fit and score: extended to ``rows_needed`` where ``augments_rows`` is True, else unchanged.

        Added rows carry Gaussian noise in ``y``: call this only for a response with Gaussian noise.
        """
        return X, y

    def complete(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """X with missing values (NaN) drawn from the fitted model given all observed values of their rows.

        Knockoffs of the completed table are exchangeable with it if the model is right and values are missing completely at
        random. A complete table is returned as it is, without using random numbers.
        """
        if not np.isnan(X).any():
            return X
        if not self.completes:
            raise Grip2Error(
                f"{type(self).__name__}: this sampler cannot complete missing values. Use CopulaKnockoffs, which can, or fill "
                "them in first."
            )
        return self._complete(X, stream(rng, "missing values"))

    def _complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The completed table of a sampler that ``completes``."""
        raise NotImplementedError

    def sample(self, X: np.ndarray, *, rng: np.random.Generator, copies: int = 1) -> np.ndarray:
        """Knockoff copies of ``X``, drawn without looking at any response: (n, p) for one, (copies, n, p) for several.

        Several copies are drawn together: permuting the members of a unit, its original among them, does not change the
        joint distribution. Copies of separate calls are independent given X and do not have this property.
        """
        who = type(self).__name__
        self.check_can_draw(copies=copies)
        if not self._fitted:
            raise Grip2Error(f"{who}: call fit before sample.")
        self._check_names(X, who)
        X = as_matrix(X, who)
        if X.shape[1] != self.n_features_in_:
            raise Grip2Error(f"{who}: fitted on {self.n_features_in_} columns, got an array of shape {X.shape}.")
        drawn = self._sample(X, stream(rng, "knockoffs"), int(copies))
        return np.asarray(drawn[0] if copies == 1 else drawn)

    def check_can_draw(self, *, copies: int = 1, groups: Groups = None) -> None:
        """Raise if this sampler cannot draw that many copies, or takes no groups; possible before ``fit``."""
        who = type(self).__name__
        if not isinstance(copies, numbers.Integral) or isinstance(copies, bool) or copies < 1:
            raise Grip2Error(f"{who}: copies must be a whole number of at least 1, got {copies!r}.")
        if copies > 1 and not self.draws_copies:
            what = "fixed-X knockoffs exist for one copy only" if self.fixed_x else "this sampler draws one copy only"
            raise Grip2Error(
                f"{who}: {what}, got copies={copies}. Use copies=1, or GaussianKnockoffs or CopulaKnockoffs, "
                "which draw several."
            )
        if groups is not None and not self.draws_groups:
            raise Grip2Error(
                f"{who}: this sampler draws knockoffs of single columns only, got groups. Leave groups out, or use "
                "GaussianKnockoffs or CopulaKnockoffs, which take them."
            )

    @property
    def s_(self) -> np.ndarray:
        """``s_for(1)``: S in ``Cov(X, Xk) = Sigma - S`` of a single copy."""
        return self.s_for(1)

    @s_.setter
    def s_(self, s: np.ndarray) -> None:
        self._s_of_one_copy = s

    def s_for(self, copies: int = 1) -> np.ndarray:
        """S for this number of copies: its diagonal (p,) for single columns, with groups the block-diagonal matrix (p, p)."""
        self.check_can_draw(copies=copies)
        return self._s_of_one_copy

    def own_correlation(self, copies: int = 1) -> np.ndarray:
        """(p,) correlation of every column with its own knockoff, ``1 - S_jj / Sigma_jj``: near 1 means no power.

        More copies need a smaller S, so it grows with ``copies``. On the scale on which the sampler works: normal scores
        for copula knockoffs.
        """
        s = self.s_for(copies)
        return np.asarray(1.0 - (s if s.ndim == 1 else np.diag(s)) / np.diag(self.covariance_))

    def correlations_of(self, columns: np.ndarray) -> np.ndarray:
        """(columns, p) correlations of some columns with all, on the scale on which the sampler works."""
        scale = np.sqrt(np.diag(self.covariance_))
        return np.asarray(self.covariance_[columns] / np.outer(scale[columns], scale))

    def _remember_columns(self, X: object, p: int, units: Units | None = None) -> None:
        """Mark the sampler as fitted to these columns: ``sample`` refuses a table with other names or another order."""
        self.n_features_in_ = p
        self.units_ = Units.single(p) if units is None else units
        self._fitted_names = _column_names(X)
        self._fitted = True

    def _about_units(self) -> list[str]:
        """One sentence for ``assumptions`` if units have several columns."""
        if self.units_.all_single:
            return []
        return [
            "Knockoffs are exchangeable with X unit by unit, not column by column: what is found is a unit, and not which "
            "of its columns."
        ]

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


def as_matrix(X: object, who: str, *, name: str = "X", missing: bool = False) -> np.ndarray:
    """X as a matrix of finite numbers; float32 stays float32, everything else becomes float64.

    Error messages call the matrix ``name``. ``missing``: NaN is allowed.
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
        bad = np.flatnonzero((np.isinf(matrix[block]) if missing else ~np.isfinite(matrix[block])).any(axis=0))
        if len(bad):
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


def units_of_columns(groups: Groups, p: int, who: str) -> Units:
    """The units of p columns: those given, one for every label, or every column by itself."""
    try:
        units = units_of(groups, p)
    except Grip2Error as error:
        raise Grip2Error(f"{who}: {error}") from None
    return Units.single(p) if units is None else units


def row_blocks(X: np.ndarray, copies: int = 1) -> Iterator[slice]:
    """Slices of consecutive rows, so short that a few float64 arrays for each copy of a block need little memory beside X."""
    step = max(64, _BLOCK_BYTES // (8 * X.shape[1] * copies))
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))
