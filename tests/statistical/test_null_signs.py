"""Each member of a null unit wins with the same probability: the property on which the guarantee rests.

For an honest and for a biased statistic.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from grip2.knockoffs import GaussianKnockoffs
from grip2.responses import response_from
from grip2.result import Importance
from grip2.statistics import GRIP2, Staged, Statistic
from grip2.symmetry import Members
from grip2.units import Units

FALSE_ALARM = 1e-4


class FavoursTheFirst(Statistic):
    """Half as much again for whatever stands first: the kind of bias an asymmetric network has."""

    def _importance(self, members, response, *, rng, progress):
        first, *others = (np.abs((table - table.mean(0)).T @ response.y) for table in members.tables)
        return Importance(np.stack([1.5 * first, *others]))


def within_binomial_bound(W, copies):
    """Share of originals that win, among the nonzero W, within the two-sided bound at 1e-4 around 1 / (1 + copies)."""
    signs = np.concatenate(W)
    signs = signs[signs != 0]
    assert len(signs) >= 2000
    lo, hi = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(signs), 1 / (1 + copies))
    return lo <= np.sum(signs > 0) <= hi


def null_data(seed, copies, n=200, p=40):
    rng = np.random.default_rng([seed, 99])
    X = rng.standard_normal((n, p))
    Xk = GaussianKnockoffs(np.zeros(p), np.eye(p)).fit(X).sample(X, rng=rng, copies=copies)
    return X, Xk, rng.standard_normal(n)


def scores(statistic, seed, *, copies=1, without_shuffle):
    X, Xk, y = null_data(seed, copies)
    rng = np.random.default_rng(seed)
    if not without_shuffle:
        return statistic.importance(X, Xk, y, rng=rng).W
    members = Members((X, *Xk.reshape(copies, *X.shape)), Units.single(X.shape[1]))
    return statistic.sized(len(X))._importance(members, response_from(y, "regression"), rng=rng, progress=None).W


NETWORK = GRIP2(hidden=4, depth=1, steps=250, batch_size=64)


@pytest.mark.parametrize(
    "statistic",
    [pytest.param(NETWORK, id="GRIP2"), pytest.param(Staged(network=NETWORK), id="Staged", marks=pytest.mark.slow)],
)
def test_signs_are_fair_under_the_null(statistic):
    """80 data sets of 40 null features, 3,200 signs less exact zeros; every automatic choice included, on a small network.

    Called without the shuffle of members, which would make any statistic fair.
    """
    assert within_binomial_bound([scores(statistic, seed, without_shuffle=True) for seed in range(80)], 1)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("without_shuffle", [False, True])
def test_a_biased_statistic_is_fair_only_through_the_shuffle(without_shuffle, copies):
    """100 data sets, 4,000 signs. Without the shuffle of members the same statistic fails the same bound."""
    W = [scores(FavoursTheFirst(), seed, copies=copies, without_shuffle=without_shuffle) for seed in range(100)]
    assert within_binomial_bound(W, copies) != without_shuffle
