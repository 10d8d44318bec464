"""The workers of a Dask client as an executor whose futures always end.

Dask's own executor loses a task whose result is being fetched when the client closes or its scheduler ends: the fetch fails
silently, and whoever waits for the result waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

# Two threads may cancel: that of the client, and that which shuts the executor down. The lock lets a future be cancelled once.
_CANCELLING = Lock()


class DaskExecutor(Executor):
    """``client``: an open ``distributed.Client``, which its owner closes before the executor is shut down."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._sent: WeakSet[Future[Any]] = WeakSet()
        self._ended = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._ended:
            raise RuntimeError("cannot schedule new futures after shutdown")
        task = self._client.submit(fn, *args, pure=False, **kwargs)
        future: Future[T] = Future()

        def withdraw(future: Future[T]) -> None:
            if future.cancelled() and self._client.status == "running" and task.status != "cancelled":
                task.cancel()

        future.add_done_callback(withdraw)
        self._sent.add(future)
        self._client.loop.add_callback(self._hand_on, task, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further tasks, and cancel the futures of those that were sent."""
        self._ended = True
        for future in list(self._sent):
            _cancel(future)

    async def _hand_on(self, task: Any, future: Future[T]) -> None:
        """Pass the outcome of the task to the future, in the thread of the client."""
        try:
            result = await task.result()
        except (CancelledError, asyncio.CancelledError):
            _cancel(future)
        except Exception as error:
            if self._ended or self._client.status not in ("running", "connecting"):
                _cancel(future)  # the connection was closed on purpose
            else:
                with suppress(InvalidStateError):  # cancelled meanwhile
                    future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)


def _cancel(future: Future[Any]) -> None:
    with _CANCELLING:
        if not future.done() and future.cancel():
            future.set_running_or_notify_cancel()  # wakes those who wait for several tasks
