"""The compiled loop of `grip2.engine.effect_sweeps`: visits of terms, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper

# The probability that a unit acts through a member is averaged over visits, in which a single effect counts as much as so many
# pairs. Every visit gives an unbiased estimate, but most visits of pairs only repeat whether the unit acts at that moment, while
# a visit of a single effect gives its probability given everything else, which varies far less. Chosen on linear signals
# (n = 1,000, p = 200); products alone and beside linear signals are found as well with it as without.
SINGLE_VISIT = 20.0


class EffectTerms(NamedTuple):
    """What the sampler works on. Columns are numbered; the last one is a zero placeholder for absent ones."""

    gram: np.ndarray  # (size, size) single precision, moments per row
    correlation: np.ndarray  # (size,) with the response
    place: np.ndarray  # (members, p, functions) columns of the basis functions of every column of the table
    sets: np.ndarray  # (sets, functions) which functions may act together
    unit: np.ndarray  # (p,) number of the unit of every column of the table
    pair_place: np.ndarray  # (pairs, members, members, products) columns of the products of every pair
    pair_kind: np.ndarray  # (pairs, products) kind of every product: which functions of the two sides
    pair_units: np.ndarray  # (pairs, 2)


class EffectState(NamedTuple):
    """Where the sampler is; sweeps and moves change it in place."""

    effects: np.ndarray  # (size,)
    residual: np.ndarray  # (size,) correlations of every column with the residual
    chosen: np.ndarray  # (p,) 0 for a column that does not act, else 1 + number of its set of functions
    pair: np.ndarray  # (pairs,) 0 for a pair that does not act, else 1 + number of its member combination and product
    acting: np.ndarray  # (units,) how many terms of it act; a set of absent functions is no act
    in_pairs: np.ndarray  # (units,) how many of these are pairs
    member: np.ndarray  # (units,) through which they act, or did last


class Fixed(NamedTuple):
    """Everything that is held fixed in a sweep; the last entries of the first two are those of products."""

    posterior: np.ndarray  # (functions + 1,) variance of an effect that acts
    at_zero: np.ndarray  # (functions + 1,) log evidence for acting of a column that is not correlated with the residual
    precision: float  # rows over noise variance
    shares: np.ndarray  # (2, sets + 1) prior of not acting and of each set, outside and inside of acting pairs
    log_shares: np.ndarray  # (2, sets + 1) their logarithms
    log_pair: np.ndarray  # (1 + kinds,) log prior of a pair that does not act, and of a product of each kind


class EffectSums(NamedTuple):
    """Sums over sweeps."""

    probability: np.ndarray  # (units, members) weighted sums of the probability that the unit acts through the member
    visits: np.ndarray  # (units,) sums of these weights
    effects: np.ndarray  # (size,) over sweeps


@compiled
def visit_terms(
    terms: EffectTerms,
    state: EffectState,
    order: np.ndarray,
    uniform: np.ndarray,
    normal: np.ndarray,
    fixed: Fixed,
    sums: EffectSums,
) -> None:
    """One sweep: the terms of ``order`` (columns of the table, then pairs) are drawn anew, each given all others.

    Basis functions of one column are orthonormal, so given the set that acts, its effects are independent normals, and the
    log evidence for a set is the sum over its functions. An absent function has no effect, whether it is in the set or not.
    """
    p, members = len(terms.unit), len(terms.place)
    # How much likelier the single effects of a unit would be if it acted in a pair than if it did not.
    heredity = np.zeros(len(state.acting))
    for j in range(p):
        heredity[terms.unit[j]] += fixed.log_shares[1, state.chosen[j]] - fixed.log_shares[0, state.chosen[j]]
    of_main = np.empty((members, len(terms.sets)))
    mean = np.empty((members, terms.place.shape[2]))
    halves = _halves_of_sets(terms.sets)
    of_half = np.empty((members, 2, 1 << (terms.sets.shape[1] - terms.sets.shape[1] // 2)))
    of_pair = np.empty((members * members, terms.pair_place.shape[3]))
    for i in range(len(order)):
        t = order[i]
        if t < p:
            before = state.chosen[t]
            _visit_main(terms, state, t, uniform[i], normal[i], fixed, halves, of_half, of_main, mean, sums)
            now, u = state.chosen[t], terms.unit[t]
            heredity[u] += fixed.log_shares[1, now] - fixed.log_shares[0, now]
            heredity[u] -= fixed.log_shares[1, before] - fixed.log_shares[0, before]
        else:
            _visit_pair(terms, state, t - p, uniform[i], normal[i, 0], fixed, heredity, of_pair, sums)


@compiled_helper
def _halves_of_sets(sets: np.ndarray) -> np.ndarray:
    """(sets, 2) which of the first half of the functions are in a set, and which of the others: a bit for each."""
    functions = sets.shape[1]
    halves = np.zeros((len(sets), 2), np.int64)
    for s in range(len(sets)):
        for f in range(functions):
            half, bit = (0, f) if f < functions // 2 else (1, f - functions // 2)
            halves[s, half] += (1 << bit) if sets[s, f] > 0 else 0
    return halves


@compiled_helper
def _weigh_sets(
    terms: EffectTerms,
    state: EffectState,
    j: int,
    free: bool,
    acted: bool,
    fixed: Fixed,
    halves: np.ndarray,
    of_half: np.ndarray,
    weights: np.ndarray,
    mean: np.ndarray,
    of_member: np.ndarray,
) -> tuple[float, bool]:
    """Fill the weights of all sets of functions of column j, their sums and the means of effects, as if it did not act now.

    ``free``: its unit may act through any member. Returns the weight of not acting, and whether a function is absent.

    A set's weight is its share times the product over functions of exp(evidence) where they act: few exponentials of many sets.
    Divided by that of the best set, exp(M) with M the sum of positive evidence, it cannot overflow. Products over the first half
    of the functions, and over the others, are those of many sets.
    """
    members, _, functions = terms.place.shape
    u, absent, first_half = terms.unit[j], len(terms.gram) - 1, functions // 2
    before = terms.place[state.member[u], j]
    shares = fixed.shares[1 if state.in_pairs[u] > 0 else 0]
    chance = 1.0 / members if free else 1.0
    best = np.zeros(members)
    some_absent = False
    for k in range(members):
        if not free and k != state.member[u]:
            continue
        of_half[k, 0, 0], of_half[k, 1, 0] = 1.0, 1.0
        for f in range(functions):
            column = terms.place[k, j, f]
            mean[k, f], evidence = 0.0, 0.0
            if column != absent:
                without = state.residual[column]
                if acted:
                    for b in before:
                        without += state.effects[b] * terms.gram[b, column]
                mean[k, f] = fixed.posterior[f] * fixed.precision * without
                evidence = fixed.at_zero[f] + 0.5 * mean[k, f] ** 2 / fixed.posterior[f]
            else:
                some_absent = True
            best[k] += max(evidence, 0.0)
            # One of the two is 1: whichever has the larger weight.
            less = np.exp(-abs(evidence))
            acts_by, rests_by = (1.0, less) if evidence > 0.0 else (less, 1.0)
            half, bit = (0, f) if f < first_half else (1, f - first_half)
            for code in range(1 << bit):
                of_half[k, half, code + (1 << bit)] = of_half[k, half, code] * acts_by
                of_half[k, half, code] *= rests_by
    most = 0.0
    for k in range(members):
        most = max(most, best[k])
    for k in range(members):
        if not free and k != state.member[u]:
            for s in range(len(terms.sets)):
                weights[k, s] = 0.0
            continue
        down = chance * np.exp(best[k] - most)
        for s in range(len(terms.sets)):
            weights[k, s] = down * shares[s + 1] * of_half[k, 0, halves[s, 0]] * of_half[k, 1, halves[s, 1]]
            of_member[k] += weights[k, s]
    return shares[0] * np.exp(-most), some_absent


@compiled_helper
def _visit_main(
    terms: EffectTerms,
    state: EffectState,
    j: int,
    uniform: float,
    normal: np.ndarray,
    fixed: Fixed,
    halves: np.ndarray,
    of_half: np.ndarray,
    weights: np.ndarray,
    mean: np.ndarray,
    sums: EffectSums,
) -> None:
    place, sets = terms.place, terms.sets
    members, _, functions = place.shape
    absent = len(terms.gram) - 1
    u = terms.unit[j]
    before = place[state.member[u], j]
    acted = 0
    for f in range(functions):
        if state.effects[before[f]] != 0.0:
            acted = 1
    others = state.acting[u] - acted  # terms of the unit that act beside this one
    free = others == 0
    of_member = np.zeros(members)
    none, some_absent = _weigh_sets(terms, state, j, free, acted == 1, fixed, halves, of_half, weights, mean, of_member)
    of_all = 0.0
    for k in range(members):
        of_all += of_member[k]
    total = none + of_all
    member, which = _pick(weights, of_member, uniform * total)
    for k in range(members):
        if not free:
            sums.probability[u, k] += SINGLE_VISIT if k == state.member[u] else 0.0
        elif not some_absent:
            sums.probability[u, k] += SINGLE_VISIT * of_member[k] / total
        else:
            for s in range(len(sets)):
                for f in range(functions):
                    if sets[s, f] > 0 and place[k, j, f] != absent:  # a set of absent functions is no act
                        sums.probability[u, k] += SINGLE_VISIT * weights[k, s] / total
                        break
    sums.visits[u] += SINGLE_VISIT
    acts = 0
    for f in range(functions):
        if state.effects[before[f]] != 0.0 and (member != state.member[u] or sets[which, f] == 0):
            _set_effect(terms.gram, state, before[f], 0.0)
    if member >= 0:
        for f in range(functions):
            column = place[member, j, f]
            if sets[which, f] > 0 and column != absent:
                _set_effect(terms.gram, state, column, mean[member, f] + np.sqrt(fixed.posterior[f]) * normal[f])
                acts = 1
    state.chosen[j] = which + 1 if member >= 0 else 0
    state.acting[u] = others + acts
    if acts:
        state.member[u] = member


@compiled_helper
def _visit_pair(
    terms: EffectTerms,
    state: EffectState,
    q: int,
    uniform: float,
    normal: float,
    fixed: Fixed,
    heredity: np.ndarray,
    weights: np.ndarray,
    sums: EffectSums,
) -> None:
    place = terms.pair_place[q]
    members, _, products = place.shape
    absent = len(terms.gram) - 1
    posterior = fixed.posterior[-1]
    left, right = terms.pair_units[q, 0], terms.pair_units[q, 1]
    acted, before = 0, absent
    if state.pair[q] > 0:
        acted, old = 1, state.pair[q] - 1
        before = place[old // products // members, old // products % members, old % products]
    effect = state.effects[before]
    free_left, free_right = state.acting[left] == acted, state.acting[right] == acted
    prior = fixed.at_zero[-1] - np.log(members) * (free_left + free_right)
    # If this were the first pair of a unit, its single effects would have another prior.
    if state.in_pairs[left] == acted:
        prior += heredity[left]
    if state.in_pairs[right] == acted:
        prior += heredity[right]
    for k in range(members):
        for other in range(members):
            allowed = (free_left or k == state.member[left]) and (free_right or other == state.member[right])
            for c in range(products):
                weights[k * members + other, c] = -np.inf
                column = place[k, other, c]
                if allowed and column != absent:
                    without = state.residual[column]
                    if acted:
                        without += effect * terms.gram[before, column]
                    mean = posterior * fixed.precision * without
                    of_kind = fixed.log_pair[1 + terms.pair_kind[q, c]]
                    weights[k * members + other, c] = of_kind + prior + 0.5 * mean**2 / posterior
    none = _without_logarithms(weights, fixed.log_pair[0])
    of_both = np.zeros(members * members)
    for b in range(len(of_both)):
        for c in range(products):
            of_both[b] += weights[b, c]
    of_all = 0.0
    for b in range(len(of_both)):
        of_all += of_both[b]
    total = none + of_all
    both, which = _pick(weights, of_both, uniform * total)
    for k in range(members):
        for other in range(members):
            if free_left:
                sums.probability[left, k] += of_both[k * members + other] / total
            if free_right:
                sums.probability[right, other] += of_both[k * members + other] / total
    if not free_left:
        sums.probability[left, state.member[left]] += 1.0
    if not free_right:
        sums.probability[right, state.member[right]] += 1.0
    sums.visits[left] += 1.0
    sums.visits[right] += 1.0
    acts = 0
    if both >= 0:
        acts = 1
        state.member[left], state.member[right] = both // members, both % members
        column = place[both // members, both % members, which]
        mean = posterior * fixed.precision * (state.residual[column] + effect * terms.gram[before, column])
        if column != before:
            _set_effect(terms.gram, state, before, 0.0)
        _set_effect(terms.gram, state, column, mean + np.sqrt(posterior) * normal)
    elif acted:
        _set_effect(terms.gram, state, before, 0.0)
    state.pair[q] = 1 + both * products + which if acts else 0
    for u in (left, right):
        state.acting[u] += acts - acted
        state.in_pairs[u] += acts - acted


@compiled_helper
def _without_logarithms(log_weight: np.ndarray, log_none: float) -> float:
    """Weights in place of their logarithms, up to a factor; returns that of none."""
    most = log_none
    for k in range(log_weight.shape[0]):
        for s in range(log_weight.shape[1]):
            most = max(most, log_weight[k, s])
    for k in range(log_weight.shape[0]):
        for s in range(log_weight.shape[1]):
            # Beyond this the exponential function only costs time.
            log_weight[k, s] = np.exp(log_weight[k, s] - most) if log_weight[k, s] > most - 40.0 else 0.0
    return float(np.exp(log_none - most))


@compiled_helper
def _pick(weight: np.ndarray, of_member: np.ndarray, target: float) -> tuple[int, int]:
    """Draw a member (combination) and one of its options, or (-1, 0) for none; ``target``: from 0 to the sum of all weights.

    ``of_member``: sums of the weights. Likelier members come first, so that one uniform draw picks the same member whichever is
    called the original.
    """
    members, options = weight.shape
    ladder = 0.0
    seen = np.zeros(members, np.bool_)  # weights may be zero: a member must not come twice
    for _ in range(members):
        k = -1
        for other in range(members):
            if not seen[other] and (k < 0 or of_member[other] > of_member[k]):
                k = other
        seen[k] = True
        if target >= ladder + of_member[k]:
            ladder += of_member[k]
            continue
        for s in range(options):
            ladder += weight[k, s]
            if target < ladder:
                return k, s
    return -1, 0


@compiled_helper
def _set_effect(gram: np.ndarray, state: EffectState, column: int, value: float) -> None:
    """Change an effect, and the residual with it."""
    change = value - state.effects[column]
    if change != 0.0:
        state.effects[column] = value
        for c in range(len(gram)):
            state.residual[c] -= change * gram[column, c]
