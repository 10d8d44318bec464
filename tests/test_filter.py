"""The filter against exhaustive search, the traps around zero and ties, and its false discovery rate with copies."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.filter import contrast, estimated_fdp, fewest_selected, knockoff_threshold, q_values, select
from tests.naive import filter as naive

# A coarse grid of values makes ties, zeros and equal |W| of both signs common.
statistics = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=14)
numbers_of_copies = st.sampled_from([1, 2, 3, 5])
levels = st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.5, 0.9])


@st.composite
def importances(draw):
    members, units = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    values = draw(st.lists(st.integers(0, 4), min_size=members * units, max_size=members * units))
    return np.array(values, dtype=float).reshape(members, units)


@given(statistics, levels, st.sampled_from([0, 1]), numbers_of_copies)
@settings(max_examples=300, deadline=None)
def test_threshold_equals_exhaustive_search(W, fdr, offset, copies):
    assert knockoff_threshold(np.array(W), fdr, offset, copies) == naive.threshold(W, fdr, offset, copies)


@given(statistics, st.sampled_from([1]), numbers_of_copies)
@settings(max_examples=100, deadline=None)
def test_q_value_is_the_smallest_level_that_selects(W, offset, copies):
    q = q_values(np.array(W), offset, copies)
    for j in range(len(W)):
        assert q[j] == pytest.approx(naive.q_value(W, j, offset, copies))


@given(statistics, numbers_of_copies)
@settings(max_examples=100, deadline=None)
def test_selection_is_what_q_values_say(W, copies):
    W = np.array(W)
    for fdr in (0.1, 0.25, 0.5):
        selected = select(W, knockoff_threshold(W, fdr, copies=copies))
        np.testing.assert_array_equal(selected, q_values(W, copies=copies) <= fdr)


@given(statistics, levels)
@settings(max_examples=100, deadline=None)
def test_more_copies_never_raise_a_threshold_or_a_q_value(W, fdr):
    """For the same W the estimate is divided by more."""
    W = np.array(W)
    thresholds = [knockoff_threshold(W, fdr, copies=copies) for copies in (1, 2, 3, 5)]
    assert thresholds == sorted(thresholds, reverse=True)
    assert np.all(q_values(W, copies=3) <= q_values(W, copies=1))


def test_one_copy_is_the_default_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(50):
        W = rng.standard_normal(40) + (rng.random(40) < 0.3)
        for offset in (0, 1):
            assert knockoff_threshold(W, 0.2, offset) == knockoff_threshold(W, 0.2, offset, copies=1)
            np.testing.assert_array_equal(q_values(W, offset), q_values(W, offset, copies=1))
        scores = rng.standard_normal((2, 40)).astype(rng.choice([np.float32, np.float64]))
        scores[:, :5] = scores[0, :5]
        expected = scores[0] - scores[1]
        assert contrast(scores).dtype == expected.dtype
        assert contrast(scores).tobytes() == expected.tobytes()


@given(importances())
@settings(max_examples=200, deadline=None)
def test_contrast_equals_the_definition(scores):
    np.testing.assert_array_equal(contrast(scores), naive.contrast(scores))


def test_contrast_by_hand():
    scores = np.array([[5.0, 1.0, 3.0, 3.0], [1.0, 4.0, 3.0, 1.0], [2.0, 2.0, 0.0, 2.0], [4.0, 0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(contrast(scores), [5 - 2, -(4 - 1), 0, 3 - 2])


@pytest.mark.parametrize("members", [2, 3, 4, 5])
def test_each_member_wins_in_the_same_number_of_orders(members):
    """The exact reason for the filter: over all orders of a unit's members |W| is constant, and W > 0 in one of 1 + m."""
    rng = np.random.default_rng(members)
    distinct = rng.standard_normal(members)
    W = contrast(np.array(list(permutations(distinct))).T)
    assert len(np.unique(np.abs(W))) == 1
    assert np.sum(W > 0) * members == len(W)
    tied = np.append(distinct[1:], distinct[1:].max())
    assert not contrast(np.array(list(permutations(tied))).T).any()


@pytest.mark.parametrize("copies", [1, 2, 3, 5, 7, 10, 20])
def test_fewest_selected_agrees_with_the_filter(copies):
    for fdr in (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 0.6 * 0.1, 0.5, 0.9):
        assert fewest_selected(fdr, copies) == naive.fewest_selected(fdr, copies)
    assert fewest_selected(0.1, 1) == 10
    assert fewest_selected(0.1, 5) == 2
    assert fewest_selected(0.1, 10) == 1


# The false discovery rate, with scores drawn directly: every rule is (W of the scores, selection from W).


def right(scores):
    return contrast(scores)


def ties_to_the_original(scores):
    W = contrast(scores)
    rest = np.sort(scores[1:], axis=0)
    return np.where((W == 0) & (scores[0] == scores.max(axis=0)), scores[0] - np.median(rest, axis=0), W)


def original_minus_the_median_copy(scores):
    return scores[0] - np.median(scores[1:], axis=0)


def by_the_filter(W, fdr, copies):
    return select(W, knockoff_threshold(W, fdr, copies=copies))


def without_the_one(W, fdr, copies):
    return select(W, knockoff_threshold(W, fdr, offset=0, copies=copies))


def divided_by_members(W, fdr, copies):
    return select(W, knockoff_threshold(W, fdr * (copies + 1) / copies, copies=copies))


def divided_by_copies_squared(W, fdr, copies):
    return select(W, knockoff_threshold(W, fdr, copies=copies**2))


def from_zero(W, fdr, copies):
    return select(
        W, 0.0 if np.sum(W <= 0) <= fdr * copies * np.sum(W >= 0) else knockoff_threshold(W, fdr, copies=copies)
    )


# Importances are rounded to a multiple of the grid: 0.1 gives rare ties, 1 many. True units, null units, grid.
MANY_TRUE, FEW_TRUE, MANY_TIES, HALF_TRUE_AND_TIES = (10, 50, 0.1), (2, 20, 0.1), (10, 50, 1.0), (20, 20, 1.0)


def mean_false_share(to_W, chosen, copies, case, replicates, fdr=0.2, seed=0):
    """Mean and standard error of the FDP over replicates of null units and units with a higher original."""
    rng = np.random.default_rng(seed)
    true, null, grid = case
    scores = np.abs(rng.standard_normal((1 + copies, replicates, true + null)))
    scores[0, :, :true] += 3
    scores = grid * np.floor(scores / grid)
    W = to_W(scores.reshape(1 + copies, -1)).reshape(replicates, true + null)
    shares = np.empty(replicates)
    for i in range(replicates):
        found = chosen(W[i], fdr, copies)
        shares[i] = found[true:].sum() / max(1, found.sum())
    return shares.mean(), shares.std() / np.sqrt(replicates)


@pytest.mark.parametrize("copies", [1, 3, 5])
@pytest.mark.parametrize("case", [MANY_TRUE, FEW_TRUE, MANY_TIES, HALF_TRUE_AND_TIES])
def test_false_discovery_rate_over_many_replicates(copies, case):
    """20,000 replicates in all for every number of copies: mean FDP at most 0.2 + 4 se (false-alarm rate 3e-5 each)."""
    mean, error = mean_false_share(right, by_the_filter, copies, case, 5_000)
    assert mean <= 0.2 + 4 * error


@pytest.mark.parametrize(
    ("to_W", "chosen", "copies", "case"),
    [
        (ties_to_the_original, by_the_filter, 5, MANY_TIES),
        (original_minus_the_median_copy, by_the_filter, 3, MANY_TRUE),
        (right, without_the_one, 1, FEW_TRUE),
        (right, without_the_one, 3, FEW_TRUE),
        (right, divided_by_members, 1, MANY_TRUE),
        (right, divided_by_members, 3, MANY_TRUE),
        (right, divided_by_copies_squared, 3, MANY_TRUE),
        (right, from_zero, 3, HALF_TRUE_AND_TIES),
    ],
)
def test_broken_filters_exceed_the_rate(to_W, chosen, copies, case):
    """2,000 replicates are enough to see each of them."""
    mean, error = mean_false_share(to_W, chosen, copies, case, 2_000)
    assert mean > 0.2 + 4 * error


def test_zero_is_never_a_candidate():
    """A search that includes t = 0 selects every feature with W = 0."""
    W = np.concatenate([np.zeros(50), np.full(20, 1.0)])
    assert knockoff_threshold(W, 0.1) == 1.0
    assert select(W, 1.0).sum() == 20
    assert np.all(q_values(W)[:50] == 1)
    assert knockoff_threshold(np.zeros(5), 0.9) == np.inf
    assert not select(np.zeros(5), np.inf).any()


def test_offset_one_needs_one_over_fdr_selections():
    assert knockoff_threshold(np.ones(9), 0.1) == np.inf
    assert knockoff_threshold(np.ones(10), 0.1) == 1.0
    assert knockoff_threshold(np.ones(9), 0.1, offset=0) == 1.0


def test_estimates_by_hand():
    candidates, estimates = estimated_fdp(np.array([3.0, 2.0, -2.0, 1.0, 0.0]))
    np.testing.assert_array_equal(candidates, [1, 2, 3])
    np.testing.assert_allclose(estimates, [2 / 3, 2 / 2, 1 / 1])


@pytest.mark.parametrize("fdr", [0, 1, -0.1, 1.5, "0.1", True, np.nan])
def test_fdr_outside_the_unit_interval_is_refused(fdr):
    with pytest.raises(ValueError, match=r"fdr must be in \(0, 1\)"):
        knockoff_threshold(np.ones(3), fdr)


def test_bad_statistics_are_refused():
    with pytest.raises(ValueError, match="finite"):
        q_values(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="one-dimensional"):
        q_values(np.ones((2, 2)))
    with pytest.raises(ValueError, match="offset must be 0 or 1"):
        knockoff_threshold(np.ones(3), 0.1, offset=2)


@pytest.mark.parametrize("copies", [0, -1, 1.5, True, "3"])
def test_copies_must_be_a_whole_number(copies):
    with pytest.raises(ValueError, match="copies must be a whole number"):
        q_values(np.ones(3), copies=copies)
    with pytest.raises(ValueError, match="copies must be a whole number"):
        fewest_selected(0.1, copies)


@pytest.mark.parametrize("shape", [(4,), (1, 4), (2, 3, 4)])
def test_scores_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(1 \+ copies, units\)"):
        contrast(np.ones(shape))
