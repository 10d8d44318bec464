"""How do I add knockoffs of my own? Exact ones for a randomised experiment, and a selection with them."""

import numpy as np
import pandas as pd

from grip2 import KnockoffSelector
from grip2.knockoffs import KnockoffSampler
from grip2.statistics import LassoCoefficient


class DesignKnockoffs(KnockoffSampler):
    """Exact knockoffs of columns that were assigned at random, independently of each other: each is assigned anew.

    ``chances`` holds, for every column, the values that it could take and their probabilities, {value: probability}.
    """

    draws_copies = True  # assigned anew and anew, copies are exchangeable all together

    def __init__(self, chances):
        self.chances = chances  # store settings, nothing else

    def fit(self, X, y=None, *, groups=None, categories=()):
        self.check_can_draw(groups=groups)  # raises where groups are given: this sampler has none
        variances = [np.average(np.square(v), weights=w) - np.average(v, weights=w) ** 2 for v, w in self._values()]
        self.covariance_ = np.diag(variances)
        self._remember_columns(X, len(self.chances))
        return self

    def s_for(self, copies=1):
        return np.diag(self.covariance_)  # knockoffs are independent of their originals, whatever their number

    def _sample(self, X, rng, copies):
        shape = (copies, len(X))
        return np.stack([rng.choice(values, shape, p=weights) for values, weights in self._values()], axis=-1)

    def assumptions(self):
        return [
            "The columns were assigned at random, independently of each other, with the probabilities given: knockoffs are exact."
        ]

    def _values(self):
        return [(list(chances), list(chances.values())) for chances in self.chances]


def main() -> None:
    rng = np.random.default_rng(0)
    names = ["price", "colour", "size", "brand", "warranty", "delivery", "rating", "packaging"]
    chances = [{0.0: 0.5, 1.0: 0.5}] * 4 + [{1.0: 0.2, 2.0: 0.3, 3.0: 0.5}] * 4
    X = DesignKnockoffs(chances).fit(np.zeros((300, 8))).sample(np.zeros((300, 8)), rng=rng)
    liked = -1.0 * X[:, 0] + 0.8 * X[:, 3] + 0.7 * X[:, 6] + rng.standard_normal(300)  # price, brand and rating act
    selector = KnockoffSelector(LassoCoefficient(), DesignKnockoffs(chances), fdr=0.2, random_state=0)
    result = selector.fit(pd.DataFrame(X, columns=names), liked).result_
    print(result)
    print(*result.assumptions, sep="\n")


if __name__ == "__main__":
    main()
