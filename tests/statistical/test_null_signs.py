"""Null signs are fair coins: the property on which the guarantee rests, for an honest and for a biased statistic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from grip2.knockoffs import GaussianKnockoffs
from grip2.result import Importance
from grip2.statistics import GRIP2, Statistic

FALSE_ALARM = 1e-4


class FavoursTheFirst(Statistic):
    """Half as much again for whatever stands first: the kind of bias an asymmetric network has."""

    def _importance(self, X, Xk, y, *, rng, task, progress):
        first, second = (np.abs((part - part.mean(0)).T @ (y - y.mean())) for part in (X, Xk))
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


def test_grip2_signs_are_fair_under_the_null():
    """80 data sets of 40 null features, 3,200 signs less exact zeros; every automatic choice included, on a small network."""
    statistic = GRIP2(hidden=4, depth=1, steps=250, batch_size=64)
    W = [statistic.importance(*null_data(seed), rng=np.random.default_rng(seed)).W for seed in range(80)]
    assert within_binomial_bound(W)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_biased_statistic_is_fair_only_through_the_swap(wrapped):
    """100 data sets, 4,000 signs. Called behind the wrapper's back the same statistic fails the same bound."""
    statistic = FavoursTheFirst()
    W = []
    for seed in range(100):
        X, Xk, y = null_data(seed)
        if wrapped:
            W.append(statistic.importance(X, Xk, y, rng=np.random.default_rng(seed)).W)
        else:
            W.append(
                statistic.sized(len(X))
                ._importance(X, Xk, y, rng=np.random.default_rng(seed), task="regression", progress=None)
                .W
            )
    assert within_binomial_bound(W) == wrapped
