"""The columns of the model of `EffectPosterior` (basis functions, and products of two) and their moments.

The sampler works on moments alone, so that the table is read once. Matrices have the same size for every table of one shape,
with zeros in place of absent columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grip2.engine.effect_moments import fill_moments
from grip2.statistics.augmented import shared_among_threads
from grip2.statistics.basis import FUNCTIONS, Basis, SideFunctions, column_blocks
from grip2.statistics.pair_screen import PairTerms
from grip2.units import Layout

# Columns of the model at most: a Gram matrix of 144 MB in single precision. Beyond it the curves of those columns of the table
# that correlate least with the response, then these columns themselves, are left out.
COLUMNS_MAX = 6000
LINES_SHARE = 2 / 3  # of the room, for the lines of a wide table
ROWS_AT_A_TIME = 4096
_LEAST_VARIANCE = 1e-6
_COLUMN_SHARES = 8  # of a matrix product that threads share
_SHARED_WORK = 5e8  # multiplications below which they do not


@dataclass(frozen=True, eq=False)
class EffectColumns:
    """What the columns of the model are: basis functions of columns of the table, then products of pairs."""

    layout: Layout
    basis: Basis
    side: SideFunctions
    function: np.ndarray  # (main,) function of every column that is no product, ordered by function, then column
    column: np.ndarray  # (main,) its column of the table of all members
    pairs: PairTerms

    @property
    def n_main(self) -> int:
        return len(self.function)

    @cached_property
    def _products(self) -> tuple[np.ndarray, ...]:
        """Left function, left column, right function, right column of every product, and where products are.

        The last is (pairs, members, members, products); products are numbered in its order.
        """
        members, p = self.layout.members, self.layout.units.n_columns
        start = np.arange(members) * p
        shape = (len(self.pairs), members, members, self.pairs.functions.shape[1])
        left = np.broadcast_to(self.pairs.left[:, None, None, None] + start[:, None, None], shape)
        right = np.broadcast_to(self.pairs.right[:, None, None, None] + start[:, None], shape)
        of_left, of_right = (np.broadcast_to(self.pairs.functions[:, None, None, :, k], shape) for k in range(2))
        there = of_left >= 0
        return (*(part[there] for part in (of_left, left, of_right, right)), there)

    def __len__(self) -> int:
        return self.n_main + len(self._products[0])

    def place(self, absent: int) -> np.ndarray:
        """(members, p, functions) number of a function's column; ``absent`` for those that are not in the model."""
        place = np.full((FUNCTIONS, self.layout.n_columns), absent)
        place[self.function, self.column] = np.arange(self.n_main)
        return np.ascontiguousarray(self.layout.by_member(place).transpose(1, 2, 0))

    def pair_place(self, absent: int) -> np.ndarray:
        """(pairs, members, members, products) number of a product's column; ``absent`` for those not in the model."""
        there = self._products[4]
        place = np.full(there.shape, absent)
        place[there] = self.n_main + np.arange(np.count_nonzero(there))
        return place

    def evaluate(self, Z: np.ndarray, wanted: np.ndarray | None = None) -> np.ndarray:
        """(rows, columns) single precision; products are neither centred nor scaled. ``wanted``: numbers of some columns."""
        wanted = np.arange(len(self)) if wanted is None else wanted
        values = np.empty((len(Z), len(wanted)), np.float32)
        main = np.flatnonzero(wanted < self.n_main)
        if len(main):
            used, inverse = np.unique(self.column[wanted[main]], return_inverse=True)
            place = np.full((FUNCTIONS, len(used)), -1)
            place[self.function[wanted[main]], inverse] = main
            self.basis.take(used).place(Z[:, used], place, values)
        others = np.flatnonzero(wanted >= self.n_main)
        if len(others):
            which = wanted[others] - self.n_main
            left_function, left, right_function, right = (part[which] for part in self._products[:4])
            used = np.unique(np.concatenate([left, right]))
            sides = self.side.take(used).evaluate(Z[:, used]).transpose(0, 2, 1)  # (sides, used, rows)
            product = sides[left_function, np.searchsorted(used, left)]
            product *= sides[right_function, np.searchsorted(used, right)]
            values[:, others] = product.T
        return values


@dataclass(frozen=True, eq=False)
class EffectMoments:
    """Moments per row of standardised columns; rows and columns beyond those of the model are zero."""

    gram: np.ndarray  # (size, size) single precision
    correlation: np.ndarray  # (responses, size) with the responses
    centre: np.ndarray  # (size,) what is subtracted from a column to standardise it
    unit: np.ndarray  # (size,) what it is then multiplied by; zero for placeholders
    values: np.ndarray | None = None  # (rows, columns) of a short table, neither centred nor scaled

    @property
    def size(self) -> int:
        return len(self.gram)

    def standardised(self, Z: np.ndarray, columns: EffectColumns) -> np.ndarray:
        """(columns, rows) single precision."""
        values = np.empty((len(columns), len(Z)), np.float32)
        for start in range(0, len(Z), ROWS_AT_A_TIME):
            some = slice(start, start + ROWS_AT_A_TIME)
            values[:, some] = columns.evaluate(Z[some]).T
        values -= self.centre[: len(columns), None].astype(np.float32)
        values *= self.unit[: len(columns), None].astype(np.float32)
        return values

    def prediction(self, Z: np.ndarray, columns: EffectColumns, effects: np.ndarray) -> np.ndarray:
        """(rows,) of effects (size,) on the standardised columns."""
        used = np.flatnonzero(effects)
        weights = effects[used] * self.unit[used]
        fitted = np.zeros(len(Z))
        for start in range(0, len(Z), ROWS_AT_A_TIME):
            some = slice(start, start + ROWS_AT_A_TIME)
            fitted[some] = columns.evaluate(Z[some], used) @ weights
        return fitted - float(self.centre[used] @ weights)


def main_columns(
    Z: np.ndarray, layout: Layout, Y: np.ndarray, basis: Basis, *, curves: bool, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Function and column of the model's columns that are no products, ``most`` at most."""
    present = layout.by_member(basis.present())  # (functions, members, p)
    # A curve that one member lacks would favour the others, as would a column that is constant in one, in a larger unit.
    everywhere = np.asarray(present.all(axis=1, keepdims=True))
    present[1:] &= everywhere[1:] & curves
    present[0] &= everywhere[0] | (layout.units.sizes[layout.units.of_column] == 1)
    if present.sum() > most:
        present &= _promising(Z, layout, Y, basis, present, most)
    function, column = np.nonzero(present.reshape(FUNCTIONS, -1))
    return function, column


def _promising(
    Z: np.ndarray, layout: Layout, Y: np.ndarray, basis: Basis, present: np.ndarray, most: int
) -> np.ndarray:
    """Which basis functions of a wide table enter the model: those of columns that correlate most with the response.

    Straight lines get two thirds of the room, or more where there are few curves. A column is kept in all members, or in none.
    """
    promise = np.zeros((FUNCTIONS, layout.n_columns))
    for here in column_blocks(layout.n_columns, len(Z)):
        with_each = np.einsum("knj,nr->rkj", basis.take(here).evaluate(Z[:, here]), Y)
        promise[:, here] = np.abs(with_each).max(axis=0)
    of_column = (layout.by_member(promise) * present).max(axis=1)  # (functions, p)
    kept = np.zeros(present.shape, dtype=bool)
    room = most // layout.members
    for_lines = round(LINES_SHARE * room) if present[1:].any() else room
    lines = np.argsort(-of_column[0], kind="stable")[:for_lines]
    kept[0][:, lines] = True
    curved = np.argsort(-of_column[1:].max(axis=0), kind="stable")[: max(0, (room - len(lines)) // (FUNCTIONS - 1))]
    kept[1:, :, curved] = True
    return kept


def _add_products(raw: np.ndarray, values: np.ndarray, old: int) -> None:
    """Add to ``raw`` the products of all columns with the new ones; between new columns, the upper triangle at least."""
    if raw.size * len(values) < _SHARED_WORK:
        raw += values.T @ values[:, old:]
        return

    def add(columns: slice) -> None:
        rows = slice(0, old + columns.stop)
        raw[rows, columns] += values[:, rows].T @ values[:, old:][:, columns]

    width = max(1, -(-raw.shape[1] // _COLUMN_SHARES))
    shared_among_threads(add, [slice(start, start + width) for start in range(0, raw.shape[1], width)])


def moments_of(
    Z: np.ndarray, Y: np.ndarray, columns: EffectColumns, size: int, known: EffectMoments | None = None
) -> EffectMoments:
    """Moments of all columns with each other and with the responses ``Y`` (rows, responses).

    Those of the first columns with each other may be ``known`` already: they are then extended in place. ``size``: of the
    matrices, with zeros for placeholders.
    """
    n, total = len(Z), len(columns)
    old = 0 if known is None else int(np.count_nonzero(known.unit))
    raw = np.zeros((total, total - old), np.float32)
    sums, squares, cross = np.zeros(total), np.zeros(total - old), np.zeros((Y.shape[1], total))
    for start in range(0, n, ROWS_AT_A_TIME):
        some = slice(start, start + ROWS_AT_A_TIME)
        values = _values(Z[some], columns, None if known is None or start else known.values)
        _add_products(raw, values, old)
        sums += values.sum(axis=0, dtype=float)
        squares += np.einsum("ij,ij->j", values[:, old:], values[:, old:], dtype=float)
        cross += Y[some].T @ values
    centre, cross = sums / n, cross / n
    centre[: columns.n_main] = 0.0  # basis functions are standardised already
    unit = np.ones(total)
    unit[old:] = 1.0 / np.sqrt(np.maximum(squares / n - centre[old:] ** 2, _LEAST_VARIANCE))
    unit[: columns.n_main] = 1.0
    if known is not None:
        unit[:old] = known.unit[:old]
    gram = np.zeros((size, size), np.float32) if known is None else known.gram
    fill_moments(gram, raw, old, n, centre.astype(np.float32), unit.astype(np.float32))
    correlation, centres, units = np.zeros((Y.shape[1], size), np.float32), np.zeros(size), np.zeros(size)
    correlation[:, :total] = (cross - Y.mean(axis=0)[:, None] * centre) * unit
    centres[:total], units[:total] = centre, unit
    return EffectMoments(gram, correlation, centres, units, values if n <= ROWS_AT_A_TIME else None)


def _values(Z: np.ndarray, columns: EffectColumns, known: np.ndarray | None) -> np.ndarray:
    """(rows, columns), of which the first may be known."""
    if known is None:
        return columns.evaluate(Z)
    return np.hstack([known, columns.evaluate(Z, np.arange(known.shape[1], len(columns)))])
