"""
How do I use a measure of importance of my own?
===============================================

Any rule that scores the columns of a table will do. The members of every unit, the feature and its knockoffs, are put
in random order before your rule sees them, so you cannot break the guarantee from inside.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.inspection import permutation_importance

from grip2 import Importance, KnockoffSelector
from grip2.statistics import Statistic


class PermutationImportance(Statistic):
    """How much a forest's prediction suffers when a column is shuffled."""

    def __init__(self, trees: int = 100, repeats: int = 5) -> None:
        self.trees = trees
        self.repeats = repeats

    def _importance(self, members, response, *, rng, progress):
        columns, y = members.standardised(), response.contrasts[0]
        seed = int(rng.integers(2**31))
        forest = ExtraTreesRegressor(self.trees, min_samples_leaf=5, random_state=seed).fit(columns, y)
        scores = permutation_importance(forest, columns, y, n_repeats=self.repeats, random_state=seed)
        return Importance(members.layout.sums(scores.importances_mean))


table = load_diabetes(as_frame=True, scaled=False)
selector = KnockoffSelector(PermutationImportance(), fdr=0.2, random_state=0).fit(table.data, table.target)
print(selector.result_)

# %%
# Scores of each original, and of its strongest knockoff:

frame = selector.result_.to_frame()[::-1]
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
place = np.arange(len(frame))
axes.barh(place + 0.2, frame["original"], height=0.38, color="#0072B2", label="original")
axes.barh(place - 0.2, frame["knockoff"], height=0.38, color="#9A9A9A", label="strongest knockoff")
axes.set(yticks=place, yticklabels=frame["name"], xlabel="permutation importance", title="Does the original win?")
axes.legend(frameon=False)
