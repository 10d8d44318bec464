"""Why does DeepPINK find so much on the paper's synthetic data? One trial, one setting changed at a time.

"Original": the authors' published network, minibatches of 10; their squared statistic ``S_j^2 - S~_j^2`` beside ours.

python benchmarks/deeppink_ablation.py    # one to three minutes a row on one core
"""

from __future__ import annotations

import numpy as np

from grip2.datasets import make_ar1
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import DeepPINK

ORIGINAL = {"steps": None, "hidden": None, "depth": 2, "batch_size": 10}
L1 = 0.05 * float(np.sqrt(2 * np.log(500) / 20_000))  # the default
CHANGES = {
    "as in the table": {},
    "no l1 penalty": {"l1": 0.0},
    "l1 penalty times 2": {"l1": 2 * L1},
    "l1 penalty times 4": {"l1": 4 * L1},
    "ReLU": {"activation": "relu"},
    "ReLU, no l1 penalty": {"activation": "relu", "l1": 0.0},
    "two layers of p units": {"hidden": 500, "depth": 2},
    "original, 5 epochs": {**ORIGINAL, "epochs": 5},
    "original, 20 epochs": {**ORIGINAL, "epochs": 20},
}
LEVELS = (0.05, 0.1, 0.2)


def main() -> None:
    made = make_ar1(random_state=0)
    sampler = GaussianKnockoffs(np.zeros(500), made.covariance, s="equi").fit(made.X)
    Xk = sampler.sample(made.X, rng=np.random.default_rng(0))
    for label, changes in CHANGES.items():
        statistic = DeepPINK.paper("synthetic").set_params(**changes)
        found = statistic.importance(made.X, Xk, made.y, rng=np.random.default_rng(1))
        report(label, found.W, made.support)
        report("  squared statistic", found.original**2 - found.knockoff**2, made.support)


def report(label: str, W: np.ndarray, support: np.ndarray) -> None:
    cells = []
    for q in LEVELS:
        chosen = np.flatnonzero(knockoff_threshold(W, q) <= W)
        cells.append(f"{power(chosen, support):.2f} / {false_discovery_proportion(chosen, support):.2f}")
    print(f"{label:24s}", *cells, sep="   ", flush=True)


if __name__ == "__main__":
    main()
