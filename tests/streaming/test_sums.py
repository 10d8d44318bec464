"""Sums over blocks against those of one table in memory, and the compiled functions against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine.lookups import guide_of, interpolate, positions
from grip2.knockoffs import CopulaKnockoffs
from grip2.responses import response_from
from grip2.statistics.base import Shuffle
from grip2.statistics.basis import Basis, SideFunctions
from grip2.statistics.effect_design import EffectColumns, main_columns, moments_of
from grip2.statistics.effect_sums import sums_of
from grip2.statistics.pair_screen import PairTerms
from grip2.streaming.blocks import ArrayBlocks
from grip2.streaming.keys import SAMPLE, BlockKey
from grip2.streaming.long_table import LongTable
from grip2.streaming.sums import AllRows, MembersOfBlocks, sample_tables, tables_of
from grip2.units import Layout, Units
from tests.streaming.tables import long_frame

PAIRS = PairTerms(np.array([0, 2]), np.array([5, 3]), np.array([[[0, 0], [1, 2]], [[1, 1], [0, -1]]]))
PAIRS.functions[1, 1] = -1


@pytest.mark.parametrize("kind", ["normal", "cauchy", "tied", "spiked"])
def test_lookups_are_those_of_numpy(kind):
    rng = np.random.default_rng(0)
    draw = {
        "normal": rng.standard_normal,
        "cauchy": rng.standard_cauchy,
        "tied": lambda n: np.round(rng.standard_normal(n), 1),
        "spiked": lambda n: np.maximum(rng.standard_normal(n), 0),
    }[kind]
    points, values = np.sort(draw(3000)), draw(20_000)
    ranks = (np.arange(3000) + 0.5) / 3000
    for x in (values, values.astype(np.float32), points):
        found = np.empty(len(x), np.intp)
        positions(x, points, *guide_of(points), found)
        np.testing.assert_array_equal(found, np.searchsorted(points, x))
    u = np.concatenate([rng.random(5000), ranks, [0.0, 1.0]])
    heights = np.empty(len(u))
    interpolate(u, ranks, points, *guide_of(ranks), heights)
    np.testing.assert_array_equal(heights, np.interp(u, ranks, points))


def columns_of(Z: np.ndarray, layout: Layout, y: np.ndarray) -> EffectColumns:
    basis = Basis.fit(Z)
    main = main_columns(Z, layout, y[:, None], basis, curves=True, most=10_000)
    return EffectColumns(layout, basis, SideFunctions.fit(Z, basis), *main, PAIRS)


def test_columns_are_the_functions_of_their_columns():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((700, 12)).astype(np.float32)
    Z[:, 3] = Z[:, 3] > 0  # some functions are absent
    Z[:, 9] = Z[:, 9] > 0
    columns = columns_of(Z, Layout(2, Units.single(6)), Z[:, 0].astype(float))
    beyond = (3 * Z[:200]).astype(np.float32)
    functions = columns.basis.evaluate(beyond)
    wanted = np.stack([functions[k, :, j] for k, j in zip(columns.function, columns.column, strict=True)], axis=1)
    found = columns.evaluate(beyond)
    np.testing.assert_allclose(found[:, : columns.n_main], wanted, rtol=0, atol=2e-6)
    some = np.array([5, 2, columns.n_main, 0, columns.n_main + 1])
    np.testing.assert_array_equal(columns.evaluate(beyond, some), found[:, some])


def test_moments_from_sums_are_those_of_the_table():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((5000, 12)).astype(np.float32)
    y = Z[:, 0] * Z[:, 5] + rng.standard_normal(5000)
    Y = ((y - y.mean()) / y.std())[:, None]
    columns = columns_of(Z, Layout(2, Units.single(6)), Y[:, 0])
    size = len(columns) + 3
    known, found = moments_of(Z, Y, columns, size), sums_of(Z, y[:, None], columns).moments(size)
    np.testing.assert_allclose(found.gram, known.gram, atol=2e-5)
    np.testing.assert_allclose(found.correlation, known.correlation, atol=2e-5)
    effects = np.zeros(size)
    effects[[0, 7, len(columns) - 1]] = [0.3, -0.2, 0.5]
    np.testing.assert_allclose(found.prediction(Z, columns, effects), known.prediction(Z, columns, effects), atol=1e-4)
    part = np.arange(800, 2000)
    left = sums_of(Z, Y, columns).without(sums_of(Z[part], Y[part], columns))
    alone = np.setdiff1d(np.arange(5000), part)
    np.testing.assert_allclose(left.products, sums_of(Z[alone], Y[alone], columns).products, atol=1e-2)
    assert left.n == 3800


@pytest.fixture(scope="module")
def draw():
    """A long table with one draw of knockoffs, and all of its rows in memory as the blocks have them."""
    frame = long_frame(2600)
    X, response = frame.drop(columns="y").to_numpy(), response_from(frame["y"].to_numpy(), "regression", who="test")
    sampler = CopulaKnockoffs().fit(X)
    rows = np.sort(np.random.default_rng(3).choice(2600, 500, replace=False))
    table = LongTable(ArrayBlocks(X, 300), rows, X[rows], response, True)
    key = BlockKey.of(np.random.default_rng(4))
    tables = sample_tables(table, sampler, 2, key)
    units = Units.single(X.shape[1])
    shuffle = Shuffle.drawn(tables, units, np.random.default_rng(5))
    return table, AllRows(table, tables, MembersOfBlocks.of(sampler, shuffle, tables), key), sampler, key


def test_sums_over_blocks_are_those_of_all_rows(draw):
    table, whole, sampler, key = draw
    X, rows = table.source.X, table.rows
    all_tables = [np.empty_like(X) for _ in range(3)]
    for number, start in enumerate(range(0, len(X), 300)):
        own = np.setdiff1d(np.arange(start, min(start + 300, len(X))), rows)
        for into, part in zip(all_tables, tables_of(X[own], sampler, 2, key.generator(number)), strict=True):
            into[own] = part
    for into, part in zip(all_tables, tables_of(X[rows], sampler, 2, key.generator(SAMPLE)), strict=True):
        into[rows] = part
    Z = whole.members.standardised(tuple(all_tables))
    columns = columns_of(Z[rows], Layout(3, Units.single(X.shape[1])), table.response.y[rows])
    found, expected = whole.sums(columns), sums_of(Z, table.response.y[:, None], columns)
    assert found.n == expected.n == len(X)
    np.testing.assert_allclose(found.products, expected.products, rtol=1e-5, atol=2e-2)
    np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-5, atol=2e-2)
    np.testing.assert_allclose(found.deviations, expected.deviations)
    again = whole.sums(columns)
    np.testing.assert_array_equal(again.products, found.products)


def test_rows_to_train_on_are_all_rows_but_the_sample_in_random_order(draw):
    """Every row once, and with the knockoffs that it has in the sums."""
    table, whole, sampler, key = draw
    left = np.setdiff1d(np.arange(len(table)), table.rows)
    seen, tables = [], []
    stream = whole.shuffled_rows(np.random.default_rng(0))
    while sum(map(len, seen)) < len(left):
        Z, response = next(stream)
        seen.append(np.searchsorted(np.sort(table.response.y), response.y))
        tables.append(Z)
    of_rank = np.argsort(table.response.y)
    numbers = of_rank[np.concatenate(seen)]
    np.testing.assert_array_equal(np.sort(numbers), left)
    assert not np.array_equal(numbers, left)
    first = np.flatnonzero(numbers < 300)
    own = np.setdiff1d(np.arange(300), table.rows)
    expected = whole.members.standardised(tables_of(table.source.X[own], sampler, 2, key.generator(0)))
    np.testing.assert_array_equal(np.concatenate(tables)[first][np.argsort(numbers[first])], expected)
