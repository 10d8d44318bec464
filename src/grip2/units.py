"""Units, which are what is selected, and the layout of the table of all members to which statistics are fitted.

A unit is one column or several: the levels of a category, a group that the user names, a cluster of correlated columns. Its
members are the original and its m knockoff copies. Statistics get one table with all members side by side, member after member;
`Layout` says which column belongs to which member of which unit, and turns scores of columns into scores of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grip2.errors import Grip2Error


@dataclass(frozen=True, eq=False)
class Units:
    """A partition of the p columns of a table: ``of_column[j]`` is the number of the unit that column j belongs to.

    Units are numbered in the order of their first columns, so single columns are their own units in their own order.
    """

    of_column: np.ndarray  # (p,) 0 .. number of units - 1

    def __post_init__(self) -> None:
        of_column = np.asarray(self.of_column)
        if of_column.ndim != 1 or not len(of_column) or of_column.dtype.kind not in "iu":
            raise Grip2Error(f"Units: expected the number of a unit for every column, got {self.of_column!r}.")
        seen = of_column[np.sort(np.unique(of_column, return_index=True)[1])]
        if not np.array_equal(seen, np.arange(len(seen))):
            raise Grip2Error("Units: numbers must be 0, 1, 2, ... in the order in which units first occur.")
        object.__setattr__(self, "of_column", of_column.astype(np.intp))

    @classmethod
    def single(cls, p: int) -> Units:
        """Every column a unit by itself."""
        return cls(np.arange(p))

    @classmethod
    def from_labels(cls, labels: Sequence[object]) -> Units:
        """One unit for every distinct label, numbered in the order in which labels first occur."""
        numbers: dict[object, int] = {}
        return cls(np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp))

    def __len__(self) -> int:
        return int(self.of_column.max()) + 1

    @property
    def n_columns(self) -> int:
        return len(self.of_column)

    @cached_property
    def all_single(self) -> bool:
        """Is every unit one column?"""
        return len(self) == self.n_columns

    @cached_property
    def sizes(self) -> np.ndarray:
        """(units,) columns of each."""
        return np.bincount(self.of_column, minlength=len(self))

    @cached_property
    def columns(self) -> tuple[np.ndarray, ...]:
        """The numbers of the columns of every unit, ascending."""
        order = np.argsort(self.of_column, kind="stable")
        return tuple(np.split(order, np.cumsum(self.sizes)[:-1]))


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of the table of all members: column ``k p + j`` is column j of member k."""

    members: int  # 1 + m
    units: Units

    @property
    def n_columns(self) -> int:
        """Of the table of all members."""
        return self.members * self.units.n_columns

    def by_member(self, values: np.ndarray) -> np.ndarray:
        """(..., members p) as (..., members, p)."""
        return values.reshape(*values.shape[:-1], self.members, self.units.n_columns)

    @cached_property
    def groups(self) -> np.ndarray | None:
        """(members p,) the number of the block, ``member x units + unit``, of every column; None: each its own block."""
        if self.units.all_single:
            return None
        start = np.arange(self.members)[:, None] * len(self.units)
        return np.asarray((start + self.units.of_column).reshape(-1))

    def norms(self, values: np.ndarray) -> np.ndarray:
        """(..., members, units) root of the sum of squares over the columns of a unit, of scores that are not negative."""
        if self.units.all_single:
            return self.by_member(values)
        return np.asarray(np.sqrt(self.sums(np.square(values))))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """(..., members, units) sum over the columns of a unit."""
        return self._reduce(values, np.add)

    def maxima(self, values: np.ndarray) -> np.ndarray:
        """(..., members, units) largest value over the columns of a unit."""
        return self._reduce(values, np.maximum)

    def to_columns(self, of_units: np.ndarray) -> np.ndarray:
        """(members p,) a value of every unit, the same for all its members, at each of their columns."""
        return np.tile(np.asarray(of_units)[self.units.of_column], self.members)

    def _reduce(self, values: np.ndarray, how: np.ufunc) -> np.ndarray:
        found = self.by_member(values)
        if self.units.all_single:
            return found
        order = np.concatenate(self.units.columns)
        starts = np.concatenate([[0], np.cumsum(self.units.sizes)[:-1]])
        return np.asarray(how.reduceat(found[..., order], starts, axis=-1))


def other_columns(name: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a unit other than the one it is named after; the levels of a category do not count."""
    return tuple(column for column in columns if column != name and not column.startswith(f"{name}="))
