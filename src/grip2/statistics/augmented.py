"""What every statistic does to the data first: standardise the columns of [X, Xk] and the response."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from grip2.errors import Grip2Error
from grip2.statistics.base import standardise

# Tables below this many entries make matrix products too small to share between threads.
ONE_THREAD_BELOW = 4_000_000


def paired_inputs(X: np.ndarray, Xk: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """Columns of ``[X, Xk]``, each to mean 0 and deviation 1: without it 0/1 columns have no power."""
    p = X.shape[1]
    Z = np.empty((len(X), 2 * p), dtype=dtype)
    Z[:, :p] = standardise(X)
    Z[:, p:] = standardise(Xk)
    return Z


def threads_for(Z: np.ndarray) -> AbstractContextManager[Any]:
    """One BLAS thread for small tables: on a busy machine two that wait for each other take far longer."""
    return threadpool_limits(1, user_api="blas") if Z.size < ONE_THREAD_BELOW else nullcontext()


def response(y: np.ndarray, task: str) -> np.ndarray:
    """A standardised response for regression; class numbers are left alone."""
    return standardise(y) if task == "regression" else y


def one_against_rest(y: np.ndarray) -> list[np.ndarray]:
    """0/1 labels for each two-class problem that several classes pose; two classes pose one."""
    n_classes = int(y.max()) + 1
    if n_classes == 1:
        raise Grip2Error("classification: y holds one class only, so nothing can be told apart.")
    which = [1] if n_classes == 2 else range(n_classes)
    return [(y == k).astype(float) for k in which]


def distinct(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """One pair where all are the same arrays (members of an ensemble), else all of them."""
    first = pairs[0]
    same = all(X is first[0] and Xk is first[1] for X, Xk in pairs)
    return pairs[:1] if same else pairs
