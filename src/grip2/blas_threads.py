"""One thread of the linear algebra library while something small or repeatable is computed, safe in several threads.

The number of threads belongs to the process. Two fits that run in threads and each restore what they found would leave the
process with one thread for ever: the second finds the first one's limit. So the first to come sets the limit, and the last to
leave takes it off.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_changing = threading.Lock()
_users = 0
_limit: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it, products of matrices are computed by the thread that asks for them."""
    global _users, _limit
    with _changing:
        if _users == 0:
            _limit = threadpool_limits(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _changing:
            _users -= 1
            if _users == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None
