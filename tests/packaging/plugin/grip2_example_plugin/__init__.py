"""What another package brings to grip2: one statistic and one knockoff sampler."""

from __future__ import annotations

from typing import Self

import numpy as np

from grip2.knockoffs.base import Categories, Groups, KnockoffSampler
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.symmetry import Members


class Correlation(Statistic):
    """Absolute correlation with the response, raised to ``power``."""

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        correlation = np.abs(np.corrcoef(members.standardised(), response.y, rowvar=False)[-1, :-1])
        return Importance(members.layout.sums(correlation**self.power))


class PermutedKnockoffs(KnockoffSampler):
    """Each column in a random order of its rows: exact for independent columns."""

    def __init__(self, passes: int = 1) -> None:
        self.passes = passes

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        self.check_can_draw(groups=groups)
        self.covariance_ = np.diag(np.var(X, axis=0))
        self.s_ = np.diag(self.covariance_)
        self._remember_columns(X, X.shape[1])
        return self

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        copy = X
        for _ in range(self.passes):
            copy = rng.permuted(copy, axis=0)
        return copy[np.newaxis]

    def assumptions(self) -> list[str]:
        return ["The columns are independent."]
