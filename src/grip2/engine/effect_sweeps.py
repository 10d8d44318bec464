"""Gibbs sweeps of a spike-and-slab model in which one member of a unit acts, in single effects and in pairs.

The inner loop of `grip2.statistics.effect_sampler`: hundreds of thousands of small draws, each given all others. It is compiled
by Numba (`grip2.engine.effect_visits`), because such loops are all overhead in NumPy and mostly overhead in JAX.

Terms are of two kinds. A main term is a column that acts through one of the sets of its orthonormal basis functions, or not at
all. A pair term is two columns of different units that act through the product of one function of each, or not at all. All
terms of a unit that act do so through the same member k_u, which has the prior 1 / members. So a term of units that act
elsewhere can act through their members only; any other term has the choice of all members.

A pair acts with the prior probability pi, through a product of each kind (line x line, line x V, ...) with the share of this
kind. A main term has the shares of sets of
units that act in no pair, or those of units that act in one: how often units that act in pairs also act alone is learned
(heredity).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grip2.engine.effect_visits import EffectState, EffectSums, EffectTerms, Fixed, visit_terms

__all__ = ["EffectState", "EffectSums", "EffectTerms", "Prior", "nothing_acts", "refresh", "sweep"]


class Prior(NamedTuple):
    """Everything that is held fixed in a sweep."""

    precision: float  # rows over noise variance
    variances: np.ndarray  # (functions + 1,) slab variances of effects along each basis function, and of products
    log_shares: np.ndarray  # (2, sets + 1) log prior of not acting and of each set, outside and inside of acting pairs
    log_pair: np.ndarray  # (1 + kinds,) log prior of a pair that does not act, and of a product of each kind

    def for_sweeps(self) -> Fixed:
        posterior = 1.0 / (self.precision + 1.0 / self.variances)
        at_zero = 0.5 * np.log(posterior / self.variances)
        shares = np.exp(self.log_shares)
        return Fixed(posterior, at_zero, float(self.precision), shares, self.log_shares, self.log_pair)


def nothing_acts(terms: EffectTerms) -> EffectState:
    """The state from which a chain begins."""
    units = int(terms.unit.max()) + 1
    nobody = (np.zeros(units, np.int64) for _ in range(3))
    return EffectState(
        np.zeros(len(terms.correlation)),
        terms.correlation.astype(float),
        np.zeros(len(terms.unit), np.int64),
        np.zeros(len(terms.pair_units), np.int64),
        *nobody,
    )


def refresh(terms: EffectTerms, state: EffectState) -> None:
    """Compute the correlations with the residual anew: rounding errors add up."""
    used = np.flatnonzero(state.effects)
    state.residual[:] = terms.correlation - state.effects[used] @ terms.gram[used]


def sweep(
    terms: EffectTerms, state: EffectState, order: np.ndarray, prior: Prior, rng: np.random.Generator
) -> EffectSums:
    """Draw terms anew, each given all others, in the order of every row of ``order`` (sweeps, visits).

    ``order`` holds the numbers of terms: columns of the table first, then pairs.
    """
    members, units = len(terms.place), len(state.acting)
    sums = EffectSums(np.zeros((units, members)), np.zeros(units), np.zeros(len(state.effects)))
    fixed = prior.for_sweeps()
    for visits in order:
        uniform = rng.random(len(visits))
        normal = rng.standard_normal((len(visits), terms.place.shape[2]))
        visit_terms(terms, state, visits, uniform, normal, fixed, sums)
        sums.effects[:] += state.effects
    return sums
