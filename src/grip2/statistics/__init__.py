"""Knockoff statistics: how important is each feature, and its knockoff, for predicting the response?

Names are imported when first used: the lasso does not wait for the network engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grip2.statistics.base import Statistic
    from grip2.statistics.deeppink import DeepPINK
    from grip2.statistics.deepshap import DeepSHAP
    from grip2.statistics.ensemble import Ensemble
    from grip2.statistics.from_estimator import FromEstimator
    from grip2.statistics.grip import GRIP1, GRIP2, GRIP1a, GroupLasso
    from grip2.statistics.lasso import LassoCoefficient, LassoPath
    from grip2.statistics.mald import MALD
    from grip2.statistics.random_forest import RandomForest

_WHERE = {
    "DeepPINK": "deeppink",
    "DeepSHAP": "deepshap",
    "Ensemble": "ensemble",
    "FromEstimator": "from_estimator",
    "GRIP1": "grip",
    "GRIP1a": "grip",
    "GRIP2": "grip",
    "GroupLasso": "grip",
    "LassoCoefficient": "lasso",
    "LassoPath": "lasso",
    "MALD": "mald",
    "RandomForest": "random_forest",
    "Statistic": "base",
}

__all__ = [
    "GRIP1",
    "GRIP2",
    "MALD",
    "DeepPINK",
    "DeepSHAP",
    "Ensemble",
    "FromEstimator",
    "GRIP1a",
    "GroupLasso",
    "LassoCoefficient",
    "LassoPath",
    "RandomForest",
    "Statistic",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
