"""Small tables, and a sampler that does not draw knockoffs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from grip2 import KnockoffSelector
from grip2.knockoffs.base import KnockoffSampler
from grip2.statistics import LassoCoefficient


def correlated(n: int, p: int, rho: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.sqrt(1 - rho) * rng.standard_normal((n, p)) + np.sqrt(rho) * rng.standard_normal((n, 1))


def measurement(X: np.ndarray, n_true: int, seed: int = 1) -> np.ndarray:
    return X[:, :n_true].sum(axis=1) + np.random.default_rng(seed).standard_normal(len(X)) * np.sqrt(n_true)


def lasso_selector(knockoffs: object = "gaussian", **parameters: object) -> KnockoffSelector:
    return KnockoffSelector(LassoCoefficient(), knockoffs, **{"fdr": 0.2, "random_state": 0, **parameters})


def mixed_table(n: int = 150) -> pd.DataFrame:
    """Eight numbers and two categories of four levels each."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.standard_normal((n, 8)), columns=[f"x{j}" for j in range(8)])
    for name in ("city", "kind"):
        frame[name] = rng.choice(["a", "b", "c", "d"], n)
    return frame


class PermutedColumns(KnockoffSampler):
    """Broken: every column is permuted by itself, so that its "knockoff" does not depend on the other columns."""

    def fit(self, X, y=None, *, groups=None, categories=()):
        self.covariance_ = np.cov(X.T)
        self.s_ = np.diag(self.covariance_)
        self._remember_columns(X, X.shape[1])
        return self

    def _sample(self, X, rng, copies):
        return rng.permuted(X, axis=0)[np.newaxis]

    def assumptions(self):
        return ["None that holds."]
