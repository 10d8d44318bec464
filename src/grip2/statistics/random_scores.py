"""The floor of every comparison: a statistic that does not look at the data."""

from __future__ import annotations

import numpy as np

from grip2.result import Importance
from grip2.statistics.base import Progress, Statistic


class RandomScores(Statistic):
    """Random importances: whatever it selects, it selects by luck."""

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        return Importance(*rng.random((2, X.shape[1])))
