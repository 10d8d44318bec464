"""The result of reading one column: its role, and the numbers that stand for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grip2.tables.records import Problem, Role
from grip2.tables.roles import GIVEN, Asked

SHOWN_ROWS = 5


@dataclass(frozen=True, eq=False)
class Reading:
    """A column read by the rules of `grip2.tables.roles`."""

    role: Role
    why: str  # the rule that gave the role
    values: np.ndarray | None = None  # (rows,) or (rows, columns), NaN: missing; None: left out
    endings: tuple[str, ...] = ("",)  # of the names of its columns
    levels: tuple[str, ...] = ()
    codes: np.ndarray | None = None  # (rows,) number of the level before pooling, -1: missing; None: not levels
    n_missing: int = 0
    shown: str = ""  # levels or range, in words
    done: str = ""  # what was done to the column, in words
    notices: tuple[str, ...] = ()  # changes beyond encoding, without the column's name
    problems: tuple[Problem, ...] = ()

    @property
    def columns(self) -> list[np.ndarray]:
        """Its numeric columns."""
        if self.values is None:
            return []
        return [self.values] if self.values.ndim == 1 else list(self.values.T)


def left_out(role: Role, why: str, **more: object) -> Reading:
    """The reading of a column that takes no part."""
    return Reading(role, why, done="left out", **more)  # type: ignore[arg-type]


def asked_to_leave_out(asked: Asked | None, n_missing: int) -> Reading | None:
    """The reading of a column that the user does not want."""
    if asked is not None and asked.role in (Role.DROPPED, Role.IDENTIFIER):
        return left_out(asked.role, GIVEN, n_missing=n_missing)
    return None


def cannot(role: Role, what: str, remedy: str, **more: object) -> Reading:
    """The reading of a column about which the user has to decide."""
    return Reading(role, what, done="to be decided", problems=(Problem(what, remedy),), **more)  # type: ignore[arg-type]


def row_list(which: np.ndarray, values: Iterable[object] | None = None) -> str:
    """Rows by number, the first being 1, with their values."""
    numbers = [str(int(row) + 1) for row in which[:SHOWN_ROWS]]
    if values is not None:
        numbers = [f"{number} ({value!r})" for number, value in zip(numbers, values, strict=False)]
    more = f" and {len(which) - SHOWN_ROWS} more" if len(which) > SHOWN_ROWS else ""
    return f"row{'s' if len(which) > 1 else ''} {', '.join(numbers)}{more}"
