"""Statistics made to look for faults: each is valid, takes microseconds, and sees what standardised statistics cannot see.

Most of the library's statistics standardise columns and take absolute values, so they do not notice knockoffs with a wrong mean,
scale or sign. The guarantee is for every statistic, these included.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.symmetry import Members


class Correlation(Statistic):
    """Absolute correlation with y: null columns correlated with acting ones score high, so only exchangeability helps."""

    gram_based: ClassVar[bool] = True

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        return Importance(members.layout.norms(np.abs(members.standardised().T @ response.y) / members.n_rows))


class RawProduct(Statistic):
    """Signed inner product of the columns as they are with 1 + y: sees mean, scale and sign."""

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        products = np.concatenate([table.T @ (1.0 + response.y) / members.n_rows for table in members.tables])
        return Importance(members.layout.sums(products))


class CoarseCorrelation(Correlation):
    """Absolute correlation rounded to twentieths: members tie often."""

    gram_based: ClassVar[bool] = False

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        found = super()._importance(members, response, rng=rng, progress=progress)
        return Importance(np.round(20 * found.scores))


PROBES: dict[str, type[Statistic]] = {
    "correlation": Correlation,
    "raw product": RawProduct,
    "coarse correlation": CoarseCorrelation,
}
