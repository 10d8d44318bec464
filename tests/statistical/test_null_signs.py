"""Null signs are fair coins: the property on which the guarantee rests, for an honest and for a biased statistic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from grip2.knockoffs import GaussianKnockoffs
from grip2.responses import response_from
from grip2.result import Importance
from grip2.statistics import GRIP2, Staged, Statistic

FALSE_ALARM = 1e-4


class FavoursTheFirst(Statistic):
    """Half as much again for whatever stands first: the kind of bias an asymmetric network has."""

    def _importance(self, X, Xk, response, *, rng, progress):
        first, second = (np.abs((part - part.mean(0)).T @ response.y) for part in (X, Xk))
        return Importance(1.5 * first, second)


def within_binomial_bound(W):
    """Share of positive signs among the nonzero W within the two-sided bound at 1e-4."""
    signs = np.concatenate(W)
    signs = signs[signs != 0]
    assert len(signs) >= 2000
    lo, hi = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(signs), 0.5)
    return lo <= np.sum(signs > 0) <= hi


def null_data(seed, n=200, p=40):
    rng = np.random.default_rng([seed, 99])
    X = rng.standard_normal((n, p))
    Xk = GaussianKnockoffs(np.zeros(p), np.eye(p)).fit(X).sample(X, rng=rng)
    return X, Xk, rng.standard_normal(n)


def scores(statistic, seed, *, without_swap):
    X, Xk, y = null_data(seed)
    rng = np.random.default_rng(seed)
    if not without_swap:
        return statistic.importance(X, Xk, y, rng=rng).W
    response = response_from(y, "regression")
    return statistic.sized(len(X))._importance(X, Xk, response, rng=rng, progress=None).W


NETWORK = GRIP2(hidden=4, depth=1, steps=250, batch_size=64)


@pytest.mark.parametrize(
    "statistic",
    [pytest.param(NETWORK, id="GRIP2"), pytest.param(Staged(network=NETWORK), id="Staged", marks=pytest.mark.slow)],
)
def test_signs_are_fair_under_the_null(statistic):
    """80 data sets of 40 null features, 3,200 signs less exact zeros; every automatic choice included, on a small network.

    Called without the exchange of pairs, which would make any statistic fair.
    """
    assert within_binomial_bound([scores(statistic, seed, without_swap=True) for seed in range(80)])


@pytest.mark.parametrize("without_swap", [False, True])
def test_a_biased_statistic_is_fair_only_through_the_swap(without_swap):
    """100 data sets, 4,000 signs. Without the exchange of pairs the same statistic fails the same bound."""
    W = [scores(FavoursTheFirst(), seed, without_swap=without_swap) for seed in range(100)]
    assert within_binomial_bound(W) != without_swap
