"""Errors that the user can correct, as distinct from bugs.

A message says where the error was found, what must hold, what was got and what to do. On the command line these errors end with
exit code 2. A full disk or a lost cluster ends with 1; any other exception is a bug, ends with 1 and asks for a report.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

from grip2.spelling import nearest_name


class Grip2Error(ValueError):
    """Bad input, bad settings or a file that cannot be used."""


class NothingSelected(Grip2Error):
    """An empty selection when columns are asked for: `KnockoffSelector(empty="error")`."""


class Grip2Failure(RuntimeError):
    """A correct request that could not be completed: a full disk, a lost cluster (exit code 1, but no bug)."""


# Errors of the operating system that are caused neither by the program nor by its input.
_OUTSIDE = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EFBIG") if hasattr(errno, name)}


def comes_from_outside(error: BaseException) -> bool:
    """Is an error caused by a full or broken disk or the like, not by a bug?"""
    return isinstance(error, Grip2Failure) or (isinstance(error, OSError) and error.errno in _OUTSIDE)


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """ " Did you mean 'x'?" for the choice that is most similar to ``name``; empty if none is similar."""
    near = nearest_name(str(name), choices)
    return "" if near is None else f" Did you mean {near!r}?"
