"""What a table was taken for: the role of every column, and the numbers that it became."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from grip2.errors import Grip2Error
from grip2.groups import NamedUnits


class TableError(Grip2Error):
    """A table that cannot be used; the message says why and what to do."""


class Role(StrEnum):
    """What a column is taken for."""

    NUMBER = "number"
    ORDERED = "ordered"  # levels with an order, as the numbers 0, 1, 2, ...
    CATEGORY = "category"  # levels without an order: one unit of 0/1 columns
    BINARY = "0/1"
    DATE = "date"  # a number of days, and the season where it varies
    IDENTIFIER = "identifier"  # text or numbers that name the rows; left out
    CONSTANT = "constant"  # left out
    COPY = "copy"  # of another column, with which it forms one unit
    DROPPED = "drop"  # left out because the user says so


@dataclass(frozen=True)
class Variable:
    """One column of the user's table."""

    name: str
    role: Role
    why: str  # the rule that gave the role, or "given"
    done: str = ""  # what was done to it, in words; empty: nothing
    columns: tuple[int, ...] = ()  # the columns of the prepared table that stand for it; empty: left out, or a copy
    levels: tuple[
        str, ...
    ] = ()  # of a category: the reference, then those of `columns`; of an ordered column: all, in order
    n_missing: int = 0
    copy_of: str = ""  # the variable that a copy equals

    @property
    def used(self) -> bool:
        """Does it take part in the selection, by columns of its own or through the variable that it copies?"""
        return bool(self.columns or self.copy_of)


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """The numbers of a table, and how they came about."""

    X: np.ndarray  # (rows, columns); NaN where a value is missing
    variables: tuple[Variable, ...]  # every column of the user's table, in its order
    units: NamedUnits  # of the prepared columns
    notices: tuple[str, ...] = ()  # every change made, one sentence each

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the prepared columns."""
        return self.units.columns

    @property
    def categories(self) -> tuple[tuple[int, ...], ...]:
        """For every category, its 0/1 columns: one for every level except the reference."""
        return tuple(variable.columns for variable in self.variables if variable.role == Role.CATEGORY)

    @property
    def has_missing(self) -> bool:
        return bool(np.isnan(self.X).any())

    def unit_of_variables(self) -> np.ndarray:
        """(variables,) the number of the unit that each variable belongs to; -1 for those left out."""
        first = {variable.name: variable.columns[0] for variable in self.variables if variable.columns}
        of_column = self.units.units.of_column
        found = [first.get(variable.copy_of or variable.name, -1) for variable in self.variables]
        return np.array([-1 if j < 0 else int(of_column[j]) for j in found], dtype=np.intp)


def names_of(variables: Sequence[Variable]) -> tuple[str, ...]:
    """The names of some variables."""
    return tuple(variable.name for variable in variables)
