"""How do I use a measure of importance of my own? A statistic in 20 lines, and a selection with it."""

import numpy as np
from scipy.stats import rankdata

from grip2 import Importance, KnockoffSelector
from grip2.datasets.synthetic import make_hidden_interactions
from grip2.statistics import Statistic


class BinnedVariance(Statistic):
    """Share of the variance of y between equally filled bins of a column: sees curves, not interactions."""

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins  # store hyper-parameters, nothing else

    def _importance(self, members, response, *, rng, progress):
        y = np.column_stack(response.contrasts)  # y itself; for classes a 0/1 column for each, since they have no order
        return Importance(members.layout.sums(self._scores(members.standardised(), y)))  # one rule for all columns

    def _scores(self, columns, y):
        y = (y - y.mean(axis=0)).reshape(len(y), -1)
        ranks = rankdata(columns, axis=0) - 0.5  # equal values have one rank and so fall into one bin
        bins = (ranks * self.bins / len(y)).astype(int)
        return np.array([self._between(one, y) for one in bins.T]) / (y**2).sum()

    def _between(self, bins, y):
        inside = bins == np.arange(self.bins)[:, None]
        return ((inside @ y) ** 2 / np.maximum(inside.sum(axis=1, keepdims=True), 1)).sum()


def main() -> None:
    table = make_hidden_interactions(n=4000, p=100, random_state=0)
    selector = KnockoffSelector(BinnedVariance(bins=8), fdr=0.2, random_state=0).fit(table.X, table.y)
    found = selector.get_support(indices=True)
    print(selector.result_)
    print(f"{len(np.intersect1d(found, table.support))} of {len(table.support)} true features found, ", end="")
    print(f"{len(np.setdiff1d(found, table.support))} false ones")


if __name__ == "__main__":
    main()
