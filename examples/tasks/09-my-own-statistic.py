"""How do I use a measure of importance of my own? (docs/add-a-statistic.md)

usage: 09-my-own-statistic.py TABLE.csv TARGET
"""

import sys

import numpy as np
import pandas as pd
from scipy.stats import rankdata, zscore

from grip2 import Importance, KnockoffSelector
from grip2.statistics import Statistic


class RankRidge(Statistic):
    """Coefficients of a ridge regression of ranks on ranks: monotone effects, given all other columns."""

    def __init__(self, penalty: float = 0.01) -> None:
        self.penalty = penalty  # store hyper-parameters, nothing else

    def _importance(self, members, response, *, rng, progress):
        ranks, y = zscore(rankdata(members.standardised(), axis=0)), zscore(rankdata(response.y))
        gram = ranks.T @ ranks / len(y) + self.penalty * np.eye(ranks.shape[1])
        coefficients = np.linalg.solve(gram, ranks.T @ y / len(y))
        return Importance(members.layout.sums(np.abs(coefficients)))  # one rule for originals and copies


def main(table: str, target: str) -> None:
    X = pd.read_csv(table)
    y = X.pop(target)
    result = KnockoffSelector(RankRidge(), fdr=0.2, random_state=0).fit(X, y).result_
    print(result)
    print(result.reason)
    print(result.settings["statistic"])


if __name__ == "__main__":
    main(*sys.argv[1:])
