"""
Which features act together?
============================

Some features matter only through another one. The selection says that they matter; the description after it says with
whom, and how.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from grip2 import EffectPosterior, KnockoffSelector

rng = np.random.default_rng(2)
X = pd.DataFrame(rng.standard_normal((800, 15)), columns=[f"x{j}" for j in range(15)])
# A product without any effect of its parts, and a dose that acts only where a switch is on.
X["dose"], X["switch"] = rng.uniform(0, 10, 800), rng.integers(0, 2, 800)
y = 1.5 * X["x0"] * X["x1"] + 0.5 * X["dose"] * X["switch"] + rng.standard_normal(800)

selector = KnockoffSelector(EffectPosterior(), fdr=0.1, random_state=0).fit(X, y)
print(selector.result_)

# %%

for effect in selector.result_.effects:
    partners = ", ".join(f"{pair.partner} ({', '.join(pair.functions)})" for pair in effect.interactions)
    print(f"{effect.name}: {effect.direction}; with {partners or 'nobody'}")

# %%
# What two features add together, beyond what each adds by itself. A description: only the selection has a guarantee.

pairs = {
    frozenset((effect.name, pair.partner)): pair.surface
    for effect in selector.result_.effects
    for pair in effect.interactions
}
figure, panels = plt.subplots(1, len(pairs), figsize=(4.2 * len(pairs), 3.4), layout="constrained", squeeze=False)
for axes, surface in zip(panels[0], pairs.values(), strict=True):
    drawn = axes.pcolormesh(
        surface.grid, surface.partner_grid, np.transpose(surface.mean), cmap="RdBu_r", shading="nearest"
    )
    axes.set(xlabel=surface.column, ylabel=surface.partner_column)
    figure.colorbar(drawn, ax=axes, label="adds to the response")
