"""
Few true features: why do copies help?
======================================

With one knockoff of every feature, a selection at ``fdr=0.1`` has ten features or none. Four true features then give
nothing, however strong they are. Several knockoffs, drawn together, lower the smallest selection to 1 / (copies x
fdr).
"""

import matplotlib.pyplot as plt

from grip2 import KnockoffSelector
from grip2.datasets import make_family
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import LassoCoefficient

LEVEL = 0.1
counts = (1, 2, 3, 5)

# %%
# Ten tables with 500 rows and 30 features, of which four act; the knockoffs are estimated from the same rows.

powers, wrong = [], []
for copies in counts:
    of_tables = []
    for seed in range(10):
        table = make_family("linear", n=500, p=30, snr=1.0, n_signals=4, random_state=seed)
        selector = KnockoffSelector(
            LassoCoefficient(), "copula", fdr=LEVEL, copies=copies, random_state=seed, describe=False
        )
        found = selector.fit(table.X, table.y).get_support(indices=True)
        of_tables.append((power(found, table.support), false_discovery_proportion(found, table.support)))
    powers.append(sum(one for one, _ in of_tables) / len(of_tables))
    wrong.append(sum(two for _, two in of_tables) / len(of_tables))
    print(
        f"{copies} copies: smallest selection {1 / (copies * LEVEL):.1f}, power {powers[-1]:.2f}, FDP {wrong[-1]:.2f}"
    )

# %%
# One copy finds four features only by luck, when enough nulls come along; five copies find them reliably. That is why
# ``copies="auto"``, the default, draws as many as two features need.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(counts, powers, marker="o", color="#0072B2", label="power")
axes.plot(counts, wrong, marker="s", color="#D55E00", label="false discovery proportion")
axes.axhline(LEVEL, color="black", linestyle="--", linewidth=0.8, label="target fdr")
axes.set(xlabel="knockoff copies", xticks=counts, ylim=(-0.03, 1.03), title="Four true features of 30, ten tables")
axes.legend(frameon=False)
