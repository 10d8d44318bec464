"""The augmented table [X, Xk] that every statistic is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from grip2.standardise import standardise

# Tables below this many entries make matrix products too small to share between threads.
ONE_THREAD_BELOW = 4_000_000

Pair = tuple[np.ndarray, np.ndarray]


def augmented_columns(X: np.ndarray, Xk: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """Columns of ``[X, Xk]``, each to mean 0 and deviation 1: without it 0/1 columns have no power."""
    p = X.shape[1]
    Z = np.empty((len(X), 2 * p), dtype=dtype)
    Z[:, :p] = standardise(X)
    Z[:, p:] = standardise(Xk)
    return Z


def threads_for(Z: np.ndarray) -> AbstractContextManager[Any]:
    """One BLAS thread for small tables: on a busy machine two that wait for each other take far longer."""
    return threadpool_limits(1, user_api="blas") if Z.size < ONE_THREAD_BELOW else nullcontext()


def distinct(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """One pair where all are the same arrays (members of an ensemble), else all of them."""
    first = pairs[0]
    same = all(X is first[0] and Xk is first[1] for X, Xk in pairs)
    return pairs[:1] if same else pairs
