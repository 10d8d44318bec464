"""Random order of members: every order is equally likely, units move as a whole, and what was shuffled comes back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from grip2.symmetry import Members, draw_order, shuffled, unshuffled
from grip2.units import Units

UNITS = Units(np.array([0, 1, 2, 3, 1, 3, 3]))
FALSE_ALARM = 1e-5


def orders_are_uniform(order: np.ndarray) -> bool:
    """Chi-square test that all orders of the members are equally likely, over the columns of ``order``."""
    members, n_units = order.shape
    number = {one: k for k, one in enumerate(itertools.permutations(range(members)))}
    counts = np.bincount([number[tuple(one)] for one in order.T.tolist()], minlength=len(number))
    expected = n_units / len(number)
    return bool(((counts - expected) ** 2).sum() / expected <= chi2.isf(FALSE_ALARM, len(number) - 1))


@pytest.mark.parametrize("members", [2, 3, 4, 5])
def test_all_orders_are_equally_likely(members):
    """24,000 units; 2 to 120 orders; false alarm 1e-5."""
    order = draw_order(24_000, members, np.random.default_rng(members))
    np.testing.assert_array_equal(np.sort(order, axis=0), np.tile(np.arange(members)[:, None], 24_000))
    assert orders_are_uniform(order)


def naive_exchange(n_units: int, members: int, rng: np.random.Generator) -> np.ndarray:
    """The broken twin, a classical slip: every member changes places with any of the members."""
    order = np.tile(np.arange(members)[:, None], n_units)
    everyone = np.arange(n_units)
    for k in range(members):
        place = rng.integers(members, size=n_units)
        order[k], order[place, everyone] = order[place, everyone], order[k].copy()
    return order


@pytest.mark.parametrize("members", [3, 4, 5])
def test_unequal_orders_are_caught(members):
    assert not orders_are_uniform(naive_exchange(24_000, members, np.random.default_rng(members)))


def test_units_are_shuffled_independently():
    """The order of one unit says nothing of the next: their 36 combinations are equally likely; false alarm 1e-5."""
    order = draw_order(20_000, 3, np.random.default_rng(0))
    number = {one: k for k, one in enumerate(itertools.permutations(range(3)))}
    each = np.array([number[tuple(one)] for one in order.T.tolist()])
    counts = np.bincount(6 * each[::2] + each[1::2], minlength=36)
    expected = len(each) / 2 / 36
    assert ((counts - expected) ** 2).sum() / expected <= chi2.isf(FALSE_ALARM, 35)


def test_two_members_are_swapped_by_a_coin():
    """The swaps of pairs of earlier versions, number by number."""
    order = draw_order(1000, 2, np.random.default_rng(7))
    swapped = np.random.default_rng(7).random(1000) < 0.5
    np.testing.assert_array_equal(order[0], swapped.astype(int))
    np.testing.assert_array_equal(order[1], 1 - swapped.astype(int))


def tables(members: int, n: int = 6) -> tuple[np.ndarray, ...]:
    """The value at row i, column j of member k says all three."""
    return tuple(100.0 * k + np.arange(7) + 0.01 * np.arange(n)[:, None] for k in range(members))


@pytest.mark.parametrize("members", [2, 4])
def test_units_move_as_a_whole(members):
    given = tables(members)
    before = [table.copy() for table in given]
    for table in given:
        table.setflags(write=False)
    order = draw_order(len(UNITS), members, np.random.default_rng(3))
    assert (order != np.arange(members)[:, None]).any()
    found = shuffled(given, UNITS, order)
    assert isinstance(found, Members)
    for k in range(members):
        for u, columns in enumerate(UNITS.columns):
            np.testing.assert_array_equal(found.tables[k][:, columns], given[order[k, u]][:, columns])
    for table, same in zip(given, before, strict=True):
        np.testing.assert_array_equal(table, same)


@pytest.mark.parametrize("members", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_scores_come_back_to_their_own_members(members, seed):
    """A score that is read off the shuffled tables, column by column, is that of the tables as they were."""
    given = tables(members)
    order = draw_order(len(UNITS), members, np.random.default_rng(seed))

    def score(of: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.array([[table[0, columns].sum() for columns in UNITS.columns] for table in of])

    np.testing.assert_array_equal(unshuffled(score(shuffled(given, UNITS, order).tables), order), score(given))


def test_leading_axes_are_kept_and_nothing_is_changed():
    scores = np.random.default_rng(0).random((5, 4, 3))
    before = scores.copy()
    order = draw_order(3, 4, np.random.default_rng(1))
    found = unshuffled(scores, order)
    for block in range(5):
        np.testing.assert_array_equal(found[block], unshuffled(scores[block], order))
    np.testing.assert_array_equal(scores, before)


def test_the_table_of_all_members():
    rng = np.random.default_rng(0)
    members = Members(tuple(5.0 + 3.0 * rng.standard_normal((3, 50, 7))), UNITS)
    Z = members.standardised()
    assert (members.n_rows, members.layout.members, members.layout.n_columns) == (50, 3, 21)
    assert (Z.shape, Z.dtype) == ((50, 21), np.dtype(np.float64))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)
    for k, table in enumerate(members.tables):
        for j in range(7):
            np.testing.assert_allclose(Z[:, 7 * k + j], (table[:, j] - table[:, j].mean()) / table[:, j].std())
    assert members.standardised(np.float32).dtype == np.float32
    np.testing.assert_array_equal(members.standardised(np.float32), Z.astype(np.float32))
