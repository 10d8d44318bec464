"""Helpers of statistics that are fitted to the table of all members."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from grip2.symmetry import Members

# Tables below this many entries make matrix products too small to share between threads.
ONE_THREAD_BELOW = 4_000_000


def threads_for(Z: np.ndarray) -> AbstractContextManager[Any]:
    """One BLAS thread for small tables: on a busy machine two that wait for each other take far longer."""
    return threadpool_limits(1, user_api="blas") if Z.size < ONE_THREAD_BELOW else nullcontext()


def distinct(draws: Sequence[Members]) -> Sequence[Members]:
    """One draw where all are the same (members of an ensemble), else all of them."""
    return draws[:1] if all(members is draws[0] for members in draws) else draws
