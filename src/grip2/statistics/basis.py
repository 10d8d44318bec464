"""Basis functions of single columns: the column itself, a V for even effects, an S for effects that level off or turn back.

The bent functions have their knots at the column's quartiles and are made orthogonal to the column and to each other, so that
each carries information of its own. They depend on the column alone: all members of a unit are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

FUNCTIONS = 3  # the column itself, V, S
BLOCK_COLUMNS, BLOCK_ENTRIES = 100, 2_000_000  # worked on at a time
# Drop a basis function whose residual deviation after projection is below this fraction of its own (0/1 columns: always).
LEAST_RESIDUAL = 1e-3
_TINY = np.finfo(float).tiny


class Basis(NamedTuple):
    """Basis functions of some columns, fitted on some rows, where all have mean 0 and deviation 1 or are zero.

    With ``h_q(z) = max(0, z - q)``: V is h at the median, S is h at the lower minus h at the upper quartile.
    """

    knots: np.ndarray  # (3, columns) quartiles
    span: np.ndarray  # (2, columns) least and largest value; beyond them all functions are constant
    centre: np.ndarray  # (3, columns) mean of the column, of V and of S before they are made orthogonal
    on_column: np.ndarray  # (2, columns) coefficients of V and of S on the column
    on_v: np.ndarray  # (columns,) coefficient of S on V
    unit: np.ndarray  # (3, columns) one over the deviation; zero where a function is dropped

    @classmethod
    def fit(cls, Z: np.ndarray) -> Self:
        """Basis functions of the columns of ``Z`` (rows, columns)."""
        n_columns = Z.shape[1]
        found = cls(*(np.zeros((*size, n_columns)) for size in ((3,), (2,), (3,), (2,), (), (3,))))
        for here in column_blocks(n_columns, len(Z)):
            for whole, part in zip(found, _fitted(np.asarray(Z[:, here], dtype=float)), strict=True):
                whole[..., here] = part
        return found

    def take(self, columns: np.ndarray | slice) -> Self:
        """The functions of some of the columns."""
        return type(self)(*(values[..., columns] for values in self))

    def present(self) -> np.ndarray:
        """(3, columns) which functions were kept."""
        return self.unit > 0

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """(3, rows, columns) the functions at any rows of the same columns."""
        Z = np.asarray(Z, dtype=float)
        inside = np.clip(Z, *self.span)  # a value beyond all fitted ones would otherwise outweigh all others
        column = (inside - self.centre[0]) * self.unit[0]
        low, middle, high = (np.maximum(inside - knot, 0.0) for knot in self.knots)
        v = (middle - self.centre[1] - column * self.on_column[0]) * self.unit[1]
        s = (low - high - self.centre[2] - column * self.on_column[1] - v * self.on_v) * self.unit[2]
        return np.stack([column, v, s])


def column_blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """All columns, some at a time; fewer of a long table."""
    width = max(1, min(BLOCK_COLUMNS, BLOCK_ENTRIES // max(1, n_rows)))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def _fitted(Z: np.ndarray) -> tuple[np.ndarray, ...]:
    """The fields of `Basis`, by the Gram-Schmidt process."""
    knots = _knots(Z)
    low, middle, high = (np.maximum(Z - knot, 0.0) for knot in knots)
    raw = np.stack([Z, middle, low - high])
    centre = raw.mean(axis=1)
    rest = raw - centre[:, None, :]
    before = rest.std(axis=1)
    unit = np.zeros_like(before)
    unit[0] = np.divide(1.0, before[0], out=np.zeros_like(before[0]), where=before[0] > 0)
    rest[0] *= unit[0]
    on_column = (rest[1:] * rest[0]).mean(axis=1)
    rest[1:] -= on_column[:, None, :] * rest[0]
    unit[1] = _unit(rest[1], before[1])
    rest[1] *= unit[1]
    on_v = (rest[2] * rest[1]).mean(axis=0)
    rest[2] -= on_v * rest[1]
    unit[2] = _unit(rest[2], before[2])
    return knots, np.stack([Z.min(axis=0), Z.max(axis=0)]), centre, on_column, on_v, unit


def _unit(rest: np.ndarray, before: np.ndarray) -> np.ndarray:
    deviation = rest.std(axis=0)
    kept = deviation > LEAST_RESIDUAL * np.maximum(before, _TINY)
    return np.asarray(np.divide(1.0, deviation, out=np.zeros_like(deviation), where=kept))


def _knots(Z: np.ndarray) -> np.ndarray:
    """Quartiles of every column, (3, columns); of its distinct values where half of the rows or more share one."""
    knots = np.quantile(Z, [0.25, 0.5, 0.75], axis=0)
    for j in np.flatnonzero((knots[0] == knots[1]) | (knots[1] == knots[2])):
        knots[:, j] = np.quantile(np.unique(Z[:, j]), [0.25, 0.5, 0.75])
    return np.asarray(knots)
