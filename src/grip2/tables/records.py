"""Records of a prepared table: the role of every column, the numbers that stand for it, and problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from grip2.errors import Grip2Error
from grip2.facts import ColumnFacts
from grip2.groups import NamedUnits

SHOWN_PROBLEMS = 12


class TableError(Grip2Error):
    """A table that cannot be used; the message says why and what to do."""


class CellTypeError(TableError, TypeError):
    """A table with cells that are neither numbers, nor text, nor dates."""


class Role(StrEnum):
    """How a column is read."""

    NUMBER = "number"
    ORDERED = "ordered"  # levels with an order, as the numbers 0, 1, 2, ...
    CATEGORY = "category"  # levels without an order: one unit of 0/1 columns
    BINARY = "0/1"  # two values
    DATE = "date"  # a number of days, and the season and the time of day if they vary
    IDENTIFIER = "identifier"  # text or numbers that name the rows; left out
    CONSTANT = "constant"  # left out
    COPY = "copy"  # of another column, with which it forms one unit
    DROPPED = "drop"  # left out because the user says so, or because it has too few values


@dataclass(frozen=True)
class Problem:
    """Something that the user has to decide or correct before the table can be used."""

    what: str  # names the column
    remedy: str
    bad_type: bool = False  # cells of a type that no table should have

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}" + ("" if self.remedy.endswith("?") else ".")


@dataclass(frozen=True)
class Variable:
    """One column of the user's table."""

    name: str
    role: Role
    why: str  # the rule that gave the role, or "given"
    done: str = ""  # what was done to it, in words; empty: nothing
    columns: tuple[int, ...] = ()  # the columns of the prepared table that stand for it; empty: left out, or a copy
    # Of a category and of two texts: the reference, then those of `columns`. Of an ordered column: all, in order.
    levels: tuple[str, ...] = ()
    n_missing: int = 0
    copy_of: str = ""  # the variable that a copy equals
    values: str = ""  # its levels or its range, in words

    @property
    def used(self) -> bool:
        """Does it take part in the selection, by columns of its own or through the variable that it copies?"""
        return bool(self.columns or self.copy_of)

    def facts(self) -> ColumnFacts:
        """The record that results and reports hold."""
        return ColumnFacts(self.name, str(self.role), self.why, self.done, self.n_missing)


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """The numbers of a table, and how they were made from it."""

    X: np.ndarray  # (rows, columns); NaN where a value is missing
    variables: tuple[Variable, ...]  # every column of the user's table, in its order
    units: NamedUnits  # of the prepared columns
    notices: tuple[str, ...] = ()  # every change beyond encoding, one sentence each

    def __len__(self) -> int:
        return len(self.X)

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

    def stands_for(self) -> dict[str, list[str]]:
        """Names of the columns of every unit, and of their copies; empty if every unit is one column of its own name."""
        copies = [variable for variable in self.variables if variable.copy_of]
        found = self.units.stands_for()
        if copies and not found:
            found = {name: [name] for name in self.units.names}
        unit_of = self.unit_of_variables()
        for j, variable in enumerate(self.variables):
            if variable.copy_of:
                found[self.units.names[unit_of[j]]].append(variable.name)
        return found


def error_of(problems: Sequence[Problem], who: str) -> TableError:
    """One error that lists all problems, up to a screen of them."""
    kind = CellTypeError if any(problem.bad_type for problem in problems) else TableError
    if len(problems) == 1:
        return kind(f"{who}: {problems[0]}")
    listed = "".join(f"\n  {number}. {problem}" for number, problem in enumerate(problems[:SHOWN_PROBLEMS], 1))
    more = f"\n  and {len(problems) - SHOWN_PROBLEMS} more." if len(problems) > SHOWN_PROBLEMS else ""
    return kind(f"{who}: the table has {len(problems)} problems:{listed}{more}")
