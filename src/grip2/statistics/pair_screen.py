"""Screens pairs of columns: all their products against the residual of the response, by blocked matrix products.

With the functions Phi of all columns of all members (`SideFunctions`) and a residual r, the covariances of r with all products
are (Phi * r)' Phi. They are computed block by block and only the largest are kept, so that memory does not grow with the square
of the number of columns. The best are then ordered by correlation, which takes the deviation of each product into account.

A pair of columns is scored by its best member combination, and its functions are kept for all member combinations or for none:
all members of a unit are treated alike.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from grip2.statistics.basis import SIDES, SideFunctions
from grip2.units import Layout

# Products of a pair: one for each function of one column and of the other.
ALL_PRODUCTS = SIDES**2
# Kinds of products: unordered pairs of functions. Two different functions make two products of one kind.
_KINDS = [(a, b) for a in range(SIDES) for b in range(a, SIDES)]
KIND_OF = np.array([[_KINDS.index((min(a, b), max(a, b))) for b in range(SIDES)] for a in range(SIDES)])
PRODUCTS_OF_KIND = np.array([1 if a == b else 2 for a, b in _KINDS])
# Columns of a block of the matrix of all products, and rows worked on at a time.
_BLOCK_COLUMNS, _BLOCK_ROWS = 1024, 8192
# So many times as many pairs as wanted go into the second round, which compares them by correlation.
_SECOND_ROUND = 4
# Multiplications of the first round, and products in all, beyond which it has lines only, without steps and Vs; if lines alone
# take more multiplications, it has a random part of the rows.
_WORK_MAX, _PRODUCTS_MAX = 3e12, 4e8
_LEAST_VARIANCE = 1e-4  # a product of smaller variance is constant
_SECOND_ROUND_ENTRIES = 20_000_000  # of the functions of the pairs that the second round works on at a time


class PairTerms(NamedTuple):
    """Pairs of columns, and the products of each that may act."""

    left: np.ndarray  # (pairs,) number of a column of the table, smaller than that of the right one
    right: np.ndarray  # (pairs,)
    functions: np.ndarray  # (pairs, products, 2) functions of the left and of the right column; -1: no product

    @classmethod
    def none(cls, products: int = ALL_PRODUCTS) -> Self:
        return cls(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros((0, products, 2), np.intp))

    def __len__(self) -> int:  # of pairs, not of fields
        return self.left.size

    @property
    def kind(self) -> np.ndarray:
        """(pairs, products) the kind of each product; 0 where there is none."""
        return np.asarray(
            np.where(self.functions[:, :, 0] >= 0, KIND_OF[self.functions[:, :, 0], self.functions[:, :, 1]], 0)
        )

    def joined(self, others: PairTerms) -> PairTerms:
        return PairTerms(*(np.concatenate([own, other]) for own, other in zip(self, others, strict=True)))

    def without(self, others: PairTerms) -> PairTerms:
        """The pairs that are not among the others, whatever their functions."""
        known = set(zip(others.left.tolist(), others.right.tolist(), strict=True))
        new = [
            k for k, pair in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)) if pair not in known
        ]
        return self.first(np.array(new, dtype=np.intp))

    def first(self, which: np.ndarray | slice) -> PairTerms:
        return PairTerms(*(part[which] for part in self))


def count_pairs(layout: Layout) -> int:
    """Pairs of columns of different units."""
    sizes = layout.units.sizes.astype(int)
    return int((sizes.sum() ** 2 - (sizes**2).sum()) // 2)


def screen_pairs(
    Z: np.ndarray,
    layout: Layout,
    side: SideFunctions,
    residual: np.ndarray,
    most: int,
    rng: np.random.Generator,
    *,
    products: int = ALL_PRODUCTS,
) -> PairTerms:
    """The ``most`` pairs of columns, of different units, whose products correlate most with the residual; best first.

    ``products``: how many of each pair are kept, its best ones.
    """
    p = layout.units.n_columns
    if most < 1 or count_pairs(layout) == 0:
        return PairTerms.none(products)
    # A function that one member lacks would favour the others.
    present = np.asarray(layout.by_member(side.present()).all(axis=1))  # (sides, p)
    n, work = len(Z), float(len(Z)) * (layout.members * SIDES * p) ** 2
    functions = SIDES if work <= min(_WORK_MAX, n * _PRODUCTS_MAX) else 1
    rows: np.ndarray | slice = slice(None)
    if work / SIDES**2 > _WORK_MAX:
        rows = np.sort(rng.choice(n, max(100, int(n * _WORK_MAX * SIDES**2 / work)), replace=False))
    left, right = _largest_covariances(
        Z[rows], layout, side, residual[rows], present[:functions], min(_SECOND_ROUND * most, count_pairs(layout))
    )
    if not len(left):
        return PairTerms.none(products)
    return _best_products(Z, layout, side, residual, present, (left, right), most, products)


def _largest_covariances(
    Z: np.ndarray, layout: Layout, side: SideFunctions, residual: np.ndarray, present: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the pairs whose largest product has the largest covariance with the residual."""
    p, members, unit = layout.units.n_columns, layout.members, layout.units.of_column
    functions = len(present)
    width = max(1, _BLOCK_COLUMNS // (functions * members))
    blocks = [np.arange(start, min(start + width, p)) for start in range(0, p, width)]
    best = _Best(np.zeros(0), np.zeros(0, np.intp), np.zeros(0, np.intp))
    evaluated = _Evaluated(Z, layout, side, present, blocks)
    for a, own in enumerate(blocks):
        for b in range(a, len(blocks)):
            other = blocks[b]
            product = np.zeros((functions * members * len(own), functions * members * len(other)), np.float32)
            for start in range(0, len(Z), _BLOCK_ROWS):
                some = slice(start, start + _BLOCK_ROWS)
                weighted = evaluated.of(a, some) * residual[some, None].astype(np.float32)
                product += weighted.T @ evaluated.of(b, some)
            size = np.abs(product).reshape(functions * members, len(own), functions * members, len(other))
            scores = size.max(axis=(0, 2))
            scores[unit[own][:, None] == unit[other]] = 0.0
            if a == b:
                scores = np.triu(scores, 1)
            i, j = np.nonzero(scores > best.least(most))
            best = best.joined(scores[i, j], own[i], other[j], most)
    order = np.lexsort((best.right, best.left, -best.score))
    return best.left[order], best.right[order]


class _Best(NamedTuple):
    """The best pairs so far."""

    score: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def least(self, most: int) -> float:
        """What another pair must score to be among so many."""
        return float(self.score.min()) if len(self.score) >= most else 0.0

    def joined(self, score: np.ndarray, left: np.ndarray, right: np.ndarray, most: int) -> _Best:
        found = _Best(*(np.concatenate(both) for both in zip(self, (score, left, right), strict=True)))
        if len(found.score) <= most:
            return found
        kept = np.argpartition(-found.score, most - 1)[:most]
        return _Best(*(part[kept] for part in found))


class _Evaluated:
    """The functions of blocks of columns: all at once where they fit into memory, else anew whenever they are needed."""

    _ENTRIES_MAX = 100_000_000

    def __init__(
        self, Z: np.ndarray, layout: Layout, side: SideFunctions, present: np.ndarray, blocks: list[np.ndarray]
    ) -> None:
        self._Z, self._layout, self._side, self._present, self._blocks = Z, layout, side, present, blocks
        entries = len(Z) * len(present) * layout.n_columns
        self._stored = None
        if entries <= self._ENTRIES_MAX:
            self._stored = [self._values(block, slice(None)) for block in blocks]

    def of(self, block: int, some: slice) -> np.ndarray:
        """(rows, functions members columns) of a block of columns."""
        return self._values(self._blocks[block], some) if self._stored is None else self._stored[block][some]

    def _values(self, columns: np.ndarray, some: slice) -> np.ndarray:
        p, members = self._layout.units.n_columns, self._layout.members
        here = (np.arange(members)[:, None] * p + columns).reshape(-1)
        values = self._side.take(here).evaluate(self._Z[some, here])[: len(self._present)]
        values = values * np.tile(self._present[:, columns], members)[:, None, :]
        return np.ascontiguousarray(values.transpose(1, 0, 2).reshape(values.shape[1], -1), dtype=np.float32)


def _best_products(
    Z: np.ndarray,
    layout: Layout,
    side: SideFunctions,
    residual: np.ndarray,
    present: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray],
    most: int,
    products: int,
) -> PairTerms:
    """Pairs by the largest correlation of a product with the residual, and the best products of each."""
    left, right = columns
    p, members, n = layout.units.n_columns, layout.members, len(Z)
    starts = np.arange(members)[:, None] * p
    used, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    here = (starts + used).reshape(-1)
    of_used = side.take(here)
    moments = np.zeros((3, len(left), SIDES * members, SIDES * members))
    at_once = max(1, _SECOND_ROUND_ENTRIES // max(1, _BLOCK_ROWS * SIDES * members))
    for start in range(0, n, _BLOCK_ROWS):
        some = slice(start, start + _BLOCK_ROWS)
        flat = of_used.evaluate(Z[some, here]).reshape(SIDES, -1, members, len(used))
        values = flat.transpose(3, 0, 2, 1).reshape(len(used), SIDES * members, -1)  # (used, functions members, rows)
        r = residual[some].astype(np.float32)
        for first in range(0, len(left), at_once):
            part = slice(first, first + at_once)
            A, B = values[place[: len(left)][part]], values[place[len(left) :][part]].transpose(0, 2, 1)
            moments[0, part] += (A * r) @ B
            moments[1, part] += A @ B
            moments[2, part] += A**2 @ B**2
    moments /= n
    variance = moments[2] - moments[1] ** 2
    centred = moments[0] - moments[1] * residual.mean()
    correlation = np.abs(centred) / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)) * (variance > _LEAST_VARIANCE)
    shape = (len(left), SIDES, members, SIDES, members)
    scores = correlation.reshape(shape).max(axis=(2, 4)) * present.T[left][:, :, None] * present.T[right][:, None, :]
    # A product that is constant in one member combination is left out in all.
    varies = (variance.reshape(shape) > _LEAST_VARIANCE).all(axis=(2, 4))
    score = (scores * varies).reshape(len(left), -1)
    order = np.argsort(-score.max(axis=1), kind="stable")[:most]
    order = order[score[order].max(axis=1) > 0]
    chosen = np.argsort(-score[order], axis=1, kind="stable")[:, :products]
    functions = np.stack([chosen // SIDES, chosen % SIDES], axis=-1)
    functions[np.take_along_axis(score[order], chosen, axis=1) <= 0] = -1
    return PairTerms(left[order], right[order], functions)
