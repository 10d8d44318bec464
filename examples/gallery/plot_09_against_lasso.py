"""
How does it compare with a cross-validated lasso?
=================================================

The usual way: fit a lasso, choose its penalty by cross-validation, and take the features with a coefficient. It
predicts well and selects far too many, because nothing counts the false ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV

from grip2 import KnockoffSelector
from grip2.datasets import make_family
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import LassoCoefficient

# %%
# Twenty data sets with 400 rows and 50 features, of which 10 act. The knockoff filter uses a lasso, too: the only
# difference is that it counts how often knockoffs win.

outcomes = {"lasso, cross-validated": [], "knockoffs, fdr 0.1": [], "knockoffs, fdr 0.2": []}
for seed in range(20):
    table = make_family("linear", n=400, p=50, snr=1.0, n_signals=10, random_state=seed)
    coefficients = LassoCV(cv=5).fit(table.X, table.y).coef_
    selections = {"lasso, cross-validated": np.flatnonzero(coefficients)}
    for fdr in (0.1, 0.2):
        selector = KnockoffSelector(LassoCoefficient(), "gaussian", fdr=fdr, random_state=seed, describe=False)
        selections[f"knockoffs, fdr {fdr}"] = selector.fit(table.X, table.y).get_support(indices=True)
    for name, found in selections.items():
        outcomes[name].append((false_discovery_proportion(found, table.support), power(found, table.support)))

for name, pairs in outcomes.items():
    wrong, reached = np.mean(pairs, axis=0)
    print(f"{name}: {wrong:.0%} of the selected are false, {reached:.0%} of the true ones are found")

# %%

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
jitter = np.random.default_rng(0)
for (name, pairs), colour in zip(outcomes.items(), ("#D55E00", "#0072B2", "#56B4E9"), strict=True):
    wrong, reached = np.array(pairs).T + jitter.uniform(-0.008, 0.008, (2, len(pairs)))
    axes.scatter(wrong, reached, color=colour, s=22, label=name)
axes.set(xlabel="false discovery proportion", ylabel="power", title="Each point is one data set")
axes.legend(frameon=False, loc="lower left")
