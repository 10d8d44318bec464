"""Knockoff statistics: how important is each feature, and its knockoff, for predicting the response?

Public names come from the registry and are imported when first used: the lasso does not wait for the network engine.
"""

from __future__ import annotations

import importlib
from typing import Any

from grip2.statistics.registry import STATISTICS, WRAPPERS

# Class -> module.
_WHERE = {
    **{entry.location.partition(":")[2]: entry.location.partition(":")[0] for entry in STATISTICS.own_entries()},
    **WRAPPERS,
    "Statistic": "grip2.statistics.base",
}

__all__ = sorted(_WHERE)

# Names of earlier versions, and what they are called now.
_RENAMED = {"PairPosterior": "EffectPosterior", "Nothing": "RandomScores"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise ImportError(
            f"grip2.statistics.{name} is now called {_RENAMED[name]}: from {__name__} import {_RENAMED[name]}"
        )
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
