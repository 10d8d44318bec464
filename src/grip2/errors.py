"""Errors that the user can mend, told apart from bugs.

A message says who complains, what must hold, what was got and what to do about it. On the command line these errors end with
exit code 2; any other exception is a bug, ends with 1 and asks for a report.
"""

from __future__ import annotations

from collections.abc import Iterable

from grip2.spelling import nearest_name


class Grip2Error(ValueError):
    """Bad input, bad settings or a file that cannot be used."""


class NothingSelected(Grip2Error):
    """An empty selection where columns are asked for: `KnockoffSelector(empty="error")`."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """ " Did you mean 'x'?" for the choice that looks most like ``name``; empty where none does."""
    near = nearest_name(str(name), choices)
    return "" if near is None else f" Did you mean {near!r}?"
