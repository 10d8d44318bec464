"""How do I use a measure of importance of my own? A statistic in 20 lines, and a selection with it."""

import numpy as np

from grip2 import Importance, KnockoffSelector
from grip2.datasets.synthetic import make_hidden_interactions
from grip2.statistics import Statistic


class BinnedVariance(Statistic):
    """Share of the variance of y between equally filled bins of a column: sees curves, not interactions."""

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins  # store hyper-parameters, nothing else

    def _importance(self, X, Xk, y, *, rng, task, progress):
        return Importance(self._scores(X, y), self._scores(Xk, y))  # one rule for both members of a pair

    def _scores(self, columns, y):
        ranks = columns.argsort(axis=0).argsort(axis=0)
        groups = ranks * self.bins // len(y)
        counts = np.stack([np.bincount(group, minlength=self.bins) for group in groups.T])
        sums = np.stack([np.bincount(group, y - y.mean(), self.bins) for group in groups.T])
        return (sums**2 / counts).sum(axis=1) / (y.var() * len(y))


def main() -> None:
    table = make_hidden_interactions(n=4000, p=100, random_state=0)
    selector = KnockoffSelector(BinnedVariance(bins=8), fdr=0.2, random_state=0).fit(table.X, table.y)
    found = selector.get_support(indices=True)
    print(selector.result_)
    print(f"{len(np.intersect1d(found, table.support))} of {len(table.support)} true features found, ", end="")
    print(f"{len(np.setdiff1d(found, table.support))} false ones")


if __name__ == "__main__":
    main()
