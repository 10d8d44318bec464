"""Puts the members of every unit in random order, so that each member of a null unit is equally likely to win.

The knockoff filter requires that exchanging the members of a unit exchanges their scores and changes nothing else. A network
has this property only in distribution, and its initialisation, the order of minibatches or the order of a floating-point sum
can break it unnoticed. So the members of every unit are put in random order before the statistic is computed, and its scores
are put back afterwards: the statistic cannot know which member is the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.standardise import standardise
from grip2.units import Layout, Units


@dataclass(frozen=True, eq=False)
class Members:
    """All members of all units, in an order that only the caller knows; every table holds one member of every unit."""

    tables: tuple[np.ndarray, ...]  # 1 + m of shape (rows, p)
    units: Units

    @property
    def layout(self) -> Layout:
        return Layout(len(self.tables), self.units)

    @property
    def n_rows(self) -> int:
        return len(self.tables[0])

    def standardised(self, dtype: type = np.float64) -> np.ndarray:
        """(rows, members p) all columns standardised to mean 0 and deviation 1; otherwise 0/1 columns would have no power."""
        p = self.units.n_columns
        Z: np.ndarray = np.empty((self.n_rows, len(self.tables) * p), dtype=dtype)
        for k, table in enumerate(self.tables):
            Z[:, k * p : (k + 1) * p] = standardise(table)
        return Z


def draw_order(n_units: int, members: int, rng: np.random.Generator) -> np.ndarray:
    """(members, units) a random order of the members of every unit; all orders are equally likely.

    Fisher and Yates: member k changes places with one of the members 0 .. k. With two members this is a swap with
    probability 1/2.
    """
    order = np.tile(np.arange(members)[:, None], n_units)
    everyone = np.arange(n_units)
    for k in range(1, members):
        place = (rng.random(n_units) * (k + 1)).astype(np.intp)
        moved = order[place, everyone]
        order[place, everyone] = order[k]
        order[k] = moved
    return order


def shuffled(tables: tuple[np.ndarray, ...], units: Units, order: np.ndarray) -> Members:
    """The members, where table k holds member ``order[k, u]`` of unit u; the given tables are not changed."""
    of_columns = order[:, units.of_column]
    mixed = []
    for k in range(len(tables)):
        table = tables[k]
        for other in range(len(tables)):
            if other != k:
                table = np.where(of_columns[k] == other, tables[other], table)
        mixed.append(table)
    return Members(tuple(mixed), units)


def unshuffled(scores: np.ndarray, order: np.ndarray) -> np.ndarray:
    """(..., members, units) scores of shuffled members in their original order: the original first."""
    found = np.empty_like(scores)
    everyone = np.arange(order.shape[1])
    for k in range(len(order)):
        found[..., order[k], everyone] = scores[..., k, :]
    return found
