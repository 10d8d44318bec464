"""
Are my knockoffs good?
======================

The guarantee rests on knockoffs that are exchangeable with their originals. ``diagnose`` tests that, and simulates
responses with a known truth on your own table to see what an error would cost. On the command line: ``grip2 diagnose
data.csv --target y``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from grip2.knockoffs import CopulaKnockoffs, diagnose

X = load_wine(as_frame=True).data
good = CopulaKnockoffs().fit(X).sample(X, rng=np.random.default_rng(0))
report = diagnose(X, good, rng=np.random.default_rng(1))
print(report)

# %%
# **Bad knockoffs**: every column shuffled by itself. Each column looks right, but the correlations with the other
# columns are gone.

shuffled = np.random.default_rng(0).permuted(X.to_numpy(), axis=0)
print(diagnose(X, shuffled, rng=np.random.default_rng(1)))

# %%
# What to look at first: a knockoff must be correlated with the *other* originals as its own original is.

figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True, layout="constrained")
among = np.corrcoef(X, rowvar=False)
others = ~np.eye(X.shape[1], dtype=bool)
for axes, Xk, name in zip(panels, (good, shuffled), ("copula knockoffs", "columns shuffled"), strict=True):
    across = np.corrcoef(X, Xk, rowvar=False)[: X.shape[1], X.shape[1] :]
    axes.scatter(among[others], across[others], s=8, color="#0072B2")
    axes.axline((0, 0), slope=1, color="black", linewidth=0.8)
    axes.set(xlabel="correlation of two originals", title=name)
panels[0].set_ylabel("of one with the other's knockoff")
