"""Compiled swaps (`grip2.statistics.effect_moves`): a correlated column of another unit takes over the only effect of a unit.

A Metropolis step. With neither of the two columns acting, the odds that either acts normalise two Gibbs steps, one that takes
its effect away and one that gives the other column an effect; so the ratio of these odds is that of Hastings.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper
from grip2.engine.effect_exchange import add_effect, drawn_choice
from grip2.engine.effect_visits import EffectState, EffectTerms


@compiled
def swap_columns(
    terms: EffectTerms,
    state: EffectState,
    edges: np.ndarray,
    precision: float,
    variances: np.ndarray,
    log_shares: np.ndarray,
    uniform: np.ndarray,
    normal: np.ndarray,
) -> None:
    """Propose a swap along each of the ``edges`` (edges, 2), one after the other; those that are impossible change nothing.

    ``log_shares`` (1 + sets,): of columns outside of pairs. ``uniform`` (edges, 3): what acts then, acceptance, and which set of
    absent functions the other column has; ``normal`` (edges, functions).
    """
    functions = terms.place.shape[2]
    sets = len(terms.sets)
    posterior = np.empty(functions)
    for f in range(functions):
        posterior[f] = 1.0 / (precision + 1.0 / variances[f])
    for i in range(len(edges)):
        j, other = edges[i, 0], edges[i, 1]
        if _acts_once(terms, state, other):
            j, other = other, j
        of, to = terms.unit[j], terms.unit[other]
        if not _acts_once(terms, state, j) or state.acting[to] > 0 or state.in_pairs[of] > 0:
            continue
        before = terms.place[state.member[of], j]
        _, _, idle_here, odds_here = _weights(terms, state, before, j, precision, variances, posterior, log_shares)
        mean, log_weight, _, odds = _weights(terms, state, before, other, precision, variances, posterior, log_shares)
        if np.log(uniform[i, 1]) >= odds - odds_here:
            continue
        member, which = divmod(drawn_choice(log_weight, uniform[i, 0]), sets)
        for f in range(functions):
            if state.effects[before[f]] != 0.0:
                add_effect(terms.gram, state, before[f], -state.effects[before[f]])
                state.effects[before[f]] = 0.0
        for f in range(functions):
            column = terms.place[member, other, f]
            if terms.sets[which, f] > 0 and column != len(terms.gram) - 1:
                add_effect(terms.gram, state, column, mean[member, f] + np.sqrt(posterior[f]) * normal[i, f])
        state.chosen[j], state.chosen[other] = drawn_choice(idle_here, uniform[i, 2]), which + 1
        state.acting[of], state.acting[to], state.member[to] = 0, 1, member


@compiled_helper
def _acts_once(terms: EffectTerms, state: EffectState, column: int) -> bool:
    """Is the effect of this column the only one of its unit? False too where the unit does not act."""
    unit = terms.unit[column]
    if state.acting[unit] != 1:
        return False
    for f in range(terms.place.shape[2]):  # noqa: SIM110 (a generator would be another function to compile)
        if state.effects[terms.place[state.member[unit], column, f]] != 0.0:
            return True
    return False


@compiled_helper
def _weights(
    terms: EffectTerms,
    state: EffectState,
    before: np.ndarray,
    j: int,
    precision: float,
    variances: np.ndarray,
    posterior: np.ndarray,
    log_shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Of everything that column j may do if the columns ``before`` do not act, and its unit does not act otherwise.

    Means of effects (members, functions); log weights of acting (members x sets,), in which absent functions do not; of not
    acting (1 + sets,): no set, or one of absent functions; and the log odds of acting.
    """
    members, _, functions = terms.place.shape
    sets, absent = len(terms.sets), len(terms.gram) - 1
    mean, evidence = np.zeros((members, functions)), np.zeros((members, functions))
    for k in range(members):
        for f in range(functions):
            column = terms.place[k, j, f]
            if column == absent:
                continue
            without = state.residual[column]
            for b in before:
                without += state.effects[b] * terms.gram[b, column]
            mean[k, f] = posterior[f] * precision * without
            evidence[k, f] = 0.5 * np.log(posterior[f] / variances[f]) + 0.5 * mean[k, f] ** 2 / posterior[f]
    log_weight, log_idle = np.empty(members * sets), np.empty(1 + sets)
    log_idle[0] = log_shares[0]
    for s in range(sets):
        log_idle[1 + s] = -np.inf
        impossible = 0
        for k in range(members):
            total, possible = log_shares[1 + s] - np.log(members), False
            for f in range(functions):
                if terms.sets[s, f] > 0 and terms.place[k, j, f] != absent:
                    possible = True
                    total += evidence[k, f]
            log_weight[k * sets + s] = total if possible else -np.inf
            impossible += 0 if possible else 1
        if impossible > 0:
            log_idle[1 + s] = log_shares[1 + s] + np.log(impossible / members)
    return mean, log_weight, log_idle, _log_sum(log_weight) - _log_sum(log_idle)


@compiled_helper
def _log_sum(log_weight: np.ndarray) -> float:
    """Logarithm of the sum of the weights; of none that is positive: minus infinity."""
    top = -np.inf
    for one in log_weight:
        top = max(top, one)
    if top == -np.inf:
        return float(top)
    total = 0.0
    for one in log_weight:
        total += np.exp(one - top)
    return float(top + np.log(total))
