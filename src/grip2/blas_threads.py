"""Limits the linear algebra library to one thread for small or repeatable work, safely for several callers at once.

The number of threads mostly belongs to the process. If two fits in different threads each restored the number that they found,
the process could be left with one thread for ever, because the second finds the limit of the first; and in newer versions of
threadpoolctl only the thread that has set a limit can remove it. So the first caller sets the limit, the last one removes it,
and both do so in a short-lived thread of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_changing = threading.Lock()
_users = 0
_limit: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it, matrix products are computed by the calling thread alone."""
    _come()
    try:
        # Some libraries have a limit for every thread.
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        _leave()


def _come() -> None:
    global _users
    with _changing:
        if _users == 0:
            _in_a_thread_of_its_own(_set)
        _users += 1


def _leave() -> None:
    global _users
    with _changing:
        _users -= 1
        if _users == 0:
            _in_a_thread_of_its_own(_take_off)


def _set() -> None:
    global _limit
    _limit = threadpool_limits(limits=1, user_api="blas")


def _take_off() -> None:
    if _limit is not None:
        _limit.restore_original_limits()


def _in_a_thread_of_its_own(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
