"""The Bayesian model of effects, the first stage of the default statistic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grip2.statistics.effects import EffectPosterior

from .designs import Design, correlated, found_by, independent


def curved_effects(*, n: int, p: int, true: int) -> Callable[[], dict[str, Any]]:
    return scored(correlated(n, p, true=true, curved=True))


def independent_columns(*, n: int, p: int) -> Callable[[], dict[str, Any]]:
    return scored(independent(n, p))


def scored(design: Design) -> Callable[[], dict[str, Any]]:
    def call() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        importance = EffectPosterior().importance(design.X, design.Xk, design.y, rng=rng, task="regression")
        return found_by(np.asarray(importance.W), design.support)

    return call
