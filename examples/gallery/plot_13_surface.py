"""
What does the paper's network look at?
======================================

GRIP2 trains one network on features and knockoffs under a group penalty whose strength (lambda) and shape (a) keep
changing. A feature is important if its weights stay active all over this *regularization surface*.
"""

import matplotlib.pyplot as plt
import numpy as np

from grip2 import GRIP2, KnockoffSelector
from grip2.datasets import make_family

table = make_family("abs", n=1500, p=30, snr=1.0, n_signals=6, random_state=0)
selector = KnockoffSelector(GRIP2(), "gaussian", fdr=0.2, random_state=0).fit(table.X, table.y)
result = selector.result_
print(result)
print("true features:", *(f"x{j}" for j in table.support))

# %%
# Every point is one block of training under one pair (lambda, a); its colour is the norm of the weights that leave a
# column. Above, a true feature and its knockoffs; below, a feature that does not act, and its knockoffs.

surface = result.surface
true = int(table.support[np.argmax(result.W[table.support])])
null = int(np.setdiff1d(np.arange(30), table.support)[0])
figure, panels = plt.subplots(2, 2, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
top = surface.original[:, true].max()
for row, (j, kind) in zip(panels, ((true, "acts"), (null, "does not act")), strict=True):
    for axes, activity, whose in zip(
        row, (surface.original, surface.knockoff), ("feature", "mean knockoff"), strict=True
    ):
        points = axes.scatter(surface.lambda_, surface.a, c=activity[:, j], vmin=0, vmax=top, s=26)
        axes.set(xscale="log", title=f"{whose} {j} ({kind})")
    row[0].set_ylabel("a: shape of the penalty")
panels[1, 0].set_xlabel("lambda: strength")
panels[1, 1].set_xlabel("lambda: strength")
figure.colorbar(points, ax=panels, label="activity of the group")

# %%
# The score of a feature is its mean activity over the surface; W compares it with the scores of its knockoffs.

for j, kind in ((true, "acts"), (null, "does not act")):
    print(f"x{j} {kind}: W = {result.W[j]:.4f}")
