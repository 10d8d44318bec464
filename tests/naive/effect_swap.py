"""Naive twin of `grip2.engine.effect_swap`: one swap, with correlations and weights computed anew by NumPy."""

from __future__ import annotations

import numpy as np


def naive_swap(terms, state, prior, edge, uniform, normal):
    """Propose that the column of an edge that does not act takes over from the one that does; changes the state."""
    j, other = edge
    if acts_once(terms, state, other):
        j, other = other, j
    of, to = terms.unit[j], terms.unit[other]
    if not acts_once(terms, state, j) or state.acting[to] or state.in_pairs[of]:
        return
    before = terms.place[state.member[of], j]
    effects = state.effects.copy()
    effects[before] = 0.0
    residual = terms.correlation - terms.gram.astype(float) @ effects
    idle, odds = weights(terms, prior, residual, j)[2:]
    mean, log_weight, _, other_odds = weights(terms, prior, residual, other)
    if np.log(uniform[1]) >= other_odds - odds:
        return
    member, which = divmod(drawn(log_weight.reshape(-1), uniform[0]), len(terms.sets))
    columns = terms.place[member, other]
    deviation = np.sqrt(1 / (prior.precision + 1 / prior.variances[:-1]))
    effects[columns] = terms.sets[which] * (columns != len(effects) - 1) * (mean[member] + deviation * normal)
    effects[-1] = 0.0
    state.effects[:] = effects
    state.residual[:] = terms.correlation - terms.gram.astype(float) @ effects
    state.chosen[j], state.chosen[other] = drawn(idle, uniform[2]), which + 1
    state.acting[of], state.acting[to], state.member[to] = 0, 1, member


def acts_once(terms, state, column):
    unit = terms.unit[column]
    return state.acting[unit] == 1 and state.effects[terms.place[state.member[unit], column]].any()


def weights(terms, prior, residual, column):
    """Means of effects, log weights of acting (members, sets) and of not acting (1 + sets,), and the log odds of acting."""
    place, slabs = terms.place[:, column], prior.variances[:-1]
    present = place != len(terms.gram) - 1
    posterior = 1 / (prior.precision + 1 / slabs)
    mean = posterior * prior.precision * residual[place] * present
    evidence = (0.5 * np.log(posterior / slabs) + 0.5 * mean**2 / posterior) * present
    shares = prior.log_shares[0]
    possible = (present @ terms.sets.T) > 0
    with np.errstate(divide="ignore"):
        log_idle = np.concatenate([shares[:1], shares[1:] + np.log(np.mean(~possible, axis=0))])
    log_weight = np.where(possible, shares[1:] - np.log(len(place)) + evidence @ terms.sets.T, -np.inf)
    return mean, log_weight, log_idle, np.logaddexp.reduce(log_weight, axis=None) - np.logaddexp.reduce(log_idle)


def drawn(log_weight, uniform):
    """Likelier ones come first."""
    order = np.argsort(-log_weight, kind="stable")
    ladder = np.cumsum(np.exp(log_weight[order] - log_weight[order[0]]))
    return int(order[min(np.searchsorted(ladder, uniform * ladder[-1], side="right"), len(order) - 1)])
