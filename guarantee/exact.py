"""Exact knockoffs of columns that are functions of normal scores with known correlations.

``X = F(Z)``: given X the scores are drawn from their distribution, exactly; knockoffs of the scores are those of
`GaussianKnockoffs` with the known correlations; and every member is the same function of its scores. So the members of a unit
are exchangeable if and only if the library's Gaussian knockoffs of the scores are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from grip2.knockoffs import GaussianKnockoffs
from grip2.knockoffs.base import Categories, Groups, KnockoffSampler
from grip2.units import Units

# Proposals for each row in a round of rejection sampling, and rounds before it is given up.
_PROPOSALS, _ROUNDS = 32, 500
DEGREES = 3.0  # of freedom of the heavy tails


@dataclass(frozen=True, eq=False)
class HeavyTails:
    """Columns with the distribution of Student's t, each an increasing function of its own score."""

    def values(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(stdtrit(DEGREES, ndtr(Z)))

    def scores(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(ndtri(stdtr(DEGREES, X)))


@dataclass(frozen=True, eq=False)
class InBlocks:
    """Columns of few values, in blocks of equal size whose scores are independent of each other: small enough for rejection."""

    covariance: np.ndarray  # of the scores of one block
    to_columns: Callable[[np.ndarray], np.ndarray]  # (rows, scores of a block) to (rows, columns of a block)
    n_blocks: int

    def values(self, Z: np.ndarray) -> np.ndarray:
        parts = np.split(Z, self.n_blocks, axis=1)
        return np.hstack([self.to_columns(part) for part in parts])

    def scores(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.hstack([self._scores_of_block(part, rng) for part in np.split(X, self.n_blocks, axis=1)])

    def _scores_of_block(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Scores of the block given its columns: proposals until the columns agree."""
        root = np.linalg.cholesky(self.covariance)
        Z = np.empty((len(X), len(root)))
        left = np.arange(len(X))
        for _ in range(_ROUNDS):
            proposed = rng.standard_normal((len(left), _PROPOSALS, len(root))) @ root.T
            columns = self.to_columns(proposed.reshape(-1, len(root))).reshape(len(left), _PROPOSALS, -1)
            agrees = (columns == X[left, None, :]).all(axis=2)
            found, first = agrees.any(axis=1), agrees.argmax(axis=1)
            Z[left[found]] = proposed[found, first[found]]
            left = left[~found]
            if not len(left):
                return Z
        raise RuntimeError(f"no scores were found for {len(left)} rows: the values do not come from this design")


class ExactKnockoffs(KnockoffSampler):
    """Knockoffs of a design whose law is known; ``fit`` learns nothing from X."""

    draws_copies: ClassVar[bool] = True
    draws_groups: ClassVar[bool] = True
    draws_categories: ClassVar[bool] = True

    def __init__(self, columns: HeavyTails | InBlocks, correlation: np.ndarray, unit_of_score: np.ndarray) -> None:
        self.columns = columns
        self.correlation = correlation
        self.unit_of_score = unit_of_score

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        p = len(self.correlation)
        single = len(np.unique(self.unit_of_score)) == p
        self._of_scores = GaussianKnockoffs(np.zeros(p), self.correlation)
        self._of_scores.fit(np.zeros((2, p)), groups=None if single else list(self.unit_of_score))
        self.covariance_ = self._of_scores.covariance_
        units = groups if isinstance(groups, Units) else None if groups is None else Units.from_labels(list(groups))
        self._remember_columns(X, np.shape(X)[1], units)
        return self

    def s_for(self, copies: int = 1) -> np.ndarray:
        return self._of_scores.s_for(copies)

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        of_scores, of_copies = rng.spawn(2)
        Z = self.columns.scores(X, of_scores)
        drawn = self._of_scores.sample(Z, rng=of_copies, copies=copies).reshape(copies, *Z.shape)
        return np.stack([self.columns.values(copy) for copy in drawn])

    def assumptions(self) -> list[str]:
        return ["The law of X is the one that the design was simulated from."]
