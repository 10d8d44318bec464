"""
How do I treat counts?
======================

A number of events is neither a measurement nor a class: most rows have few, some have many. ``task="counts"`` scores
by the deviance of a negative binomial model. Here the ten real columns of the diabetes table with a simulated number
of visits, so the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from grip2 import KnockoffSelector
from grip2.statistics import LassoCoefficient

X = load_diabetes(as_frame=True, scaled=False).data
Z = (X - X.mean()) / X.std()
rng = np.random.default_rng(0)
mean = np.exp(0.5 + 0.5 * Z["bmi"] + 0.5 * Z["bp"] - 0.4 * Z["sex"])  # three columns act
visits = rng.poisson(mean * rng.gamma(2.0, 0.5, len(X)))  # more spread than Poisson
print(f"from {visits.min()} to {visits.max()} visits, mean {visits.mean():.1f}")

# %%

selector = KnockoffSelector(LassoCoefficient(), fdr=0.2, task="counts", random_state=0).fit(X, visits)
print(selector.result_)
print(selector.result_.response)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.hist(visits, bins=np.arange(visits.max() + 2) - 0.5, color="#9A9A9A")
left.set(xlabel="visits", ylabel="patients", title="Counts have a long tail")
frame = selector.result_.to_frame()[::-1]
right.barh(frame["name"], frame["W"], color=np.where(frame["selected"], "#0072B2", "#9A9A9A"))
right.set(xlabel="W", title="True: bmi, bp, sex")
