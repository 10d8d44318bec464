"""False discoveries of the default selector: Staged on copula knockoffs, everything learned from the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.datasets import make_hidden_interactions
from grip2.knockoffs import CopulaKnockoffs
from grip2.metrics import false_discovery_proportion, power
from grip2.statistics import GRIP2, Staged

REPLICATES = 40
FDR = 0.2


class OfOtherRows(CopulaKnockoffs):
    """The broken twin: knockoffs of the right distribution that do not belong to their rows."""

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        return rng.permutation(super()._sample(X, rng, copies), axis=1)


def proportions(sampler: CopulaKnockoffs) -> tuple[np.ndarray, float]:
    """False discovery proportions over data sets, and the mean power."""
    shares, found = [], []
    for seed in range(REPLICATES):
        made = make_hidden_interactions(2000, 60, 0.6, n_signals=12, random_state=seed)
        selector = KnockoffSelector(Staged(network=GRIP2(steps=1500)), sampler, fdr=FDR, random_state=seed).fit(
            made.X, made.y
        )
        selected = np.flatnonzero(selector.result_.selected_mask)
        shares.append(false_discovery_proportion(selected, made.support))
        found.append(power(selected, made.support))
    return np.array(shares), float(np.mean(found))


def bound(shares: np.ndarray) -> float:
    """Level plus 4 standard errors: a rate of false alarms below 1e-4 (normal limit; the true mean is below the level)."""
    return FDR + 4 * shares.std(ddof=1) / np.sqrt(len(shares))


@pytest.mark.slow
def test_default_selector():
    shares, found = proportions(CopulaKnockoffs())
    assert found > 0.5
    assert shares.mean() <= bound(shares)


@pytest.mark.slow
def test_knockoffs_of_other_rows_lose_control():
    shares, _ = proportions(OfOtherRows())
    assert shares.mean() > bound(shares)
