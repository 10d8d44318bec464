"""Maps rows of a table to normal scores and back: by one increasing function for each column, by utilities for categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from grip2.knockoffs.category import CategoryModel, CategoryScores
from grip2.knockoffs.latent import Cells, HiddenScores
from grip2.knockoffs.marginals import Marginal, learn_marginal
from grip2.knockoffs.missing import MissingScores


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The marginal distributions of the columns and the categories among them."""

    marginals: list[Marginal]  # one for each column
    categories: tuple[CategoryModel, ...]
    clip: float  # ranks are clipped to [clip, 1 - clip] before the probit transform (appendix B.2)
    draws_in_cells: bool  # True: scores of tied values are drawn from their cells given all other columns

    @classmethod
    def learn(
        cls,
        X: np.ndarray,
        categories: tuple[CategoryModel, ...],
        *,
        clip: float,
        draws_in_cells: bool,
        observed_values: bool,
    ) -> ScoreMap:
        """Learn from rows with NaN for missing values; ``observed_values``: discrete columns take observed values only."""
        observed = np.full(X.shape[1], observed_values)
        observed[_columns_of(categories, X.shape[1])] = True
        marginals = [learn_marginal(X[:, j], discrete=bool(observed[j])) for j in range(X.shape[1])]
        return cls(marginals, categories, clip, draws_in_cells)

    def with_categories(self, changed: Callable[[CategoryModel], CategoryModel]) -> ScoreMap:
        return replace(self, categories=tuple(changed(category) for category in self.categories))

    @cached_property
    def discrete(self) -> np.ndarray:
        """(p,) mask of the columns whose knockoffs take observed values only."""
        return np.array([marginal.discrete for marginal in self.marginals])

    @cached_property
    def spiked(self) -> np.ndarray:
        """(p,) mask of the continuous columns with a value that many rows share."""
        return np.array([marginal.spiked for marginal in self.marginals])

    @cached_property
    def of_categories(self) -> np.ndarray:
        """(p,) mask of the columns of categories."""
        return _columns_of(self.categories, len(self.marginals))

    @cached_property
    def tied(self) -> np.ndarray:
        """(p,) mask of the discrete and spiked columns that belong to no category."""
        return np.asarray((self.discrete | self.spiked) & ~self.of_categories)

    @cached_property
    def in_cells(self) -> np.ndarray:
        """(p,) mask of the columns whose normal score is drawn from a cell, in at least some rows."""
        return self.tied if self.draws_in_cells else np.zeros(len(self.marginals), dtype=bool)

    @property
    def latent(self) -> bool:
        """Does a complete table have scores that its values do not determine, to be drawn by the Gibbs sampler?"""
        return bool(self.categories) or bool(self.in_cells.any())

    def scores(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Normal scores ``Z = probit(U)`` of some rows, each drawn given its own value only.

        Tied values get random ranks, categories random utilities, and missing values a score from the whole distribution.
        """
        columns, U = np.ascontiguousarray(X.T), np.empty(X.shape[::-1])  # column after column: quicker to go through
        for j in np.flatnonzero(~self.of_categories):
            values, missing = columns[j], np.isnan(columns[j])
            if missing.any():
                U[j, missing] = rng.random(int(missing.sum()))
                U[j, ~missing] = self.marginals[j].to_uniform(values[~missing], rng)
            else:
                U[j] = self.marginals[j].to_uniform(values, rng)
        Z = np.ascontiguousarray(ndtri(np.clip(U, self.clip, 1 - self.clip, out=U)).T)
        for category in self.categories:
            Z[:, category.columns] = category.start(category.levels(X), rng)
        return Z

    def values(self, Z: np.ndarray) -> np.ndarray:
        """The rows of the table that normal scores stand for."""
        U = ndtr(np.ascontiguousarray(Z.T))
        for j in np.flatnonzero(~self.of_categories):
            U[j] = self.marginals[j].from_uniform(U[j])
        X = np.ascontiguousarray(U.T)
        for category in self.categories:
            X[:, category.columns] = category.indicators(Z)
        return X

    def hidden(self, X: np.ndarray) -> HiddenScores:
        """The scores that the values of some rows do not determine."""
        missing = np.isnan(X) & ~self.of_categories  # those of a category are drawn with its other scores
        return HiddenScores(
            MissingScores.of(missing) if missing.any() else None,
            self._cells(X) if self.in_cells.any() else None,
            [CategoryScores(category, category.levels(X)) for category in self.categories],
        )

    def _cells(self, X: np.ndarray) -> Cells:
        """The intervals of normal scores that the values of discrete and spiked columns stand for."""
        columns = np.flatnonzero(self.in_cells)
        low, high = np.empty((len(X), len(columns))), np.empty((len(X), len(columns)))
        for place, j in enumerate(columns):
            low[:, place], high[:, place] = self.marginals[j].cell(X[:, j])
        missing = np.isnan(X[:, columns])
        low[missing], high[missing] = 0.0, 1.0
        # The outermost cells extend to infinity. A new value beyond all observed ones has the empty cell [0, 0] or [1, 1]:
        # it gets the clipped tail.
        return Cells(columns, ndtri(np.minimum(low, 1 - self.clip)), ndtri(np.maximum(high, self.clip)))


def _columns_of(categories: Sequence[CategoryModel], p: int) -> np.ndarray:
    """(p,) mask of their columns."""
    mask = np.zeros(p, dtype=bool)
    for category in categories:
        mask[category.columns] = True
    return mask
