"""The floor of every comparison: a statistic that does not look at the data."""

from __future__ import annotations

import numpy as np

from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic


class RandomScores(Statistic):
    """Random importances: whatever it selects, it selects by chance."""

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        response: Response,
        *,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> Importance:
        return Importance(*rng.random((2, X.shape[1])))
