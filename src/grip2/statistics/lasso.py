"""Lasso statistics: the linear yardstick that stands beside every comparison."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LassoCV

from grip2.result import Importance
from grip2.statistics.base import Progress, Statistic, standardise


class LassoCoefficient(Statistic):
    """Lasso coefficient difference (LCD): |coefficient| at the cross-validated penalty, on standardised columns."""

    def __init__(self, folds: int = 5) -> None:
        self.folds = folds

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        Z = np.hstack([standardise(X), standardise(Xk)])
        model = LassoCV(cv=self.folds).fit(Z, standardise(y))
        strength = np.abs(model.coef_)
        p = X.shape[1]
        return Importance(strength[:p], strength[p:], {"lambda": float(model.alpha_)})
