"""The S matrix of Gaussian knockoffs: four rules, with copies and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grip2.knockoffs.s_matrix import SOLVERS

from .designs import ar1, mvr_objective


def solver(*, method: str, p: int, copies: int = 1, group_size: int = 1) -> Callable[[], Callable[[], dict[str, Any]]]:
    Sigma = ar1(p, 0.5)
    groups = None if group_size == 1 else np.arange(p) // group_size

    def call() -> Callable[[], dict[str, Any]]:
        S = SOLVERS[method](Sigma, copies=copies, groups=groups)
        return lambda: {"mvr objective": mvr_objective(S, Sigma, copies)}

    return call
