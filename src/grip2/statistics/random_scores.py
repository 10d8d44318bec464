"""Random scores: a statistic that does not look at the data, the floor of every comparison."""

from __future__ import annotations

import numpy as np

from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.symmetry import Members


class RandomScores(Statistic):
    """Random importances: whatever it selects, it selects by chance."""

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        layout = members.layout
        return Importance(rng.random((layout.members, len(layout.units))))
