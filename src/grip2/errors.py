"""Errors that the user can mend, told apart from bugs.

A message says who complains, what must hold, what was got and what to do about it. On the command line these errors end with
exit code 2. A full disk or a lost cluster ends with 1; any other exception is a bug, ends with 1 and asks for a report.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

from grip2.spelling import nearest_name


class Grip2Error(ValueError):
    """Bad input, bad settings or a file that cannot be used."""


class NothingSelected(Grip2Error):
    """An empty selection where columns are asked for: `KnockoffSelector(empty="error")`."""


class Grip2Failure(RuntimeError):
    """Work that was asked for correctly and could not be finished: a full disk, a lost cluster (exit code 1, no bug)."""


# What an operating system says where neither the program nor its input is to blame.
_OUTSIDE = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EFBIG") if hasattr(errno, name)}


def comes_from_outside(error: BaseException) -> bool:
    """Whether an error tells of a full or broken disk or the like, not of a bug."""
    return isinstance(error, Grip2Failure) or (isinstance(error, OSError) and error.errno in _OUTSIDE)


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """ " Did you mean 'x'?" for the choice that looks most like ``name``; empty where none does."""
    near = nearest_name(str(name), choices)
    return "" if near is None else f" Did you mean {near!r}?"
