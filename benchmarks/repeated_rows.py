"""Repeated rows: false discoveries as a function of the share of rows that occur twice.

    python benchmarks/repeated_rows.py      # about 5 minutes

500 rows of 60 normal columns (AR(1), 0.5), some of them repeated with their y; 12 linear effects, as much noise as signal; copula
knockoffs, 5 copies, lasso coefficients; 40 runs for every share, standard errors about 0.015 and 0.02.
"""

from __future__ import annotations

import numpy as np

from grip2.filter import knockoff_threshold
from grip2.knockoffs import CopulaKnockoffs
from grip2.statistics import LassoCoefficient

ROWS, COLUMNS, TRUE, COPIES, RUNS = 500, 60, 12, 5, 40
SHARES = (0.0, 0.01, 0.02, 0.05, 0.09, 0.17, 0.29)


def one(share: float, rng: np.random.Generator) -> list[float]:
    """Shares of false discoveries at fdr 0.1 and 0.2."""
    noise = rng.standard_normal((ROWS, COLUMNS))
    X = noise.copy()
    for j in range(1, COLUMNS):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    true = rng.permutation(COLUMNS)[:TRUE]
    signal = X[:, true] @ rng.choice([-1.0, 1.0], TRUE)
    y = signal / signal.std() + rng.standard_normal(ROWS)
    repeated = round(share * ROWS)
    first = rng.permutation(ROWS)[: ROWS - repeated]
    chosen = np.concatenate([first, first[:repeated]])
    X, y = X[chosen], y[chosen]
    Xk = CopulaKnockoffs().fit(X).sample(X, rng=rng, copies=COPIES)
    W = LassoCoefficient().importance(X, Xk, y, rng=rng).W
    found = [np.flatnonzero(knockoff_threshold(W, fdr, copies=COPIES) <= W) for fdr in (0.1, 0.2)]
    return [len(np.setdiff1d(selected, true)) / max(1, len(selected)) for selected in found]


def main() -> None:
    rng = np.random.default_rng(0)
    for share in SHARES:
        runs = np.array([one(share, rng) for _ in range(RUNS)])
        mean, error = runs.mean(axis=0), runs.std(axis=0) / np.sqrt(RUNS)
        print(
            f"{share:.0%} pairs: {mean[0]:.3f} +- {error[0]:.3f} at 0.1, {mean[1]:.3f} +- {error[1]:.3f} at 0.2",
            flush=True,
        )


if __name__ == "__main__":
    main()
