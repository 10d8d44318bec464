"""What a chain of the model of effects draws beside its sweeps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, kstest

from grip2.statistics.effect_chain import draw_below

RNG = np.random.default_rng
DRAWS, FALSE_ALARM = 20_000, 1e-6


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (3.0, 9.0), (9.0, 3.0), (60.0, 40.0)])
def test_shares_of_pairs_follow_a_beta_distribution_cut_off_at_a_half(a, b):
    """20,000 draws against the distribution function; false alarm 1e-6. Draws that are moved to the limit must fail."""
    rng = RNG(1)
    drawn = np.array([draw_below(0.5, a, b, rng) for _ in range(DRAWS)])
    assert drawn.max() <= 0.5
    below = beta.cdf(0.5, a, b)

    def distribution(share):
        return np.minimum(beta.cdf(share, a, b) / below, 1.0)

    assert kstest(drawn, distribution).pvalue > FALSE_ALARM
    moved = np.minimum(rng.beta(a, b, DRAWS), 0.5)
    assert kstest(moved, distribution).pvalue < FALSE_ALARM


def test_shares_that_are_nearly_all_above_the_limit_are_at_the_limit():
    assert draw_below(0.5, 5_000.0, 1.0, RNG(0)) == 0.5
