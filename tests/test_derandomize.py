"""e-values and e-BH: against exhaustive search, and their defining inequality under the null."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.derandomize import e_benjamini_hochberg, e_q_values, e_values, mean_e_values
from grip2.filter import knockoff_threshold


def naive_ebh(e, fdr):
    p, best = len(e), 0
    for k in range(1, p + 1):
        if sorted(e, reverse=True)[k - 1] >= p / (fdr * k):
            best = k
    cut = sorted(e, reverse=True)[best - 1] if best else np.inf
    return np.array([value >= cut for value in e])


def test_ebh_equals_exhaustive_search():
    rng = np.random.default_rng(0)
    for _ in range(200):
        e = rng.choice([0.0, 1.0, 5.0, 12.0, 30.0], size=12)
        for fdr in (0.1, 0.3):
            np.testing.assert_array_equal(e_benjamini_hochberg(e, fdr), naive_ebh(e, fdr))


def test_e_values_by_hand():
    W = np.array([3.0, 2.5, 2.0, 1.5, -1.0, 0.5])
    # At level 0.3 the threshold is 1.5: (1 + 0) / 4 = 0.25.
    np.testing.assert_allclose(e_values(W, 0.3), [6, 6, 6, 6, 0, 0])


def without_the_one(W, fdr):
    """A broken twin: the threshold and the denominator forget the 1 of knockoff+."""
    threshold = knockoff_threshold(W, fdr, offset=0)
    return len(W) * (threshold <= W) / max(1, np.sum(-threshold >= W))


@pytest.mark.parametrize(("rule", "holds"), [(e_values, True), (without_the_one, False)])
def test_null_e_values_sum_to_at_most_p_in_expectation(rule, holds):
    """4,000 replicates of 30 fair-coin W: mean sum at most p + 5 se (false-alarm rate 3e-7)."""
    rng = np.random.default_rng(1)
    sums = np.array([rule(rng.standard_normal(30), 0.5).sum() for _ in range(4000)])
    assert (sums.mean() <= 30 + 5 * sums.std() / np.sqrt(len(sums))) == holds


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


def test_q_values_are_levels_that_do_select():
    rng = np.random.default_rng(4)
    draws = [np.concatenate([3 + rng.standard_normal(25), rng.standard_normal(40)]) for _ in range(5)]
    q = e_q_values(draws)
    for level in np.unique(q[q < 1]):
        chosen = e_benjamini_hochberg(mean_e_values(draws, level), level)
        assert np.all(chosen[q == level])
    smallest = q.min()
    assert not e_benjamini_hochberg(mean_e_values(draws, smallest - 0.005), smallest - 0.005).any()


def test_exact_ties_are_not_lost_to_rounding():
    """60 of 68 features with e = 34/3, exactly p / (fdr k): 0.1 is a level at which they are selected."""
    e = np.concatenate([np.full(60, 68 / 6.0), np.zeros(8)])
    assert e_benjamini_hochberg(e, 0.1).sum() == 60


def test_level_is_checked():
    with pytest.raises(ValueError, match="fdr must be in"):
        mean_e_values([np.ones(3)], 1.2)
