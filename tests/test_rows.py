"""Repeated rows: those that harm stop with a remedy, honest tables pass."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.errors import Grip2Error
from grip2.rows import check_rows, exact_repeats, near_repeats, without_repeats

RNG = np.random.default_rng


def correlated(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.6 * X[:, :1]
    return X


def naive_pairs(X: np.ndarray) -> int:
    same = np.array([[np.array_equal(a, b, equal_nan=True) for a in X] for b in X])
    return int((same.sum() - len(X)) // 2)


def test_exact_pairs_are_those_of_the_naive_twin():
    X = RNG(0).integers(0, 3, (60, 3)).astype(float)
    X[X == 2] = np.nan
    assert exact_repeats(X).pairs == naive_pairs(X) > 0


def test_natural_repeats_are_about_as_many_as_found_for_independent_columns():
    X = RNG(1).integers(0, 3, (2000, 5)).astype(float)
    found = exact_repeats(X)
    assert found.pairs > 1000
    assert 0.7 < found.natural / found.pairs < 1.5
    assert not found.harmful


@pytest.mark.parametrize(("n", "p"), [(500, 5), (300, 60), (80, 200), (3000, 2)])
def test_honest_tables_pass(n, p):
    """Eight tables of four shapes; a share of 3 % of the rows stops, and the law of distances allows about 0.5 %."""
    rng = RNG(2)
    X = correlated(n, p, rng)
    members = rng.integers(0, 20, n)
    for table in (
        X,
        rng.standard_t(2, (n, p)),  # heavy tails
        np.cumsum(X, axis=0),  # a random walk
        X + 8 * rng.standard_normal((20, p))[members],  # clusters
        X[rng.integers(0, n // 3, n)] + 0.5 * rng.standard_normal((n, p)),  # relatives
        X[:, :1] + 0.01 * X,  # nearly one dimension
        np.round(X),
        (X > 0.5).astype(float),
    ):
        check_rows(table, "test")


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_repeats_of_continuous_rows_stop_with_numbers_and_a_remedy(share):
    X = correlated(400, 10, RNG(3))
    m = round(share * 400)
    X[:m] = X[400 - m :]
    assert exact_repeats(X).pairs == m
    with pytest.raises(
        Grip2Error, match=rf"select: rows must be independent.*{m} pairs of equal rows.*1 = .*--cluster"
    ):
        check_rows(X, "select")


def test_a_few_repeats_are_told_and_do_not_stop():
    X = correlated(400, 10, RNG(3))
    X[0] = X[7]
    found = check_rows(X, "select")
    assert (found.pairs, found.examples) == (1, ((0, 7),))


def test_repeats_stop_where_one_continuous_column_stands_among_discrete_ones():
    rng = RNG(4)
    X = np.column_stack([rng.standard_normal(500), rng.integers(0, 2, (500, 5))])
    check_rows(X, "select")
    with pytest.raises(Grip2Error, match="pairs of equal rows where chance allows"):
        check_rows(np.vstack([X, X]), "select")


@pytest.mark.parametrize(("n", "p"), [(400, 5), (400, 60), (80, 200)])
@pytest.mark.parametrize("noise", [1e-6, 0.03])
def test_near_repeats_stop(n, p, noise):
    rng = RNG(5)
    X = correlated(n, p, rng)
    m = n // 10
    X[:m] = X[m : 2 * m] + noise * rng.standard_normal((m, p))
    assert exact_repeats(X).pairs == 0
    found = near_repeats(X)
    assert 0.8 * m <= found.pairs <= 1.2 * m
    assert all(b - a == m for a, b in found.examples)
    with pytest.raises(Grip2Error, match="equal up to rounding or small noise"):
        check_rows(X, "select")


def test_a_table_measured_five_times_stops():
    rng = RNG(6)
    X = np.tile(correlated(100, 20, rng), (5, 1))
    with pytest.raises(Grip2Error, match="equal up to rounding"):
        check_rows(X + 0.01 * rng.standard_normal(X.shape), "select")


def test_rows_that_agree_in_some_columns_only_are_no_repeats():
    """Neighbours in space with other properties, as listings of one building have them."""
    rng = RNG(7)
    X = correlated(400, 3, rng)
    X[:80] = X[80:160] + 1e-6
    others = rng.standard_normal((400, 3)).round()
    assert near_repeats(X).harmful
    check_rows(np.column_stack([X, others]), "select")


def test_many_rows_and_missing_values():
    rng = RNG(8)
    X = correlated(30_000, 8, rng).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    assert check_rows(X, "select").pairs == 0
    X[:2000] = X[2000:4000]
    with pytest.raises(Grip2Error, match=r"2,000 pairs of equal rows where chance allows 0, among 30,000 rows"):
        check_rows(X, "select")


def test_a_few_repeats_are_left_out_and_many_are_not():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 5)), rng.standard_normal(100)
    X[90:], y[90:] = X[:10], y[:10]
    kept = without_repeats(X, y)
    assert kept.tolist() == list(range(90))
    check_rows(X[kept], "who")
    y[95] += 1  # another response: no repeat of the same observation
    assert without_repeats(X, y).tolist() == [*range(90), 95]
    assert without_repeats(np.tile(X[:50], (2, 1)), np.tile(y[:50], 2)) is None
    assert without_repeats(X[:90], y[:90]) is None
    survival = np.array(list(zip(y > 0, y, strict=True)), dtype=[("event", bool), ("time", float)])
    assert len(without_repeats(X, survival)) == 91


def test_rows_that_many_others_equal_in_all_continuous_columns_say_nothing():
    """Days, each of many rows, with measurements of the day: distances to the nearest rows are zero. Warnings are errors."""
    rng = np.random.default_rng(3)
    of_days = rng.standard_normal((100, 2))
    X = np.column_stack([np.repeat(of_days, 80, axis=0), rng.integers(0, 3, 8000)])
    assert near_repeats(X).pairs == 0


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_a_twentieth_of_the_rows_copied_with_noise_stops(noise):
    """Columns of few values among them, a rare 0/1 column too."""
    rng = RNG(9)
    X = np.column_stack([correlated(800, 8, rng), rng.integers(0, 6, (800, 3)), rng.random((800, 1)) < 0.02])
    X[:40] = X[40:80] + noise * X.std(axis=0) * rng.standard_normal((40, 12))
    found = near_repeats(X)
    assert 32 <= found.pairs <= 44
    assert found.difference < 6 * noise
    with pytest.raises(
        Grip2Error, match=rf"differ by at most {found.difference:.2g} standard deviations in every column"
    ):
        check_rows(X, "select")


def test_a_designed_experiment_passes():
    """Batches that nearly agree in all amounts, but not in age: 3 and 14 days are close beside a year, and different days."""
    rng = RNG(10)
    mixes = rng.standard_normal((200, 2)).round(3)
    batches = mixes[:50] + rng.choice([-0.001, 0.001], (50, 2))
    measured = [[7.0, 28.0, 56.0, 365.0]] * 200 + [[3.0, 14.0, 90.0, 180.0]] * 50
    mix = np.repeat(np.vstack([mixes, batches]), 4, axis=0)
    kind = rng.integers(0, 4, 200)
    X = np.column_stack([mix, np.repeat(np.append(kind, kind[:50]), 4), np.concatenate(measured)])
    assert 14 - 7 < 0.1 * X[:, 3].std()
    assert near_repeats(X).pairs == 0
    check_rows(X, "select")
    X = X[::4]
    check_rows(X, "select")
    X[200:, 3] = X[:50, 3]
    with pytest.raises(Grip2Error, match="equal up to rounding or small noise"):
        check_rows(X, "select")


def test_a_value_that_recurs_differs_from_every_other():
    rng = RNG(13)
    X = np.column_stack([correlated(400, 6, rng), rng.choice([3.0, 4.0, 100.0], 400)])
    X[:40] = X[40:80] + 1e-3
    X[:40, 6] = np.where(X[40:80, 6] == 3.0, 4.0, 3.0)
    assert near_repeats(X).pairs == 0
    X[:40, 6] = X[40:80, 6] + 0.01 * rng.standard_normal(40)  # values that occur once
    assert near_repeats(X).pairs == 40
