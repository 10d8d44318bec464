"""
Which features matter for survival times?
=========================================

Times to an event, some of them censored: the event had not happened when the study ended. The response is a
structured array with the time and whether the event was seen; the loss is Cox's partial likelihood. The data are
simulated, so the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from grip2 import EffectPosterior, KnockoffSelector

rng = np.random.default_rng(0)
n, names = 600, [f"marker{j}" for j in range(20)]
X = pd.DataFrame(rng.standard_normal((n, 20)), columns=names)
risk = X["marker0"] + 0.8 * X["marker1"] - 0.8 * X["marker2"] + 0.6 * (X["marker3"].abs() - 0.8)  # four markers act
event_after = rng.exponential(np.exp(-risk))
study_ends = rng.exponential(2.0, n)
y = np.zeros(n, dtype=[("time", float), ("event", bool)])
y["time"], y["event"] = np.minimum(event_after, study_ends), event_after <= study_ends
print(f"{y['event'].mean():.0%} of the events were seen")

# %%
# On the command line: ``grip2 select patients.csv --target time --event event``.

selector = KnockoffSelector(EffectPosterior(), fdr=0.1, random_state=0).fit(X, y)
print(selector.result_)

# %%
# How the selected markers act on the risk. The curves are a description: only the selection has a guarantee.

effects = list(selector.result_.effects)
figure, panels = plt.subplots(
    1, max(1, len(effects)), figsize=(9, 2.8), sharey=True, layout="constrained", squeeze=False
)
for axes, effect in zip(panels[0], effects, strict=False):
    curve = effect.curves[0]
    axes.fill_between(curve.grid, curve.lower, curve.upper, color="#56B4E9", alpha=0.4)
    axes.plot(curve.grid, curve.mean, color="#0072B2")
    axes.set(title=f"{effect.name}\n{effect.direction}", xlabel=effect.name)
panels[0, 0].set_ylabel("adds to the risk")
