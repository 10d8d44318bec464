"""Handles Ctrl-C and requests to terminate: they are never lost, and never raised in the middle of compiled code.

Python raises KeyboardInterrupt wherever it happens to be. In an import, in a callback of a compiler or in a destructor it is
then swallowed or crashes the process. So the command line only remembers a signal. `check` raises it at places where it is safe
to stop, and within `at_once` it is raised wherever it comes. If no such place is reached within `PATIENCE_SECONDS`, or at a
second signal, a separate thread ends the process: it undoes what was begun (`undone_on_stop`), says so in one line and exits
with the code 128 + signal. This works even while the main thread is inside a long compiled call.

Programs that use grip2 as a library are not affected: only the command line calls `install`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 1.0
UNWINDING_SECONDS = 10.0  # for a command in which KeyboardInterrupt was raised and that is cleaning up
NOTHING_WRITTEN = "stopped; nothing was written."

_SHOW_CURSOR = "\x1b[?25h"  # a progress bar hides it
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

_struck = 0  # the first signal that came; 0: none
_heard = False  # whether KeyboardInterrupt has been raised
_at_once = False
_installed = False
_message = NOTHING_WRITTEN
_undo: list[Callable[[], None]] = []
_staying = threading.RLock()  # held by steps that must not be cut off
_again = threading.Event()  # set at the second signal


def install() -> None:
    """Take over the signals that ask this process to stop; those that the caller has chosen to ignore stay ignored."""
    global _installed
    if _installed or threading.current_thread() is not threading.main_thread():
        return
    _installed = True
    reader, writer = os.pipe()
    threading.Thread(target=_watch, args=[reader], name="grip2-stopping", daemon=True).start()
    # The interpreter writes the number of a signal there the moment it comes, also while compiled code is running.
    wakes = os.name != "nt"
    if wakes:
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def remember(number: int, _: object) -> None:
        global _heard, _struck
        _struck = _struck or number
        if not wakes:
            os.write(writer, bytes([number]))
        if _at_once and not _heard:
            _heard = True
            raise KeyboardInterrupt

    for each in _handled():
        signal.signal(each, remember)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def check() -> None:
    """Raise KeyboardInterrupt if a signal has come; called where it is safe to stop."""
    global _heard
    if _struck:
        _heard = True
        raise KeyboardInterrupt


@contextmanager
def at_once() -> Iterator[None]:
    """Within it a signal raises KeyboardInterrupt at once: for waiting in plain Python, without callbacks."""
    global _at_once
    check()
    _at_once = True
    try:
        yield
    finally:
        _at_once = False


def struck() -> bool:
    """Has a signal come?"""
    return bool(_struck)


def exit_code() -> int:
    """The exit code of a stopped process: 130 after Ctrl-C, 143 if it was asked to terminate."""
    return 128 + (_struck or signal.SIGINT)


def message() -> str:
    """The text that a stopped command prints."""
    return _message


def say_when_stopped(text: str) -> None:
    """Replace the text that a stopped command prints, for commands that keep something."""
    global _message
    _message = text


@contextmanager
def undone_on_stop(undo: Callable[[], None]) -> Iterator[None]:
    """Within it, a process that is stopped calls ``undo`` before it ends; leaving it normally calls nothing."""
    _undo.append(undo)
    try:
        yield
    finally:
        _undo.remove(undo)


@contextmanager
def not_now() -> Iterator[None]:
    """Within it the process is not ended: for short steps that belong together."""
    with _staying:
        check()
        yield


def _handled() -> list[int]:
    known = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]


def _watch(reader: int) -> None:
    """The thread that reads the numbers of signals as they come."""
    global _struck
    numbers, first = _handled(), True
    while True:
        for number in os.read(reader, 64):
            if number not in numbers:
                continue
            _struck = _struck or number
            if first:
                threading.Thread(target=_leave_after_patience, daemon=True).start()
            else:
                _again.set()
            first = False


def _leave_after_patience() -> None:
    if not _again.wait(PATIENCE_SECONDS) and _heard:
        _again.wait(UNWINDING_SECONDS)
    with _staying:
        for undo in reversed(_undo):
            with contextlib.suppress(Exception):
                undo()
        text = f"grip2: {_message}\n"
        with contextlib.suppress(OSError):
            os.write(2, ((_SHOW_CURSOR if sys.stderr and sys.stderr.isatty() else "") + text).encode())
        os._exit(exit_code())


def _forget() -> None:
    """In a forked child: its signals are not those of the process that forked it."""
    signal.set_wakeup_fd(-1)
    for number in _handled():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
