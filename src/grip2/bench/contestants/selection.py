"""From a table to a selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grip2 import KnockoffSelector

from .designs import FDR, Design, correlated, independent, of_selection


def correlated_columns(*, n: int, p: int, true: int, **words: Any) -> Callable[[], dict[str, Any]]:
    return selected(correlated(n, p, true=true, curved=False), **words)


def independent_columns(*, n: int, p: int, **words: Any) -> Callable[[], dict[str, Any]]:
    return selected(independent(n, p), **words)


def selected(design: Design, **words: Any) -> Callable[[], dict[str, Any]]:
    """``words`` are those of `KnockoffSelector`; without any, its defaults."""

    def call() -> dict[str, Any]:
        selector = KnockoffSelector(fdr=FDR, random_state=0, **words).fit(design.X, design.y)
        return of_selection(np.asarray(selector.get_support(indices=True)), design.support)

    return call
