"""Power and time of the default statistic, Staged with default settings, on signals that are easy once the penalty is right.

python benchmarks/default_power.py    # ten data sets of each, about eight minutes on two cores
"""

from __future__ import annotations

import time

import numpy as np

from grip2.datasets import make_family
from grip2.datasets.synthetic import ar1_covariance, ar1_rows
from grip2.filter import knockoff_threshold
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import LassoCoefficient, Staged

P, RHO, FDR, SEEDS = 200, 0.5, 0.1, range(1, 11)


def weak_linear(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """2,000 rows, 20 effects of 0.15, noise of deviation 1."""
    rng = np.random.default_rng([seed, 5])
    X = ar1_rows(2000, P, RHO, rng)
    support = np.sort(rng.choice(P, 20, replace=False))
    return X, X[:, support] @ (0.15 * rng.choice([-1.0, 1.0], 20)) + rng.standard_normal(2000), support


def family(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    made = make_family(name, n, P, RHO, 0.5, truth=seed, random_state=seed)
    return made.X, made.y, made.support


def main() -> None:
    for kind, n in (("linear", 2000), ("abs", 10_000), ("products", 10_000), ("interactions", 10_000)):
        scores: dict[str, list[tuple[float, float, float]]] = {"Staged": [], "LCD": []}
        for seed in SEEDS:
            X, y, support = weak_linear(seed) if kind == "linear" else family(kind, n, seed)
            sampler = GaussianKnockoffs(np.zeros(P), ar1_covariance(P, RHO), s="mvr").fit(X)
            Xk = sampler.sample(X, rng=np.random.default_rng([seed, 6]))
            for method, statistic in (("Staged", Staged()), ("LCD", LassoCoefficient())):
                began = time.perf_counter()
                W = statistic.importance(X, Xk, y, rng=np.random.default_rng(seed)).W
                chosen = np.flatnonzero(knockoff_threshold(W, FDR) <= W)
                result = power(chosen, support), false_discovery_proportion(chosen, support)
                scores[method].append((*result, time.perf_counter() - began))
        for method, rows in scores.items():
            powers, fdps, seconds = np.array(rows).T
            # The first fit of a shape compiles.
            print(
                f"{kind}, n = {n:,}: {method:6} power {powers.mean():.3f} (least {powers.min():.2f}), FDP {fdps.mean():.3f}, "
                f"{np.median(seconds[1:]):.1f} s a fit",
                flush=True,
            )


if __name__ == "__main__":
    main()
