"""One thread of the linear algebra library while something small or repeatable is computed, safe in several threads.

The number of threads mostly belongs to the process. Two fits in threads that each restore what they found would leave the
process with one thread for ever, since the second finds the first one's limit; and newer versions of threadpoolctl let only
the thread that has set a limit take it off. So the first to come sets the limit, the last to leave takes it off, and both do
so in a thread that ends at once, to which no limit is bound.
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
    """Within it, products of matrices are computed by the thread that asks for them."""
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
