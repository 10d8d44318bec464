"""
What if columns are nearly copies of each other?
================================================

Thirty measurements of cell nuclei, 569 tumours (scikit-learn's breast cancer table). Radius, perimeter and area of a
nucleus are almost one quantity. No method can tell which of the three matters, and knockoffs of single columns are
then almost copies of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_breast_cancer

from grip2 import KnockoffSelector
from grip2.statistics import LassoCoefficient

table = load_breast_cancer(as_frame=True)
X, y = table.data, table.target_names[table.target]

alone = KnockoffSelector(LassoCoefficient(), fdr=0.2, random_state=0).fit(X, y)
print(alone.result_)

# %%
# **Clusters of correlated columns as units.** On the command line this is ``--group-threshold 0.7``. A unit is
# selected as a whole: at least one of its columns matters, given all other units.

correlation = X.corr().abs().to_numpy()
tree = linkage(squareform(1 - correlation, checks=False), method="average")
cluster = fcluster(tree, t=0.3, criterion="distance")
groups = {
    " + ".join(X.columns[cluster == label][:2]) + (" ..." if (cluster == label).sum() > 2 else ""): list(
        X.columns[cluster == label]
    )
    for label in np.unique(cluster)
    if (cluster == label).sum() > 1
}
print(*(f"{name}: {len(columns)} columns" for name, columns in groups.items()), sep="\n")

together = KnockoffSelector(LassoCoefficient(), fdr=0.2, groups=groups, random_state=0).fit(X, y)
print(together.result_)

# %%
# Correlation of every column with its own knockoff: near 1 a knockoff cannot be told from its original, and there is
# no power.

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for selector, name, colour in ((alone, "single columns", "#D55E00"), (together, "groups", "#0072B2")):
    own = np.sort(selector.sampler_.own_correlation(selector.result_.copies))
    axes.plot(own, marker=".", color=colour, label=f"{name}: {len(selector.result_.selected)} units selected")
axes.set(xlabel="columns, sorted", ylabel="correlation with own knockoff", title="Groups give knockoffs room to differ")
axes.legend(frameon=False)
