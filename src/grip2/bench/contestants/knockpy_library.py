"""knockpy: masked likelihood ratios, S matrices, and its filter from table to selection."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from knockpy.knockoff_filter import KnockoffFilter
from knockpy.mlr import MLR_Spikeslab_Splines
from knockpy.smatrix import compute_smatrix

from .designs import FDR, ar1, correlated, found_by, mvr_objective, of_selection

warnings.filterwarnings("ignore")
NAMES = {"equi": "equicorrelated", "sdp": "sdp", "mvr": "mvr", "maxent": "maxent"}


def mlr_splines(*, n: int, p: int, true: int) -> Callable[[], dict[str, Any]]:
    """3 chains of 1,000 draws, the lengths that its authors use for additive models."""
    design = correlated(n, p, true=true, curved=True)

    def call() -> dict[str, Any]:
        statistic = MLR_Spikeslab_Splines(n_iter=1000, chains=3)
        W = statistic.fit(X=design.X, Xk=design.Xk, y=design.y, groups=None)
        return found_by(np.asarray(W), design.support)

    return call


def solver(*, method: str, p: int, group_size: int = 1) -> Callable[[], Callable[[], dict[str, Any]]]:
    Sigma = ar1(p, 0.5)
    groups = None if group_size == 1 else np.arange(p) // group_size + 1

    def call() -> Callable[[], dict[str, Any]]:
        S = compute_smatrix(Sigma, groups=groups, method=NAMES[method], max_block=p)
        return lambda: {"mvr objective": mvr_objective(S, Sigma, 1)}

    return call


def knockoff_filter(*, n: int, p: int, true: int, statistic: str) -> Callable[[], dict[str, Any]]:
    design = correlated(n, p, true=true, curved=False)

    def call() -> dict[str, Any]:
        chosen = KnockoffFilter(fstat=statistic, ksampler="gaussian").forward(X=design.X, y=design.y, fdr=FDR)
        return of_selection(np.flatnonzero(chosen), design.support)

    return call
