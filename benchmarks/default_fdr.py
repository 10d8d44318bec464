"""False discoveries of the default selector on the demo's design, with estimated and with exact knockoffs.

python benchmarks/default_fdr.py    # 60 data sets, about ten minutes on one core
"""

from __future__ import annotations

import numpy as np

from grip2 import KnockoffSelector
from grip2.datasets import make_hidden_interactions
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion


def main() -> None:
    for label in ("copula (default)", "exact Gaussian"):
        shares, signs = [], []
        for seed in range(1, 61):
            made = make_hidden_interactions(random_state=seed)
            exact = GaussianKnockoffs(np.zeros(100), made.covariance)
            sampler = exact if label == "exact Gaussian" else None
            found = KnockoffSelector(None, sampler, fdr=0.1, copies=1, random_state=seed).fit(made.X, made.y).result_
            shares.append(false_discovery_proportion(np.flatnonzero(found.selected_mask), made.support))
            signs.append(np.sign(np.delete(found.W, made.support)))
        error = np.std(shares) / np.sqrt(len(shares))
        positive, negative = (int(np.sum(np.concatenate(signs) == sign)) for sign in (1, -1))
        print(f"{label}: mean FDP {np.mean(shares):.3f} +- {error:.3f}, null signs {positive} : {negative}", flush=True)


if __name__ == "__main__":
    main()
