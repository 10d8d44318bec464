"""Ends worker processes when the process that started them ends, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

_LOOK_SECONDS = 0.5


def leave_with_parent(parent: int) -> None:
    """Called in a worker when it starts: the worker ends as soon as the process ``parent``, which started it, has ended.

    A parent that is killed cannot end its workers, which would wait for tasks for minutes or for ever. An interrupt from the
    keyboard reaches all of them, but workers ignore it: the parent ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_wait_and_leave, args=[parent], name="grip2-orphans", daemon=True).start()


def _wait_and_leave(parent: int) -> None:
    known = multiprocessing.parent_process()
    if os.name == "nt":  # where an orphan keeps its parent's number
        if known is None:
            return
        known.join()
    else:  # also in workers that another library has started
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
    os._exit(1)
