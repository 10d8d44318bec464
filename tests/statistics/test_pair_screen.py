"""Screening of pairs: against a naive twin over all pairs, members and functions, and the same for all members."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.members import table_of

from grip2.standardise import standardise
from grip2.statistics import pair_screen as module
from grip2.statistics.basis import SIDES, Basis, SideFunctions
from grip2.statistics.pair_screen import ALL_PRODUCTS, KIND_OF, PRODUCTS_OF_KIND, PairTerms, count_pairs, screen_pairs
from grip2.symmetry import draw_order, shuffled
from grip2.units import Units

RNG = np.random.default_rng


def given(n=150, p=7, copies=1, per_unit=1, seed=0):
    rng = RNG([seed, 31])
    tables = rng.standard_normal((1 + copies, n, p))
    residual = standardise(tables[0, :, 0] * tables[0, :, 3] + np.abs(tables[0, :, 1]) * tables[0, :, 5])
    return tables, Units(np.arange(p) // per_unit), residual + 0.5 * rng.standard_normal(n)


def screened(tables, units, residual, most, products=ALL_PRODUCTS):
    Z, layout = table_of(*tables, units=units)
    return screen_pairs(Z, layout, SideFunctions.fit(Z, Basis.fit(Z)), residual, most, RNG(0), products=products)


def naive_side(z):
    """Line, V and step of one column, standardised; None for those that say what the line does."""
    line = standardise(z)
    found = [line]
    design = np.stack([np.ones_like(z), z], axis=1)
    for curve in (np.maximum(z - np.median(z), 0), (z > np.median(z)).astype(float)):
        rest = curve - design @ np.linalg.lstsq(design, curve, rcond=None)[0]
        if curve.std() == 0 or rest.std() < 1e-3 * curve.std():
            found.append(None)
        else:
            found.append(standardise(rest) if len(found) == 1 else standardise(curve))
    return found


def naive_screen(tables, units, residual, most, products):
    """[(largest correlation, left, right, its best products)] of all pairs of different units, best first."""
    sides = [[naive_side(table[:, j]) for j in range(table.shape[1])] for table in tables]
    found = []
    for left, right in itertools.combinations(range(tables[0].shape[1]), 2):
        if units.of_column[left] == units.of_column[right]:
            continue
        scores = {}
        for f, g in itertools.product(range(SIDES), repeat=2):
            of_members = []
            for own, other in itertools.product(sides, repeat=2):
                if own[left][f] is None or other[right][g] is None:
                    break
                of_members.append(abs(np.corrcoef(own[left][f] * other[right][g], residual)[0, 1]))
            else:
                scores[f, g] = max(of_members)
        best = sorted(scores, key=lambda pair: -scores[pair])[:products]
        found.append((scores[best[0]], left, right, best))
    return sorted(found, reverse=True)[:most]


def pairs_of(found):
    return [
        (left, right, [tuple(pair) for pair in functions if pair[0] >= 0])
        for left, right, functions in zip(
            found.left.tolist(), found.right.tolist(), found.functions.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize(("copies", "per_unit", "products"), [(1, 1, 3), (1, 1, 9), (2, 1, 5), (1, 3, 3)])
def test_screening_is_that_of_the_naive_twin(copies, per_unit, products, monkeypatch):
    monkeypatch.setattr(module, "_SECOND_ROUND", 100)  # all pairs are compared by correlation
    tables, units, residual = given(copies=copies, per_unit=per_unit)
    expected = [(left, right, best) for _, left, right, best in naive_screen(tables, units, residual, 6, products)]
    assert pairs_of(screened(tables, units, residual, 6, products)) == expected
    assert expected[0][:2] in {(0, 3), (1, 5)}


def test_the_first_round_keeps_the_largest_covariances():
    """Of 20 columns with one strong product and one that is less strong, with no more room than for these two."""
    tables, units, _ = given(n=400, p=20)
    residual = standardise(1.5 * tables[0][:, 2] * tables[0][:, 11] + tables[0][:, 4] * np.sign(tables[0][:, 17]))
    found = pairs_of(screened(tables, units, residual, 2))
    assert [pair[:2] for pair in found] == [(2, 11), (4, 17)]
    assert found[0][2][0] == (0, 0)
    assert found[1][2][0] == (0, 2)


@pytest.mark.parametrize(("columns", "rows"), [(1, 1000), (12, 37), (40, 10)])
def test_blocks_do_not_matter(columns, rows, monkeypatch):
    tables, units, residual = given(p=9, copies=2)
    whole = pairs_of(screened(tables, units, residual, 8))
    monkeypatch.setattr(module, "_BLOCK_COLUMNS", columns)
    monkeypatch.setattr(module, "_BLOCK_ROWS", rows)
    assert pairs_of(screened(tables, units, residual, 8)) == whole
    monkeypatch.setattr(module._Evaluated, "_ENTRIES_MAX", 0)  # functions are evaluated anew for every block
    assert pairs_of(screened(tables, units, residual, 8)) == whole


@pytest.mark.parametrize(("copies", "per_unit"), [(1, 1), (3, 1), (2, 3)])
def test_members_are_treated_alike(copies, per_unit):
    tables, units, residual = given(p=9, copies=copies, per_unit=per_unit)
    order = draw_order(len(units), 1 + copies, RNG(4))
    moved = shuffled(tuple(tables), units, order)
    Z = moved.standardised()
    other = screen_pairs(Z, moved.layout, SideFunctions.fit(Z, Basis.fit(Z)), residual, 8, RNG(0))
    assert (order != np.arange(1 + copies)[:, None]).any()
    assert pairs_of(other) == pairs_of(screened(tables, units, residual, 8))


def test_columns_of_two_values_have_products_of_lines_only():
    tables, units, residual = given(n=300)
    tables[:, :, 4:] = tables[:, :, 4:] > 0.5
    for left, right, functions in pairs_of(screened(tables, units, residual, 21)):
        assert functions
        for f, g in functions:
            assert f == 0 or left < 4
            assert g == 0 or right < 4
    tables[1, :, 0] = tables[1, :, 0] > 0  # a member without curves: the others have none either
    for left, _, functions in pairs_of(screened(tables, units, residual, 21)):
        assert left != 0 or all(f == 0 for f, _ in functions)


def test_columns_of_one_unit_are_no_pair():
    tables, units, residual = given(p=9, per_unit=3)
    found = screened(tables, units, residual, 100)
    assert len(found) == count_pairs(table_of(*tables, units=units)[1]) == 27
    assert (units.of_column[found.left] != units.of_column[found.right]).all()
    assert (found.left < found.right).all()
    assert len(screened(tables, Units(np.zeros(9, int)), residual, 100)) == 0


def test_constant_columns_and_residuals():
    tables, units, residual = given()
    tables[:, :, 2] = 1.0
    found = screened(tables, units, residual, 21)
    assert len(found) == 15
    assert not (np.stack([found.left, found.right]) == 2).any()
    assert len(screened(tables, units, np.zeros(150), 21)) == 0
    assert len(screened(tables, units, residual, 0)) == 0


def test_wide_tables_are_screened_by_lines_and_some_rows(monkeypatch):
    tables, units, _ = given(n=1000, p=8)
    residual = standardise(tables[0][:, 2] * tables[0][:, 5])
    for work in (5e5, 3e4):  # lines of all rows; lines of some
        monkeypatch.setattr(module, "_WORK_MAX", work)
        found = pairs_of(screened(tables, units, residual, 3))
        assert found[0][:2] == (2, 5)
        assert found[0][2][0] == (0, 0)


def test_kinds_are_unordered_pairs_of_functions():
    assert (KIND_OF == KIND_OF.T).all()
    assert np.bincount(KIND_OF.ravel()).tolist() == PRODUCTS_OF_KIND.tolist()
    pairs = PairTerms(np.array([0]), np.array([1]), np.array([[[0, 2], [2, 0], [-1, -1]]]))
    assert pairs.kind.tolist() == [[KIND_OF[0, 2], KIND_OF[0, 2], 0]]


def test_joined_and_without():
    functions = np.zeros((3, ALL_PRODUCTS, 2), int)
    some = PairTerms(np.array([0, 1, 2]), np.array([3, 3, 4]), functions)
    other = PairTerms(np.array([1]), np.array([3]), functions[:1] + 1)
    rest = some.without(other)
    assert list(zip(rest.left, rest.right, strict=True)) == [(0, 3), (2, 4)]
    assert len(rest.joined(other)) == 3
    assert len(PairTerms.none().joined(some)) == 3
