"""A pass over a table: threads or the workers of a cluster turn every span into sums, which are added up in fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

from joblib import cpu_count

from grip2 import stopping
from grip2.blas_threads import one_blas_thread
from grip2.errors import Grip2Failure
from grip2.progress import Progress
from grip2.streaming.blocks import RowBlocks, Span

# Spans that are sent to a cluster before the first of them has come back.
_AHEAD = 32


class Sums(Protocol):
    """What a pass finds in some rows; what it finds in later rows can be added."""

    def add(self, later: Self) -> None: ...


Found = TypeVar("Found", bound=Sums)
Found_co = TypeVar("Found_co", bound=Sums, covariant=True)


class Work(Protocol[Found_co]):
    """What a pass does with every span."""

    def for_span(self, span: Span) -> Callable[[RowBlocks, Span], Found_co]:
        """The work on one span, with nothing but what that needs: it is sent to the workers of a cluster."""


def run_pass(
    source: RowBlocks,
    work: Work[Found],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Found:
    """The sums of all spans. ``executor``: workers, to which ``work`` and the source are sent; None: threads of this process."""
    if executor is not None and source.readable_elsewhere:
        return _reduced(source, work, executor, _AHEAD, progress)
    with one_blas_thread(), ThreadPoolExecutor(max(1, min(len(source.spans), cpu_count()))) as threads:
        return _reduced(source, work, threads, 1 + cpu_count(), progress)


def _reduced(
    source: RowBlocks,
    work: Work[Found],
    executor: Executor,
    ahead: int,
    progress: Progress | None,
) -> Found:
    """The sums of all spans, added in their order. At most ``ahead`` spans are in work, so that few sums wait in memory."""
    spans = source.spans
    waiting: deque[Future[Found]] = deque()
    total: Found | None = None

    def submitted(span: Span) -> Future[Found]:
        return executor.submit(_alone, work.for_span(span), source.for_span(span), span)

    try:
        for k, span in enumerate(spans):
            while len(waiting) < ahead and k + len(waiting) < len(spans):
                waiting.append(submitted(spans[k + len(waiting)]))
            with stopping.at_once():
                try:
                    found = waiting.popleft().result()
                except CancelledError:  # there are no workers any more
                    raise
                except Exception:
                    # The sums may have been lost with the worker that held them. An error of the work itself will occur again.
                    found = submitted(span).result()
            if total is None:
                total = found
            else:
                total.add(found)
            if progress is not None:
                progress(k + 1, len(spans))
    except CancelledError:
        raise Grip2Failure("the workers that read the table are gone (a Dask scheduler that ended?).") from None
    finally:
        for future in waiting:
            future.cancel()
    assert total is not None
    return total


def _alone(work: Callable[[RowBlocks, Span], Found], source: RowBlocks, span: Span) -> Found:
    """The work on a span with one thread of the linear algebra library: matrix products then round alike everywhere."""
    with one_blas_thread():
        return work(source, span)
