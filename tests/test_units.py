"""Units and the layout of the table of all members, against loops over columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grip2.errors import Grip2Error
from grip2.units import Layout, Units

# Four units of sizes 1, 2, 1 and 3; columns of the second and the fourth are interleaved.
INTERLEAVED = Units(np.array([0, 1, 2, 3, 1, 3, 3]))


@pytest.mark.parametrize("numbers", [[], [[0, 1]], [0.0, 1.0], ["a", "b"], 3, [True, False]])
def test_units_need_a_whole_number_for_every_column(numbers):
    with pytest.raises(Grip2Error, match="expected the number of a unit for every column"):
        Units(np.array(numbers))


@pytest.mark.parametrize("numbers", [[1, 0], [0, 2], [1, 2], [-1, 0], [0, 0, 2, 1]])
def test_numbers_out_of_order_are_refused(numbers):
    with pytest.raises(Grip2Error, match="in the order in which units first occur"):
        Units(np.array(numbers))


def test_single_columns_are_their_own_units():
    units = Units.single(3)
    assert units.all_single
    assert (len(units), units.n_columns) == (3, 3)
    np.testing.assert_array_equal(units.of_column, [0, 1, 2])
    np.testing.assert_array_equal(units.sizes, [1, 1, 1])


def test_one_unit_of_all_columns():
    units = Units(np.zeros(4, dtype=np.int64))
    assert (len(units), units.n_columns, units.all_single) == (1, 4, False)
    np.testing.assert_array_equal(units.columns[0], [0, 1, 2, 3])


def test_labels_are_numbered_by_their_first_columns():
    units = Units.from_labels(["z", "b", "z", 7, "b", "a"])
    np.testing.assert_array_equal(units.of_column, [0, 1, 0, 2, 1, 3])
    assert Units.from_labels("abcd").all_single


def test_columns_and_sizes_of_interleaved_units():
    assert [list(columns) for columns in INTERLEAVED.columns] == [[0], [1, 4], [2], [3, 5, 6]]
    np.testing.assert_array_equal(INTERLEAVED.sizes, [1, 2, 1, 3])
    assert not INTERLEAVED.all_single


@pytest.mark.parametrize("seed", range(20))
def test_random_partitions(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(6, size=int(rng.integers(1, 15)))
    units = Units.from_labels(list(labels))
    assert len(units) == len(set(labels)) == len(units.columns)
    np.testing.assert_array_equal(np.sort(np.concatenate(units.columns)), np.arange(len(labels)))
    for number, columns in enumerate(units.columns):
        assert len(columns) == units.sizes[number]
        assert set(labels[columns]) == {labels[columns[0]]}
        assert list(columns) == sorted(columns)
        np.testing.assert_array_equal(units.of_column[columns], number)


def naive(layout: Layout, values: np.ndarray, how: Callable[[list[float]], float]) -> np.ndarray:
    """(members, units): what ``how`` makes of the values at the columns of each member of each unit."""
    found = np.empty((layout.members, len(layout.units)))
    for k in range(layout.members):
        for u in range(len(layout.units)):
            columns = [j for j, unit in enumerate(layout.units.of_column) if unit == u]
            found[k, u] = how([float(values[k * layout.units.n_columns + j]) for j in columns])
    return found


@pytest.mark.parametrize("units", [Units.single(5), INTERLEAVED, Units.from_labels("aab"), Units.from_labels("aaa")])
@pytest.mark.parametrize("members", [2, 4])
def test_scores_of_units_are_those_of_loops_over_columns(members, units):
    layout = Layout(members, units)
    rng = np.random.default_rng(0)
    values = rng.random(layout.n_columns)
    assert layout.n_columns == members * units.n_columns
    np.testing.assert_allclose(layout.sums(values), naive(layout, values, sum))
    np.testing.assert_array_equal(layout.maxima(values), naive(layout, values, max))
    np.testing.assert_allclose(
        layout.norms(values), naive(layout, values, lambda part: sum(v * v for v in part) ** 0.5)
    )
    signed = rng.standard_normal(layout.n_columns)
    np.testing.assert_allclose(layout.sums(signed), naive(layout, signed, sum))
    np.testing.assert_array_equal(layout.maxima(signed), naive(layout, signed, max))
    stacked = rng.random((3, 2, layout.n_columns))
    for reduce in (layout.sums, layout.maxima, layout.norms):
        assert reduce(stacked).shape == (3, 2, members, len(units))
        np.testing.assert_array_equal(reduce(stacked)[2, 1], reduce(stacked[2, 1]))


def test_columns_stand_member_after_member():
    layout = Layout(3, INTERLEAVED)
    table = np.array([[100 * k + j for k in range(3) for j in range(7)]])
    np.testing.assert_array_equal(layout.by_member(table)[0, 2], 200 + np.arange(7))
    assert layout.by_member(table).shape == (1, 3, 7)


def test_groups_number_the_members_of_units():
    layout = Layout(2, INTERLEAVED)
    np.testing.assert_array_equal(layout.groups, [0, 1, 2, 3, 1, 3, 3, 4, 5, 6, 7, 5, 7, 7])
    assert Layout(2, Units.single(4)).groups is None
    summed = np.bincount(layout.groups, weights=np.arange(14.0))
    np.testing.assert_array_equal(layout.sums(np.arange(14.0)).reshape(-1), summed)


def test_values_of_units_at_their_columns():
    found = Layout(2, INTERLEAVED).to_columns(np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(found, [1, 2, 3, 4, 2, 4, 4] * 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_columns_keep_their_values_bit_for_bit(dtype):
    """The root of a square is not always the number itself: in single precision 1e-30 would become 0."""
    layout = Layout(2, Units.single(4))
    values = np.array([1e-30, 0.1, 1 / 3, 3e30, 0.7, 2.0, 1e-10, 0.0], dtype=dtype)
    for reduce in (layout.norms, layout.sums, layout.maxima):
        assert reduce(values).dtype == dtype
        np.testing.assert_array_equal(reduce(values), values.reshape(2, 4))
