"""Helpers of statistics that are fitted to the table of all members: threads, and draws that are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count

from grip2.blas_threads import one_blas_thread
from grip2.symmetry import Members

Given = TypeVar("Given")
Made = TypeVar("Made")

# Tables below this many entries make matrix products too small to share between threads.
ONE_THREAD_BELOW = 4_000_000


def threads_for(Z: np.ndarray) -> AbstractContextManager[Any]:
    """One BLAS thread for small tables: on a busy machine two that wait for each other take far longer."""
    return one_blas_thread() if Z.size < ONE_THREAD_BELOW else nullcontext()


def shared_among_threads(work: Callable[[Given], Made], parts: Sequence[Given]) -> list[Made]:
    """The results of ``work`` on all parts, in order, with one thread of linear algebra each.

    For work that releases Python's global lock. These threads do not wait for each other, unlike those of a linear algebra
    library.
    """
    with one_blas_thread(), ThreadPoolExecutor(max(1, min(len(parts), cpu_count()))) as pool:
        return list(pool.map(work, parts))


@contextmanager
def computed_beside(work: Callable[[], Made], *, at_once: bool) -> Iterator[Callable[[], Made]]:
    """A function that gives the result of ``work``, computed meanwhile by a thread of its own, or else when it is asked for."""
    if not at_once:
        yield work
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work).result


def distinct(draws: Sequence[Members]) -> Sequence[Members]:
    """One draw where all are the same (members of an ensemble), else all of them."""
    return draws[:1] if all(members is draws[0] for members in draws) else draws
