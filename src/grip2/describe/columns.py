"""The columns of a table whose effects are described: the points of their curves, and the names of these points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.tables import PreparedTable, Role

CURVE_POINTS, SURFACE_POINTS = 41, 20
# The grid of a column with at most so many distinct values is these values.
DISTINCT_MOST = 12
# Grids of other columns are between these quantiles.
_FROM, _TO = 0.01, 0.99


@dataclass(frozen=True, eq=False)
class DescribedColumn:
    """One column of the model."""

    name: str
    values: np.ndarray  # (rows,) in the user's units
    levels: tuple[str, ...] = ()  # names of the values 0, 1, 2, ...; empty: numbers
    of_category: bool = False

    def grid(self, points: int) -> np.ndarray:
        """The points at which effects are described: all distinct values of a column with few, or so many equally spaced ones."""
        distinct = np.unique(self.values)
        if len(distinct) <= DISTINCT_MOST or (self.levels and len(distinct) <= points):
            return distinct
        low, high = np.quantile(self.values, [_FROM, _TO])
        if low == high:
            low, high = distinct[[0, -1]]
        return np.linspace(low, high, points)

    def labels(self, grid: np.ndarray) -> tuple[str, ...]:
        """The levels at the points of a grid; empty if these are numbers."""
        numbers = grid.astype(int)
        known = bool(self.levels) and np.array_equal(numbers, grid) and 0 <= numbers.min()
        return tuple(self.levels[k] for k in numbers) if known and numbers.max() < len(self.levels) else ()

    def standardised(self, grid: np.ndarray) -> np.ndarray:
        """Values of the user's column as values of the standardised one."""
        deviation = self.values.std()
        return np.asarray((grid - self.values.mean()) / (deviation if deviation > 0 else 1.0))


def described_columns(table: PreparedTable, numbers: np.ndarray, X: np.ndarray) -> list[DescribedColumn]:
    """The columns of the given numbers; ``X`` (rows, numbers) holds their completed values."""
    levels: dict[int, tuple[str, ...]] = {}
    categories = set()
    for variable in table.variables:
        for k, column in enumerate(variable.columns):
            if variable.role == Role.CATEGORY and k < len(variable.levels) - 1:
                levels[column] = (f"not {variable.levels[k + 1]}", variable.levels[k + 1])
                categories.add(column)
            elif variable.levels and k == 0:
                levels[column] = variable.levels
    return [
        DescribedColumn(table.columns[j], X[:, k].astype(float), levels.get(int(j), ()), int(j) in categories)
        for k, j in enumerate(numbers)
    ]
