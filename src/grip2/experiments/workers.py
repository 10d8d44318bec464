"""Workers that run tasks: local processes or a Dask cluster, behind the interface of concurrent.futures.

Each worker computes with a fixed number of threads, one by default, so that workers do not compete for cores, and sums are
added in the same order whatever the number of workers.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, TypeVar

from grip2.errors import Grip2Error
from grip2.experiments.dask_executor import DaskExecutor
from grip2.orphans import leave_with_parent

_ANSWER_SECONDS = 10  # in which a Dask scheduler must answer

T = TypeVar("T")


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables that must be set before the numerical libraries load."""
    count = str(threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC")
    variables = dict.fromkeys(names, count)  # XLA sizes its thread pool by NPROC
    if threads == 1:
        flags = os.environ.get("XLA_FLAGS", "")
        variables["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    return variables


class LocalWorkers:
    """A pool of spawned processes that can be replaced when one of its workers dies."""

    in_this_process: ClassVar[bool] = False
    here: ClassVar[bool] = True  # workers have the same files as this process

    def __init__(self, jobs: int, threads: int = 1) -> None:
        self.capacity = jobs
        self._variables = thread_environment(threads)
        self._saved: dict[str, str | None] = {}

    @property
    def window(self) -> int:
        """Tasks that are sent out at once: enough that no worker waits for the next one."""
        return 2 * self.capacity

    def __enter__(self) -> LocalWorkers:
        # Set for the lifetime of the pool, because it may start processes, which inherit them, at any time.
        self._saved = {name: os.environ.get(name) for name in self._variables}
        os.environ.update(self._variables)
        self.executor: Executor = self._pool()
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self.executor)
        for name, value in self._saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def replace(self) -> None:
        """A fresh pool, after a worker died and took the old one with it."""
        self._end(self.executor)
        self.executor = self._pool()

    def _pool(self) -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self.capacity, mp_context=context, initializer=leave_with_parent, initargs=(os.getpid(),)
        )

    @staticmethod
    def _end(executor: Any) -> None:
        processes = list((executor._processes or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


class InlineWorkers:
    """No workers: every task is computed in this process, when it is sent."""

    in_this_process: ClassVar[bool] = True
    here: ClassVar[bool] = True

    def __init__(self) -> None:
        self.capacity = self.window = 1
        self.executor: Executor = _Inline()

    def __enter__(self) -> InlineWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def replace(self) -> None:
        """Nothing to do: if this process dies, the run ends."""


class _Inline(Executor):
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class DaskWorkers:
    """The workers of a running Dask scheduler, such as ``tcp://host:8786``; start them with ``--nthreads 1``."""

    in_this_process: ClassVar[bool] = False
    here: ClassVar[bool] = False

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise Grip2Error("--scheduler needs Dask: pip install 'grip2[dask]'.") from None
        untyped: Any = Client
        try:
            # A bare connection first: a client that cannot connect keeps trying in the background, and prints tracebacks.
            asyncio.run(_answers(address))
            self._client: Any = untyped(address, set_as_default=False, timeout=_ANSWER_SECONDS)
        except (TimeoutError, OSError, ValueError) as error:
            raise Grip2Error(
                f"--scheduler: expected the address of a running Dask scheduler such as tcp://host:8786, and none answers at "
                f"{address!r} ({error or 'no answer'}). Start one with `dask scheduler`, or use --jobs."
            ) from None
        self.executor: Executor = DaskExecutor(self._client)

    @property
    def capacity(self) -> int:
        """Tasks that run at once; workers may come and go."""
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def window(self) -> int:
        """Tasks that are sent out at once."""
        return 2 * self.capacity

    def __enter__(self) -> DaskWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(Exception):  # the scheduler may be gone
                self._client.close()
        finally:
            self.executor.shutdown(wait=False)

    def replace(self) -> None:
        """Nothing to do: the scheduler moves tasks of a lost worker to another one by itself."""


Workers = LocalWorkers | DaskWorkers | InlineWorkers


@contextmanager
def open_workers(jobs: int | None = None, scheduler: str | None = None, threads: int = 1) -> Iterator[Workers]:
    """Workers by the options of the command line: local processes (``jobs=None``: one for each core), or a cluster."""
    if scheduler is not None and jobs is not None:
        raise Grip2Error("give --jobs for local processes or --scheduler for a Dask cluster, not both.")
    if jobs is not None and jobs < 1:
        raise Grip2Error(f"--jobs must be at least 1, got {jobs}.")
    count = jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or os.cpu_count() or 1
    workers: Workers = DaskWorkers(scheduler) if scheduler is not None else LocalWorkers(count, threads)
    with workers:
        yield workers


def prepare_worker(threads: int) -> None:
    """Set the variables in a worker that this program did not start: XLA reads them when it first computes."""
    for name, value in thread_environment(threads).items():
        os.environ.setdefault(name, value)


async def _answers(address: str) -> None:
    """Raise unless something at this address answers in Dask's protocol."""
    from distributed.comm.core import connect
    from distributed.security import Security

    security: Any = Security
    greeting = connect(address, timeout=_ANSWER_SECONDS, **security().get_connection_args("client"))
    # Without a timeout this would wait for ever for a server that accepts the connection and never answers.
    comm = await asyncio.wait_for(greeting, _ANSWER_SECONDS)
    comm.abort()
