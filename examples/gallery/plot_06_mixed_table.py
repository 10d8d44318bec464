"""
Can the table have categories and missing values?
=================================================

Yes: text is a category, which is selected as a whole, and missing values are drawn from a model of the table. Here
scikit-learn's diabetes table with blood pressure as three classes, a made-up clinic, and holes.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from grip2 import EffectPosterior, KnockoffSelector

rng = np.random.default_rng(0)
table = load_diabetes(as_frame=True, scaled=False)
frame = table.data.copy()
frame["bp"] = pd.cut(frame["bp"], [0, 85, 100, 200], labels=["low", "middle", "high"]).astype(str)
frame["clinic"] = rng.choice(["north", "south", "east", "west"], len(frame))
frame["bmi"] = frame["bmi"].mask(rng.random(len(frame)) < 0.1)
frame["s5"] = frame["s5"].mask(rng.random(len(frame)) < 0.1)
frame.head()

# %%

selector = KnockoffSelector(EffectPosterior(), fdr=0.2, random_state=0).fit(frame, table.target)
print(selector.result_)

# %%
# What every column was taken for, and what was done to it:

for column in selector.result_.columns:
    print(f"{column.name:8} {column.role:10} {column.missing:3} missing  {column.done}")

# %%
# How selected levels differ from the reference, a description without an error guarantee:

for level in selector.result_.level_contrasts:
    told = f"{level.difference:+.2f} +- {level.standard_error:.2f}" if level.estimated else level.told
    print(f"{level.variable}: {level.level} minus {level.reference} {told}")

# %%
# The names of a selection, most convincing first, with the number of missing values that had to be drawn.

shown = selector.result_.to_frame()[::-1]
missing = {column.name: column.missing for column in selector.result_.columns}
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
labels = [f"{name} ({missing[name]} missing)" if missing[name] else name for name in shown["name"]]
axes.barh(labels, shown["W"], color=np.where(shown["selected"], "#0072B2", "#9A9A9A"))
axes.set(xlabel="W", title="The made-up clinic is not selected" if "clinic" not in selector.result_.selected else "")
