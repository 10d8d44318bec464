"""Gaussian knockoffs (appendix B.1): exact when X is normal with the given mean and covariance."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from sklearn.covariance import ledoit_wolf

from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.s_matrix import equicorrelated


class GaussianKnockoffs(KnockoffSampler):
    """Second-order Gaussian knockoffs; exact for normal X with known covariance, approximate otherwise.

    Parameters
    ----------
    mean, covariance : array or None
        Of the rows of X. None: estimated in ``fit`` (sample mean, Ledoit-Wolf covariance).
    s : {"equi"}
        How the diagonal of S is chosen.
    """

    def __init__(
        self, mean: np.ndarray | None = None, covariance: np.ndarray | None = None, s: str = "equi"
    ) -> None:
        self.mean = mean
        self.covariance = covariance
        self.s = s

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        X = np.asarray(X, dtype=float)
        self.n_features_in_ = X.shape[1]
        self.mean_ = X.mean(axis=0) if self.mean is None else np.asarray(self.mean, float)
        self.covariance_ = ledoit_wolf(X)[0] if self.covariance is None else np.asarray(self.covariance, float)
        self.s_ = equicorrelated(self.covariance_)
        S = np.diag(self.s_)
        self._A = cho_solve(cho_factor(self.covariance_), S)
        M = 2 * S - S @ self._A
        M = (M + M.T) / 2
        jitter = 1e-10 * np.trace(M) / len(M)
        self._C = cholesky(M + jitter * np.eye(len(M)), lower=True)
        return self

    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal(X.shape)
        return X - (X - self.mean_) @ self._A + noise @ self._C.T

    def assumptions(self) -> list[str]:
        known = self.covariance is not None
        return [
            "The rows of X are independent draws from one multivariate normal distribution.",
            "Its covariance is the one given."
            if known
            else "Its covariance was estimated from the same rows (Ledoit-Wolf), so control is approximate.",
        ]
