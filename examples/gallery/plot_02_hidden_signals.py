"""
What does a lasso miss?
=======================

The response depends on six features through their absolute values only: no correlation, no slope, nothing that a
straight line sees.
"""

import matplotlib.pyplot as plt
import numpy as np

from grip2 import EffectPosterior, KnockoffSelector
from grip2.datasets import make_family
from grip2.statistics import LassoCoefficient

table = make_family("abs", n=1000, p=40, snr=1.0, n_signals=6, random_state=1)
truth = set(table.support)

# %%
# The same knockoffs (same seed), scored by a lasso and by the Bayesian model of curves and pairs that is the first
# half of the default.

found = {}
for name, statistic in {"lasso": LassoCoefficient(), "effects": EffectPosterior()}.items():
    selector = KnockoffSelector(statistic, fdr=0.1, random_state=0).fit(table.X, table.y)
    found[name] = selector
    chosen = set(selector.get_support(indices=True))
    print(f"{name}: {len(chosen & truth)} of {len(truth)} true features, {len(chosen - truth)} false ones")

# %%
# What there is to see: the strongest feature against the response, and the W of both statistics, true features in
# blue.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
strongest = int(np.argmax(found["effects"].W_))
left.scatter(table.X[:, strongest], table.y, s=4, color="#9A9A9A")
left.set(xlabel=f"feature {strongest}", ylabel="response", title="A V, not a slope")
colours = np.where(np.isin(np.arange(40), table.support), "#0072B2", "#9A9A9A")
for axes, (name, selector) in zip((middle, right), found.items(), strict=True):
    axes.bar(np.arange(40), selector.W_, color=colours)
    axes.set(xlabel="feature", ylabel="W", title=f"{name}: {selector.get_support().sum()} selected")
