"""The lasso on columns and knockoffs together: ours and scikit-learn's, on the same columns, penalties and folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, lasso_path

from grip2.statistics.lasso_cv import draw_folds, gram_path, lambda_grid, lasso_cv, moments

from .designs import correlated

PENALTIES, RATIO, FOLDS = 100, 1e-3, 5


def _columns(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    design = correlated(n, p, rho=0.8, true=p // 5, curved=False)
    Z = np.hstack([design.X, design.Xk])
    return (Z - Z.mean(axis=0)) / Z.std(axis=0), design.y - design.y.mean()


def cross_validated(*, n: int, p: int, ours: bool) -> Callable[[], dict[str, Any]]:
    Z, y = _columns(n, p)
    folds = draw_folds(n, FOLDS, np.random.default_rng(0))
    splits = [(np.setdiff1d(np.arange(n), held_out), held_out) for held_out in folds]

    def call() -> dict[str, Any]:
        if ours:
            return {"lambda": float(lasso_cv(Z, y, folds=folds).lambda_)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # far below the penalty that is chosen
            return {"lambda": float(LassoCV(cv=splits).fit(Z, y).alpha_)}

    return call


def path(*, n: int, p: int, ours: bool) -> Callable[[], dict[str, Any]]:
    Z, y = _columns(n, p)
    lambdas = lambda_grid(float(np.max(np.abs(Z.T @ y))) / n, PENALTIES, RATIO)

    def call() -> dict[str, Any]:
        if ours:
            coefficients = np.asarray(gram_path(moments(Z, y), lambdas))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                coefficients = lasso_path(Z, y, alphas=lambdas)[1]
        return {"sum of coefficients at the end": float(np.abs(coefficients[:, -1]).sum())}

    return call
