"""e-values and e-BH: against exhaustive search, and their defining inequality under the null."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.derandomize import (
    e_benjamini_hochberg,
    e_q_values,
    e_values,
    inner_level,
    mean_e_values,
    selection_frequency,
    stopping_thresholds,
)
from grip2.filter import counts_beyond, fewest_selected, knockoff_threshold
from tests.naive import filter_draws as naive

statistics = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=14)
numbers_of_copies = st.sampled_from([1, 2, 3, 5])


@given(statistics, st.sampled_from([0.05, 0.1, 0.3, 0.5]), numbers_of_copies)
@settings(max_examples=200, deadline=None)
def test_e_values_equal_their_definition(W, level, copies):
    assert stopping_thresholds(np.array(W), [level], copies)[0] == naive.stopping_threshold(W, level, copies)
    np.testing.assert_array_equal(e_values(np.array(W), level, copies), naive.e_values(W, level, copies))


def test_ebh_equals_exhaustive_search():
    rng = np.random.default_rng(0)
    for _ in range(200):
        e = rng.choice([0.0, 1.0, 5.0, 12.0, 30.0], size=12)
        for fdr in (0.1, 0.3):
            np.testing.assert_array_equal(e_benjamini_hochberg(e, fdr), naive.e_benjamini_hochberg(e, fdr))


def test_e_values_by_hand():
    W = np.array([3.0, 2.5, 2.0, 1.5, -1.0, 0.5])
    # At level 0.3 the threshold is 1.5: (1 + 0) / 4 = 0.25.
    np.testing.assert_allclose(e_values(W, 0.3), [6, 6, 6, 6, 0, 0])
    # With three copies 0.5 will do: (1 + 1) / (3 * 5) = 0.13.
    np.testing.assert_allclose(e_values(W, 0.3, copies=3), [9, 9, 9, 9, 0, 9])


def test_a_draw_that_selects_too_few_still_counts():
    """At level 0.05 with one copy 20 units must be selected; the four above the first copy have the largest e-values possible."""
    W = np.array([4.0, 3.0, 2.5, 2.0, -1.0, 0.5, -0.4, 0.0])
    assert knockoff_threshold(W, 0.05) == np.inf
    np.testing.assert_allclose(e_values(W, 0.05), [8, 8, 8, 8, 0, 0, 0, 0])
    assert not e_values(np.array([1.0, -2.0]), 0.05).any()
    assert not e_values(np.zeros(3), 0.05).any()


# The defining inequality: the e-values of null units sum to at most p in expectation. Rules are (W, level, copies) -> e.


def e_values_at(threshold, W, copies):
    return copies * len(W) * (threshold <= W) / (1 + np.sum(-threshold >= W))


def without_the_one(W, level, copies):
    threshold = knockoff_threshold(W, level, offset=0, copies=copies)
    return copies * len(W) * (threshold <= W) / max(1, np.sum(-threshold >= W))


def at_the_largest_e_values(W, level, copies):
    """Not a stopping time: the best of all thresholds is known only at the end."""
    candidates, n_positive, n_negative = counts_beyond(W)
    return e_values_at(candidates[np.argmax(n_positive / (1 + n_negative))], W, copies)


def at_a_positive_unit(W, level, copies):
    """Not a stopping time: if too few units are left, go on to the next one that is positive."""
    positive, fewest = np.sort(W[W > 0])[::-1], fewest_selected(level, copies)
    stop = positive[fewest - 2] if len(positive) >= fewest else np.abs(W).min()
    return e_values_at(min(stop, knockoff_threshold(W, level, copies=copies)), W, copies)


def counting_members(W, level, copies):
    return (copies + 1) / copies * e_values(W, level, copies)


BROKEN = [without_the_one, at_the_largest_e_values, at_a_positive_unit, counting_members]


def exact_null_sum(rule, tau, null, level, copies):
    """E sum e_j / p over all signs of the null units, each positive with probability 1 / (copies + 1); the others are."""
    total = 0.0
    for signs in product([1, -1], repeat=int(null.sum())):
        W = tau.copy()
        W[null] *= signs
        weight = copies ** signs.count(-1) / (copies + 1) ** len(signs)
        total += weight * rule(W, level, copies)[null].sum() / len(W)
    return total


@pytest.mark.parametrize("copies", [1, 3, 5])
@pytest.mark.parametrize("n_true", [0, 3])
def test_null_e_values_sum_to_at_most_p_exactly(copies, n_true):
    """By enumeration of all signs of 8 null units, for levels and places of the true units drawn at random; no chance."""
    rng = np.random.default_rng(copies)
    for level in (0.05, 0.1, 0.2, 0.4):
        null = rng.permutation(8 + n_true) >= n_true
        tau = rng.permutation(np.array([*range(1, 8 + n_true), 3.0]))  # with one tie
        assert exact_null_sum(e_values, tau, null, level, copies) <= 1 + 1e-12


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_e_values_sum_to_more(rule):
    tau, null = np.arange(1.0, 9.0), np.ones(8, dtype=bool)
    assert max(exact_null_sum(rule, tau, null, level, 3) for level in (0.1, 0.15)) > 1.1


def null_sums(rule, copies, replicates, n_true=2, n_null=40):
    """(replicates,) sum of the e-values of null units over p."""
    rng = np.random.default_rng(copies)
    shape = replicates, n_true + n_null
    W = rng.exponential(size=shape) * np.where(rng.random(shape) < 1 / (copies + 1), 1, -1)
    W[:, :n_true] = np.abs(W[:, :n_true]) + 2
    return np.array([rule(row, 0.1, copies)[n_true:].sum() for row in W]) / W.shape[1]


@pytest.mark.parametrize("copies", [1, 3, 5])
def test_null_e_values_sum_to_at_most_p_on_average(copies):
    """7,000 replicates of 40 null and 2 true units: mean sum at most p + 4 se (false-alarm rate 3e-5)."""
    sums = null_sums(e_values, copies, 7_000)
    assert sums.mean() <= 1 + 4 * sums.std() / np.sqrt(len(sums))


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_e_values_exceed_p_on_average(rule):
    sums = null_sums(rule, 3, 2_000)
    assert sums.mean() > 1 + 4 * sums.std() / np.sqrt(len(sums))


def test_several_draws_select_what_most_draws_find():
    rng = np.random.default_rng(2)
    draws = []
    for _ in range(10):
        W = 0.1 * rng.standard_normal(100)
        W[:30] += 3
        draws.append(W)
    e = mean_e_values(draws, 0.1)
    np.testing.assert_array_equal(np.flatnonzero(e_benjamini_hochberg(e, 0.1)), np.arange(30))
    q = e_q_values(draws)
    assert np.all(q[:30] <= 0.1)
    assert np.all(q[30:] > 0.1)
    assert e_q_values([np.zeros(4)]).tolist() == [1, 1, 1, 1]


def test_few_true_units_are_found_with_copies():
    """Four units that win in every draw: e = m p, and e-BH needs 1 / (m fdr) of them."""
    rng = np.random.default_rng(3)
    draws = [np.concatenate([3 + rng.random(4), -rng.random(26)]) for _ in range(10)]
    np.testing.assert_allclose(mean_e_values(draws, 0.1, copies=3)[:4], 3 * 30)
    for copies, found in ((1, 0), (2, 0), (3, 4), (5, 4)):
        selected = e_benjamini_hochberg(mean_e_values(draws, 0.1, copies), 0.1)
        np.testing.assert_array_equal(np.flatnonzero(selected), np.arange(found))
        np.testing.assert_array_equal(e_q_values(draws, copies) <= 0.1, selected)


def test_q_values_are_levels_that_do_select():
    rng = np.random.default_rng(4)
    draws = [np.concatenate([3 + rng.standard_normal(25), rng.standard_normal(40)]) for _ in range(5)]
    for copies in (1, 3):
        q = e_q_values(draws, copies)
        for level in np.unique(q[q < 1]):
            chosen = e_benjamini_hochberg(mean_e_values(draws, level, copies), level)
            assert np.all(chosen[q == level])
        smallest = q.min()
        below = smallest - 0.005
        assert not e_benjamini_hochberg(mean_e_values(draws, below, copies), below).any()


def test_exact_ties_are_not_lost_to_rounding():
    """60 of 68 features with e = 34/3, exactly p / (fdr k): 0.1 is a level at which they are selected."""
    e = np.concatenate([np.full(60, 68 / 6.0), np.zeros(8)])
    assert e_benjamini_hochberg(e, 0.1).sum() == 60


def test_level_of_the_draws():
    W = np.concatenate([np.arange(2.0, 42.0), [-1.5, -1.0]])
    draws = [W, -W]
    np.testing.assert_array_equal(mean_e_values(draws, 0.1), mean_e_values(draws, 0.1, level=inner_level(0.1)))
    expected = (e_values(W, 0.2) + e_values(-W, 0.2)) / 2
    np.testing.assert_array_equal(mean_e_values(draws, 0.1, level=0.2), expected)


def test_level_of_the_draws_with_many_copies():
    """Half the fdr, or so little that winning copies, and one more, are half of the winning originals; at least a quarter."""
    assert [inner_level(0.1, copies) for copies in (1, 5, 10, 20, 40)] == [0.05, 0.05, 0.05, 0.025, 0.025]
    assert inner_level(0.2, 10) == 0.05
    # Two units that come first in every draw; among the others, which differ from draw to draw, copies win nearly as often.
    rng = np.random.default_rng(0)
    draws = rng.permuted(np.tile(np.where(np.arange(40) < 18, 1.0, -1.0), (10, 1)) * rng.uniform(0.1, 1, 40), axis=1)
    draws[:, :2] = 3.0
    np.testing.assert_array_equal(e_benjamini_hochberg(mean_e_values(draws, 0.1, 20), 0.1), np.arange(40) < 2)
    assert not e_benjamini_hochberg(mean_e_values(draws, 0.1, 20, level=0.05), 0.1)[:2].any()


def test_selection_frequency_counts_single_draws():
    draws = [np.array([3.0, 2.0, -1.0]), np.array([3.0, -2.0, 1.0]), np.array([-3.0, 2.0, 1.0])]
    np.testing.assert_allclose(selection_frequency(draws, 0.5), [1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(selection_frequency(draws, 0.5, copies=2), [2 / 3, 2 / 3, 2 / 3])
    np.testing.assert_allclose(selection_frequency(draws, 0.1), 0)


def test_level_is_checked():
    with pytest.raises(ValueError, match="fdr must be in"):
        mean_e_values([np.ones(3)], 1.2)
    with pytest.raises(ValueError, match="copies must be"):
        mean_e_values([np.ones(3)], 0.1, copies=0)


def test_a_unit_that_few_draws_find_counts_for_nothing():
    """Large e-values of single draws would carry it: with five copies one draw in ten is enough for e-BH."""
    often, seldom = np.full(20, -0.1), np.full(20, -0.1)
    often[:4], seldom[:8] = 5.0, 5.0
    draws = [often] * 7 + [seldom] * 3
    single = np.array([e_values(W, inner_level(0.1, 5), 5) for W in draws])
    assert (single.mean(axis=0)[4:8] > 0).all()
    assert e_benjamini_hochberg(single.mean(axis=0), 0.1)[:8].all()
    e = mean_e_values(draws, 0.1, 5)
    np.testing.assert_array_equal(e > 0, np.arange(20) < 4)
    assert (e <= single.mean(axis=0)).all(), "e-values may be lowered, never raised"
    np.testing.assert_array_equal(e_q_values(draws, 5) < 1, np.arange(20) < 4)
