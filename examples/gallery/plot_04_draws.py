"""
How do I get the same answer with every seed?
=============================================

Knockoffs are random, so features near the threshold come and go with the seed. Several draws, combined by e-values,
control the same false discovery rate and change much less.
"""

import matplotlib.pyplot as plt
import numpy as np

from grip2 import KnockoffSelector
from grip2.datasets import make_family
from grip2.metrics import jaccard_stability
from grip2.statistics import LassoCoefficient

table = make_family("linear", n=600, p=40, rho=0.5, snr=0.6, n_signals=10, random_state=3)
seeds = range(8)


def selections(n_draws):
    """One row for every seed: which features it selects."""
    return np.array(
        [
            KnockoffSelector(LassoCoefficient(), "copula", n_draws=n_draws, random_state=seed, describe=False)
            .fit(table.X, table.y)
            .get_support()
            for seed in seeds
        ]
    )


single, several = selections(1), selections(15)

# %%
# Similarity of two seeds' selections (Jaccard: shared features over all features that either has), mean over all
# pairs of seeds:

for name, chosen in (("one draw", single), ("fifteen draws", several)):
    print(f"{name}: {jaccard_stability(chosen):.2f}, {chosen.sum(axis=1).mean():.1f} features on average")

# %%
# One column for each feature, one line for each seed. The features marked with a triangle are the true ones.

figure, panels = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
for axes, name, chosen in zip(panels, ("one draw", "fifteen draws"), (single, several), strict=True):
    axes.imshow(chosen, aspect="auto", cmap="Blues", vmin=0, vmax=1.3)
    axes.plot(
        table.support, np.full(len(table.support), -0.8), marker="v", linestyle="none", color="#D55E00", clip_on=False
    )
    axes.set(ylabel="seed", title=name)
panels[1].set_xlabel("feature")
