"""
Which measurements predict diabetes progression?
================================================

Ten measurements of 442 patients, and how far the disease had progressed a year later. The table comes with
scikit-learn.
"""

import numpy as np
from sklearn.datasets import load_diabetes

from grip2 import KnockoffSelector

table = load_diabetes(as_frame=True, scaled=False)
selector = KnockoffSelector(fdr=0.2, random_state=0).fit(table.data, table.target)
print(selector.result_)

# %%
# **Why these?** The reason counts how often an original beats its knockoffs, and how often a knockoff wins.

print(selector.result_.reason)

# %%
# **W** says how clearly a measurement beats its knockoffs. It is the evidence that the measurement matters given all
# others, not the size of its effect.

frame = selector.result_.to_frame()
frame[["name", "W", "q_value", "selected"]]

# %%

bars = frame[::-1]
axes = bars.plot.barh("name", "W", color=np.where(bars["selected"], "#0072B2", "#9A9A9A"), legend=False, ylabel="")
axes.axvline(selector.threshold_, color="black", linestyle="--", linewidth=0.8)
axes.set(xlabel="W (dashed: the threshold)", title="Blue: selected at fdr 0.2")
axes.figure.tight_layout()

# %%
# **Can the knockoffs be trusted on this table?** Responses with a known truth were simulated on the same ten columns
# to find out.

quality = selector.result_.knockoff_quality
print(quality.verdict, *quality.verdict_reasons, sep="\n")
