"""Knockoffs of a table: the fit and one draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grip2.knockoffs.registry import SAMPLERS

from .designs import independent


def draw(*, kind: str, n: int, p: int) -> Callable[[], dict[str, Any]]:
    X = independent(n, p).X

    def call() -> dict[str, Any]:
        SAMPLERS.create(kind).fit(X).sample(X, rng=np.random.default_rng(0))
        return {}

    return call
