"""Knockoff statistics: how important is each feature, and its knockoff, for predicting the response?

Public names come from the registry and are imported when first used: the lasso can be used without loading the network engine.
"""

from __future__ import annotations

from grip2.registry import lazy_exports
from grip2.statistics.registry import STATISTICS, WRAPPERS

_WHERE = {**STATISTICS.own_modules(), **WRAPPERS, "Statistic": "grip2.statistics.base"}

__all__ = sorted(_WHERE)

__getattr__, __dir__ = lazy_exports(
    __name__, _WHERE, renamed={"PairPosterior": "EffectPosterior", "Nothing": "RandomScores"}
)
