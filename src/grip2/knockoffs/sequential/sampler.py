"""Sequential knockoffs: drawn unit after unit from fitted conditional distributions, for tables of numbers and categories."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from grip2._random import generator_from, stream
from grip2.blas_threads import one_blas_thread
from grip2.errors import Grip2Error, did_you_mean
from grip2.knockoffs.base import (
    Categories,
    Groups,
    as_matrix,
    column_list,
    refuse_constant,
    row_blocks,
    units_of_columns,
)
from grip2.knockoffs.conditional import JointCopiesSampler, KnockoffLaws
from grip2.knockoffs.covariance import shrunk_covariance, stabilised
from grip2.knockoffs.sequential.boosted import RowHalves
from grip2.knockoffs.sequential.chain import Chain, Noise, Scale
from grip2.knockoffs.sequential.completion import learn_completion
from grip2.knockoffs.sequential.learning import learn_chain
from grip2.knockoffs.sequential.parts import make_plan

MODELS = ("linear", "trees")
# Models are learnt from at most this many rows, and knockoffs drawn for at most _BLOCK rows at once.
_FIT_ROWS = 20_000
_BLOCK = 8_192


class SequentialKnockoffs(JointCopiesSampler):
    """Knockoffs drawn column after column, each from a fitted model given all other columns and the knockoffs drawn before.

    Sequential conditional exchangeable pairs (Candes et al. 2018; Bates et al. 2021; several copies: Gimenez and Zou 2019).
    The models match second moments of the columns as they are, whatever their distributions: continuous numbers get a linear
    regression with resampled residuals; discrete numbers, 0/1 columns, numbers with a value that many rows share, and
    continuous numbers whose regression would leave their range get an exponential tilt of their observed values; categories
    get a multinomial logistic regression.

    Parameters
    ----------
    s : {"mvr", "maxent", "sdp", "equi"} or array
        The solver that chooses the S to aim at, or its values: the diagonal, or with groups the block-diagonal matrix.
    model : {"linear", "trees"}
        "trees" adds to the predictors of every number a cross-fitted prediction by boosted trees, for dependence that is
        not linear. Much slower.
    keep_values : bool
        Knockoffs of categories are always categories. True: knockoffs of all tilted columns take observed values only. False:
        such a column is drawn by regression, with values that were not observed, if observed values would leave less than
        60 % of the S aimed at. This happens where columns nearly determine each other (a count that is 0 exactly where
        another is 0): it gains power, at the price that only second moments match there.

    Attributes
    ----------
    covariance_ : covariance of the columns (of the completed table, if values were missing).
    s_ : S that one copy has, estimated from the realisation of the knockoffs with which the models were learnt;
        ``s_for(copies)`` gives it for several copies.
    units_ : the units of columns.

    Notes
    -----
    Why the members of a unit are exchangeable, if the models are right: given all other units and their copies drawn so far,
    the quantiles of all members of a unit, as normal scores, are jointly normal with one correlation, and every member is the
    same function of its quantile, so the joint distribution is symmetric in them. Later units are drawn from models that are
    symmetric in the members of earlier ones. The correlation shares S out among the units: if copies did not depend on their
    original, the units drawn first would get a large S and the last ones almost none.

    The order of units is random but the same in every fit. Models are learnt when a number of copies is first asked for, by
    ``sample`` or ``s_for``; a sampler that is pickled afterwards keeps them.
    """

    draws_categories: ClassVar[bool] = True
    completes: ClassVar[bool] = True

    def __init__(self, s: str | np.ndarray = "mvr", model: str = "linear", keep_values: bool = False) -> None:
        self.s = s
        self.model = model
        self.keep_values = keep_values

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        """Choose the order of units and the kind of every model, and complete missing values; models are learnt later."""
        who = type(self).__name__
        if self.model not in MODELS:
            raise Grip2Error(
                f"{who}: model must be one of {', '.join(map(repr, MODELS))}, got {self.model!r}."
                f"{did_you_mean(str(self.model), MODELS)}"
            )
        matrix = as_matrix(X, who, missing=True)
        if len(matrix) < 2:
            raise Grip2Error(f"{who}: at least two rows are needed, got {len(matrix)}.")
        _check_columns(X, matrix, who)
        units = units_of_columns(groups, matrix.shape[1], who)
        rng = stream(generator_from(0), "sequential knockoffs")
        order, choice, missing, self._learning_seed = *rng.spawn(3), int(rng.integers(2**63))
        plan = make_plan(matrix, units, categories, order, who)
        rows = np.ascontiguousarray(matrix, dtype=float)
        if len(rows) > _FIT_ROWS:
            rows = rows[np.sort(choice.choice(len(rows), _FIT_ROWS, replace=False))]
        self._plan, self._chains = plan, dict[int, Chain]()
        with one_blas_thread():  # the models are small
            self._completion, self._rows = learn_completion(rows, plan, Scale.of(rows), missing)
        estimate = shrunk_covariance(self._rows if np.isnan(matrix).any() else X, who=who)
        self.covariance_, self.ridge_ = stabilised(estimate.covariance, who=who)
        self._laws = KnockoffLaws(estimate.mean, self.covariance_, self.s, units, who=who)
        self._remember_columns(X, matrix.shape[1], units)
        return self

    def _chain(self, copies: int) -> Chain:
        if copies not in self._chains:
            rng = np.random.default_rng([self._learning_seed, copies])
            root = np.sqrt(np.diag(self.covariance_))
            S = self._laws.for_copies(copies).S
            with one_blas_thread():
                self._chains[copies] = learn_chain(
                    self._rows,
                    self._plan,
                    S / root**2 if S.ndim == 1 else S / np.outer(root, root),
                    copies,
                    rng,
                    trees=self.model == "trees",
                    keep_values=self.keep_values,
                )
        return self._chains[copies]

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        chain = self._chain(copies)
        out = np.empty((copies, *X.shape), X.dtype)
        for wide in row_blocks(X, copies):
            for start in range(wide.start, wide.stop, _BLOCK):
                block = slice(start, min(start + _BLOCK, wide.stop))
                some = np.ascontiguousarray(X[block], dtype=float)
                halves = RowHalves.of(some) if self.model == "trees" else None
                noise = Noise.draw(len(some), copies, self._plan.n_parts, rng)
                out[:, block] = chain.draw(some, noise, halves)
        return out

    def _complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        filled = self._completion.complete(X, rng)
        left = np.flatnonzero(np.isnan(filled).any(axis=0))
        if len(left):
            raise Grip2Error(
                f"{type(self).__name__}: values may be missing only in columns that had missing values in fit, got missing "
                f"values in {column_list(X, left)}. Fit on rows in which they are missing too."
            )
        return filled

    def s_for(self, copies: int = 1) -> np.ndarray:
        """S for this number of copies: its diagonal (p,) for single columns, with groups the block-diagonal matrix (p, p).

        The first call for a number of copies learns the models.
        """
        self.check_can_draw(copies=copies)
        own, root = self._chain(copies).own, np.sqrt(np.diag(self.covariance_))
        if self.units_.all_single:
            return np.asarray(root**2 * np.clip(1.0 - np.diag(own), 0.0, 1.0))
        same = np.equal.outer(self.units_.of_column, self.units_.of_column)
        return np.where(same, self.covariance_ - own * np.outer(root, root), 0.0)

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        texts = [
            "The rows of X are independent draws from one distribution.",
            "Given all other columns and the knockoffs drawn before, every column has the distribution of its fitted model; "
            "where it does not, its variance and covariances match, but not necessarily its higher moments.",
            "The models were learnt from the same rows, so control is approximate; the error falls as rows are added.",
        ]
        if self._completion.models:
            texts.append(
                "Values are missing at random: whether one is missing depends on observed values only. They were drawn from "
                "models of every column given all others."
            )
        return texts + self._about_units()


def _check_columns(X: object, matrix: np.ndarray, who: str) -> None:
    seen = ~np.isnan(matrix)
    empty = np.flatnonzero(~seen.any(axis=0))
    if len(empty):
        raise Grip2Error(
            f"{who}: every column must have observed values, got nothing but NaN or infinity in {column_list(X, empty)}. "
            "Impute or drop them first."
        )
    low, high = np.nanmin(matrix, axis=0), np.nanmax(matrix, axis=0)
    refuse_constant(X, low == high, who)
