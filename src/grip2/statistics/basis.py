"""Shapes of single columns: the column itself, a V for what is even, an S for what flattens out or turns back.

Bent shapes are cut at the column's quartiles and made orthogonal to the column and to each other, so that each says
something of its own. They depend on the column alone: both members of a pair are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

SHAPES = 3  # the column itself, V, S
BLOCK_COLUMNS, BLOCK_ENTRIES = 100, 2_000_000  # worked on at a time
# A shape that the column itself explains but for this share of its deviation (0/1 columns: all of it) is none.
LEAST_SHAPE = 1e-3
_TINY = np.finfo(float).tiny


class Basis(NamedTuple):
    """The shapes of some columns as functions: fitted on some rows, where all have mean 0 and deviation 1 or are zero.

    With ``h_q(z) = max(0, z - q)``: V is h at the median, S is h at the lower less h at the upper quartile.
    """

    cuts: np.ndarray  # (3, columns) quartiles
    span: np.ndarray  # (2, columns) least and largest value; beyond them all shapes are constant
    centre: np.ndarray  # (3, columns) mean of the column, of V and of S before they are made orthogonal
    on_column: np.ndarray  # (2, columns) what the column takes of V and of S
    on_v: np.ndarray  # (columns,) what V takes of S
    unit: np.ndarray  # (3, columns) one over the deviation; zero where there is no such shape

    @classmethod
    def fit(cls, Z: np.ndarray) -> Self:
        """Shapes of the columns of ``Z`` (rows, columns)."""
        n_columns = Z.shape[1]
        found = cls(*(np.zeros((*size, n_columns)) for size in ((3,), (2,), (3,), (2,), (), (3,))))
        for here in blocks(n_columns, len(Z)):
            for whole, part in zip(found, _fitted(np.asarray(Z[:, here], dtype=float)), strict=True):
                whole[..., here] = part
        return found

    def take(self, columns: np.ndarray | slice) -> Self:
        """The shapes of some of the columns."""
        return type(self)(*(values[..., columns] for values in self))

    def present(self) -> np.ndarray:
        """(3, columns) which shapes there are."""
        return self.unit > 0

    def of(self, Z: np.ndarray) -> np.ndarray:
        """(3, rows, columns) the shapes at other rows of the same columns."""
        Z = np.asarray(Z, dtype=float)
        inside = np.clip(Z, *self.span)  # a value never seen would otherwise outweigh all others
        column = (inside - self.centre[0]) * self.unit[0]
        low, middle, high = (np.maximum(inside - cut, 0.0) for cut in self.cuts)
        v = (middle - self.centre[1] - column * self.on_column[0]) * self.unit[1]
        s = (low - high - self.centre[2] - column * self.on_column[1] - v * self.on_v) * self.unit[2]
        return np.stack([column, v, s])


def blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """All columns, some at a time; fewer of a long table."""
    width = max(1, min(BLOCK_COLUMNS, BLOCK_ENTRIES // max(1, n_rows)))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def _fitted(Z: np.ndarray) -> tuple[np.ndarray, ...]:
    """The fields of `Basis`, by Gram and Schmidt."""
    cuts = _cuts(Z)
    low, middle, high = (np.maximum(Z - cut, 0.0) for cut in cuts)
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
    return cuts, np.stack([Z.min(axis=0), Z.max(axis=0)]), centre, on_column, on_v, unit


def _unit(rest: np.ndarray, before: np.ndarray) -> np.ndarray:
    scale = rest.std(axis=0)
    real = scale > LEAST_SHAPE * np.maximum(before, _TINY)
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=real)


def _cuts(Z: np.ndarray) -> np.ndarray:
    """Quartiles of every column, (3, columns); of its distinct values where half of the rows or more share one."""
    cuts = np.quantile(Z, [0.25, 0.5, 0.75], axis=0)
    for j in np.flatnonzero((cuts[0] == cuts[1]) | (cuts[1] == cuts[2])):
        cuts[:, j] = np.quantile(np.unique(Z[:, j]), [0.25, 0.5, 0.75])
    return cuts
