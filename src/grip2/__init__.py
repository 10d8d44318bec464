"""grip2: feature selection with a controlled false discovery rate, for nonlinear signals and correlated features.

>>> from grip2 import KnockoffSelector
>>> selector = KnockoffSelector(fdr=0.1, random_state=0).fit(X, y)  # doctest: +SKIP
>>> selector.get_feature_names_out()                                # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from grip2.result import Importance, SelectionResult
    from grip2.selector import KnockoffSelector, select
    from grip2.statistics import GRIP2

# Public names load on first use, so that `grip2 --help` does not wait for JAX and scikit-learn.
_HOMES = {
    "GRIP2": "grip2.statistics",
    "Importance": "grip2.result",
    "KnockoffSelector": "grip2.selector",
    "SelectionResult": "grip2.result",
    "select": "grip2.selector",
}

__all__ = ["GRIP2", "Importance", "KnockoffSelector", "SelectionResult", "__version__", "select"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grip2' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
