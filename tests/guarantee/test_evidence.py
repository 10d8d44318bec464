"""The e-processes: supermartingales while the claims are true, growing when they are not."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from guarantee.evidence import FAILS_AT, LEVELS, SHARES, Tally, e_of_wealth, e_of_wins, log_wealth
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("q", LEVELS)
def test_wealth_is_a_martingale_where_the_mean_is_the_level(q):
    """All 2^8 sequences of trials that are wholly false with probability q, weighted: the mean of every bet is 1."""
    sequences = np.array(list(product((0.0, 1.0), repeat=8)))
    chances = np.prod(np.where(sequences == 1, q, 1 - q), axis=1)
    wealth = np.exp([log_wealth(sequence[:, None], (q,))[0] for sequence in sequences])
    np.testing.assert_allclose(chances @ wealth, np.ones(len(SHARES)), rtol=1e-10)


@given(
    values=st.lists(st.floats(0, 1), min_size=2, max_size=6),
    weights=st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
    q=st.floats(0.02, 0.9),
)
def test_wealth_is_not_expected_to_grow_below_the_level(values, weights, q):
    """Any law of the FDP: moved below the level, no bet is expected to gain."""
    chances = np.array(weights[: len(values)]) / sum(weights[: len(values)])
    mean = float(chances @ values)
    shrunk = np.array(values) * min(1.0, q / mean if mean > 0 else 1.0)
    factors = np.exp([log_wealth(np.array([[value]]), (q,))[0] for value in shrunk])
    assert (chances @ factors <= 1 + 1e-9).all()


def simulated(mean: float, trials: int, replicates: int, seed: int) -> np.ndarray:
    """(replicates,) the largest e-value on the way, at one level: half of the trials select nothing, FDPs have this mean."""
    rng = np.random.default_rng(seed)
    fdp = rng.binomial(10, 2 * mean, (replicates, trials)) / 10 * (rng.random((replicates, trials)) < 0.5)
    q = LEVELS[-1]
    steps = np.log1p(SHARES * (fdp[..., None] / q - 1))
    paths = np.exp(np.cumsum(steps, axis=1)).mean(axis=2)
    return np.asarray(paths.max(axis=1))


def test_false_alarms_are_as_rare_as_ville_says():
    """4,000 runs of 200 trials with a mean at the level: at most 1 in 20 ever reaches 20.

    The bound is 5 % plus 4 standard errors of 0.0034, a false alarm below 1e-4.
    """
    assert np.mean(simulated(LEVELS[-1], 200, 4_000, 1) >= 20) <= 0.05 + 4 * 0.0034


def test_a_violation_is_seen():
    """Mean 0.35 at level 0.2: all of 200 runs of 600 trials reach 1e4, for which 150 trials are enough on average."""
    assert (simulated(0.35, 600, 200, 2) >= FAILS_AT).all()


def test_parts_add_up():
    fdp = np.random.default_rng(0).random((30, 2))
    halves = [Tally(15, fdp=part.sum(axis=0), wealth=log_wealth(part)) for part in (fdp[:15], fdp[15:])]
    total = Tally() + halves[0] + halves[1]
    assert total.trials == 30
    np.testing.assert_allclose(total.wealth, log_wealth(fdp))
    np.testing.assert_allclose(total.mean_fdp, fdp.mean(axis=0))
    assert total.worst >= e_of_wealth(total.wealth)


@pytest.mark.parametrize("members", [2, 4])
def test_wins_have_expectation_one_where_they_are_fair(members):
    """All ways in which 6 wins fall on the members, weighted by their multinomial chances."""
    counts = [wins for wins in product(range(7), repeat=members) if sum(wins) == 6]
    chances = [factorial(6) / prod(factorial(win) for win in wins) / members**6 for wins in counts]
    e = [np.exp(e_of_wins(np.array(wins))) for wins in counts]
    assert np.dot(chances, e) == pytest.approx(1.0, rel=1e-9)


def test_unfair_wins_are_seen_and_fair_ones_are_not():
    """30,000 signs of which 52 % are wins of the original: six standard errors and more beyond what 1e4 x 300 cells needs."""
    limit = np.log(FAILS_AT * 300)
    assert e_of_wins(np.array([15_700, 14_300])) > limit
    assert e_of_wins(np.array([15_100, 14_900])) < 0
    assert e_of_wins(np.array([7_500, 7_510, 7_480, 7_510])) < 0
