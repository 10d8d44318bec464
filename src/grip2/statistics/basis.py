"""Basis functions of single columns, of which effects are sums.

A line, a V for even effects, an S for effects that level off or turn back, tails that grow faster than a line, and two steps.
They are made orthogonal to each other, in this order. The bent ones have their knots at the column's quartiles, the steps at its
terciles. They depend on the column alone, so all members of a unit are treated alike. `SideFunctions` are the functions of which
products of two columns are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from grip2.engine.basis_values import mean_products, orthonormal_values, placed_values, raw_values, side_values

FUNCTIONS = 6  # the column itself, V, S, tails, low step, high step
CURVED = 3  # the first three: what the lasso on curves uses
SIDES = 3  # functions of one side of a product: the column itself, V, step at the median
SIDE_NAMES = ("line", "V", "step")
BLOCK_COLUMNS, BLOCK_ENTRIES = 100, 2_000_000  # columns, and entries of the table, that are worked on at a time
# Drop a basis function whose residual deviation after projection is below this fraction of its own (0/1 columns: always).
LEAST_RESIDUAL = 1e-3
# Tails grow like a cube up to so many deviations (interquartile ranges / 1.349) from the median, and are constant beyond.
TAIL_END = 3.0
_QUANTILES = (0.25, 0.5, 0.75, 1 / 3, 2 / 3)
_NORMAL_QUARTILES = 1.349  # between the quartiles of a standard normal
_TINY = np.finfo(float).tiny


class Basis(NamedTuple):
    """Basis functions of some columns. On the rows that they were fitted on, each has mean 0 and deviation 1, or is zero.

    With ``h_q(z) = max(0, z - q)``: V is h at the median, S is h at the lower minus h at the upper quartile; tails are
    ``clip((z - median) / deviation, -3, 3)^3``; steps are 1 above a tercile and 0 below it.
    """

    knots: np.ndarray  # (5, columns) quartiles, then terciles
    deviation: np.ndarray  # (columns,) unit of the tails
    span: np.ndarray  # (2, columns) least and largest value; beyond them all functions are constant
    centre: np.ndarray  # (functions, columns) mean of the functions before they are made orthogonal
    on: np.ndarray  # (functions, functions, columns) coefficients on the functions before
    unit: np.ndarray  # (functions, columns) one over the deviation; zero where a function is dropped

    @classmethod
    def fit(cls, Z: np.ndarray, functions: int = FUNCTIONS) -> Self:
        """The first so many basis functions of the columns of ``Z`` (rows, columns)."""
        n_columns = Z.shape[1]
        sizes = ((len(_QUANTILES),), (), (2,), (functions,), (functions, functions), (functions,))
        found = cls(*(np.zeros((*size, n_columns)) for size in sizes))
        for here in column_blocks(n_columns, len(Z)):
            for whole, part in zip(found, _fitted(np.asarray(Z[:, here], dtype=float), functions), strict=True):
                whole[..., here] = part
        return found

    def take(self, columns: np.ndarray | slice) -> Self:
        """The functions of some of the columns."""
        return type(self)(*(values[..., columns] for values in self))

    def present(self) -> np.ndarray:
        """(functions, columns) which functions were kept."""
        return self.unit > 0

    def evaluate(self, Z: np.ndarray, dtype: type = np.float64) -> np.ndarray:
        """(functions, rows, columns) the functions at any rows of the same columns."""
        values = np.empty((len(self.unit), *np.shape(Z)), dtype)
        orthonormal_values(np.ascontiguousarray(Z), *map(np.ascontiguousarray, self), TAIL_END, values)
        return values

    def place(self, Z: np.ndarray, place: np.ndarray, values: np.ndarray) -> None:
        """Write the functions into columns of ``values``: those of ``place`` (functions, columns), where that is not negative."""
        placed_values(np.ascontiguousarray(Z), *map(np.ascontiguousarray, self), TAIL_END, place, values)


class SideFunctions(NamedTuple):
    """The functions of some columns of which products are made: line, V and a step at the median, each standardised.

    Unlike those of `Basis` they are not all orthogonal: a product has only one function of each column, which should fit alone.
    """

    basis: Basis  # of the line and V
    step_centre: np.ndarray  # (columns,)
    step_unit: np.ndarray  # (columns,) zero where the step is a multiple of the line

    @classmethod
    def fit(cls, Z: np.ndarray, basis: Basis) -> Self:
        """``basis``: fitted on the same rows."""
        first = Basis(*(part[:2] if k in (3, 5) else part[:2, :2] if k == 4 else part for k, part in enumerate(basis)))
        centre, unit = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        for here in column_blocks(Z.shape[1], len(Z)):
            part = np.asarray(Z[:, here], dtype=float)
            step = (part > basis.knots[1, here]).astype(float)
            centre[here], spread = step.mean(axis=0), step.std(axis=0)
            line = first.take(here).evaluate(part)[0]
            along = (line * step).mean(axis=0)
            other = np.sqrt(np.maximum(spread**2 - along**2, 0.0)) > LEAST_RESIDUAL * np.maximum(spread, _TINY)
            unit[here] = np.divide(1.0, spread, out=np.zeros_like(spread), where=(spread > 0) & other)
        return cls(first, centre, unit)

    def take(self, columns: np.ndarray | slice) -> Self:
        """The functions of some of the columns."""
        return type(self)(self.basis.take(columns), self.step_centre[columns], self.step_unit[columns])

    def present(self) -> np.ndarray:
        """(sides, columns) which functions were kept."""
        return np.concatenate([self.basis.present(), self.step_unit[None] > 0])

    def evaluate(self, Z: np.ndarray) -> np.ndarray:
        """(sides, rows, columns) single precision, at any rows of the same columns."""
        basis, found = self.basis, np.empty((SIDES, *Z.shape), np.float32)
        side_values(
            np.ascontiguousarray(Z),
            np.ascontiguousarray(basis.knots[1]),
            np.ascontiguousarray(basis.span),
            np.concatenate([basis.centre, self.step_centre[None]]),
            np.ascontiguousarray(basis.on[1, 0]),
            np.concatenate([basis.unit, self.step_unit[None]]),
            found,
        )
        return found


def column_blocks(n_columns: int, n_rows: int) -> Iterator[slice]:
    """All columns, some at a time: fewer at a time for a longer table."""
    width = max(1, min(BLOCK_COLUMNS, BLOCK_ENTRIES // max(1, n_rows)))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def _raw(Z: np.ndarray, knots: np.ndarray, deviation: np.ndarray, functions: int) -> np.ndarray:
    """(functions, rows, columns) before they are centred and made orthogonal."""
    values = np.empty((functions, *Z.shape))
    raw_values(np.ascontiguousarray(Z), knots, deviation, TAIL_END, values)
    return values


def _fitted(Z: np.ndarray, functions: int) -> tuple[np.ndarray, ...]:
    """The fields of `Basis`, by the Gram-Schmidt process."""
    knots = _knots(Z)
    deviation = (knots[2] - knots[0]) / _NORMAL_QUARTILES
    deviation = np.where(deviation > 0, deviation, 1.0)
    values = _raw(Z, knots, deviation, functions)
    centre = values.mean(axis=1)
    products = np.empty((functions, functions, Z.shape[1]))
    mean_products(values, centre, products)
    on, unit = _orthogonalised(products)
    return knots, deviation, np.stack([Z.min(axis=0), Z.max(axis=0)]), centre, on, unit


def _orthogonalised(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From mean products: coefficients on the earlier orthonormal functions, and one over the deviation of the residual."""
    functions, _, columns = products.shape
    on, unit = np.zeros_like(products), np.zeros((functions, columns))
    for k in range(functions):
        for earlier in range(k):
            # <f_k, q_e> with q_e = (f_e - sum over d < e of on[e, d] q_d) unit[e]
            along = products[k, earlier] - np.einsum("dj,dj->j", on[k, :earlier], on[earlier, :earlier])
            on[k, earlier] = along * unit[earlier]
        left = products[k, k] - np.einsum("dj,dj->j", on[k, :k], on[k, :k])
        deviation, before = np.sqrt(np.maximum(left, 0.0)), np.sqrt(products[k, k])
        kept = deviation > LEAST_RESIDUAL * np.maximum(before, _TINY) if k else before > 0
        unit[k] = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=kept)
    return on, unit


def _knots(Z: np.ndarray) -> np.ndarray:
    """Quartiles and terciles of every column, (5, columns); of its distinct values where half of the rows share one."""
    knots = np.quantile(Z, _QUANTILES, axis=0)
    for j in np.flatnonzero((knots[0] == knots[1]) | (knots[1] == knots[2])):
        knots[:, j] = np.quantile(np.unique(Z[:, j]), _QUANTILES)
    return np.asarray(knots)
