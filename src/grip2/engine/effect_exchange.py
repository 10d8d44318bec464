"""The compiled exchange of members (`grip2.statistics.effect_moves`): an exact Gibbs step over the members of one or two units.

Effects e of the columns of one choice of members have the prior N(0, D^2), D = diag(sqrt(slabs)), and the likelihood
exp(b'e - e'Ge / 2) with G = precision x Gram matrix, b = precision x correlations with what all other terms leave. With the
Cholesky factor L of 1 + D G D, the log marginal likelihood of the choice is |L^-1 D b|^2 / 2 - sum log diag(L). With the
eigenvalues l and eigenvectors V of D G D, the posterior precision is D^-1 V (1 + l) V' D^-1, from which effects are drawn once
the choice is made. Columns of a unit may be collinear, as the levels of a category are: rounding can make l negative, and a pivot
of the factor less than 1.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper
from grip2.engine.effect_visits import EffectState, EffectTerms


@compiled
def exchange_members(
    terms: EffectTerms,
    state: EffectState,
    units: np.ndarray,
    precision: float,
    variances: np.ndarray,
    uniform: float,
    normal: np.ndarray,
) -> None:
    """Draw the members of one unit, or of two, anew in all their terms, given which functions and products act.

    ``normal`` has at least as many entries as there are effects of these units.
    """
    columns, slabs, pairs = columns_of_choices(terms, state, units, variances, len(normal))
    choices, size = columns.shape
    if size == 0:
        return
    members = len(terms.place)
    old = 0
    for k in range(len(units)):
        old = old * members + state.member[units[k]]
    before = columns[old]
    scale = np.empty(size)
    for e in range(size):
        scale[e] = np.sqrt(slabs[e])
    evidence = np.empty(choices)
    for c in range(choices):
        evidence[c] = -np.inf
        if not contains(columns[c], len(terms.gram) - 1):  # a member that lacks one of the columns cannot act so
            evidence[c] = log_evidence(*_likelihood(terms.gram, state, before, columns[c], precision, scale))
    new = drawn_choice(evidence, uniform)
    whole, pulled = _likelihood(terms.gram, state, before, columns[new], precision, scale)
    values, vectors = decomposed(whole)
    along = np.dot(pulled, vectors)
    # Through the symmetric root: the signs of eigenvectors, which rounding decides, do not matter.
    turned = np.dot(normal[:size], vectors)
    for e in range(size):
        turned[e] = along[e] / values[e] + turned[e] / np.sqrt(values[e])
    drawn = np.dot(vectors, turned)
    for e in range(size):
        add_effect(terms.gram, state, before[e], -state.effects[before[e]])
    for e in range(size):
        add_effect(terms.gram, state, columns[new, e], scale[e] * drawn[e])
    set_members(terms, state, units, new, pairs)


@compiled_helper
def set_members(terms: EffectTerms, state: EffectState, units: np.ndarray, choice: int, pairs: np.ndarray) -> None:
    """Write down through which members the units act, and the pairs among their terms."""
    members, products = len(terms.place), terms.pair_place.shape[3]
    for k in range(len(units)):
        state.member[units[k]] = _member_of(choice, k, len(units), members)
    for q in pairs:
        through = state.member[terms.pair_units[q, 0]] * members + state.member[terms.pair_units[q, 1]]
        state.pair[q] = 1 + through * products + (state.pair[q] - 1) % products


@compiled_helper
def columns_of_choices(
    terms: EffectTerms, state: EffectState, units: np.ndarray, variances: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(choices, effects) columns that would act under each choice of members, slab variances, and the pairs among the terms."""
    members, p, functions = terms.place.shape
    choices = members ** len(units)
    columns, slabs = np.empty((choices, most), np.int64), np.empty(most)
    size = 0
    for k in range(len(units)):
        for j in range(p):
            if terms.unit[j] != units[k]:
                continue
            for f in range(functions):
                if state.effects[terms.place[state.member[units[k]], j, f]] == 0.0:
                    continue
                for c in range(choices):
                    columns[c, size] = terms.place[_member_of(c, k, len(units), members), j, f]
                slabs[size] = variances[f]
                size += 1
    pairs = np.empty(len(state.pair), np.int64)
    n_pairs = 0
    products = terms.pair_place.shape[3]
    for q in range(len(state.pair)):
        if state.pair[q] == 0:
            continue
        left, right = terms.pair_units[q, 0], terms.pair_units[q, 1]
        own_left, own_right = -1, -1  # which of the units these are
        for k in range(len(units)):
            if left == units[k]:
                own_left = k
            if right == units[k]:
                own_right = k
        if own_left < 0 and own_right < 0:
            continue
        product = (state.pair[q] - 1) % products
        for c in range(choices):
            of_left = state.member[left] if own_left < 0 else _member_of(c, own_left, len(units), members)
            of_right = state.member[right] if own_right < 0 else _member_of(c, own_right, len(units), members)
            columns[c, size] = terms.pair_place[q, of_left, of_right, product]
        slabs[size] = variances[functions]
        size += 1
        pairs[n_pairs] = q
        n_pairs += 1
    of_choices = np.empty((choices, size), np.int64)
    for c in range(choices):
        for e in range(size):
            of_choices[c, e] = columns[c, e]
    return of_choices, slabs[:size], pairs[:n_pairs]


@compiled_helper
def _member_of(choice: int, k: int, n_units: int, members: int) -> int:
    """Of the k-th of the units; the last one's member changes fastest."""
    for _ in range(n_units - 1 - k):
        choice //= members
    return choice % members


@compiled_helper
def _likelihood(
    gram: np.ndarray, state: EffectState, before: np.ndarray, columns: np.ndarray, precision: float, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """D G D and D b of columns that would act instead of those that acted ``before``."""
    size = len(columns)
    whole, pulled = np.empty((size, size)), np.empty(size)
    for e in range(size):
        for other in range(size):
            whole[e, other] = precision * gram[columns[e], columns[other]] * scale[e] * scale[other]
        without = state.residual[columns[e]]
        for b in before:
            without += state.effects[b] * gram[b, columns[e]]
        pulled[e] = precision * without * scale[e]
    return whole, pulled


@compiled_helper
def decomposed(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 + l, and V, of D G D."""
    found, vectors = np.linalg.eigh(whole)
    for e in range(len(found)):
        found[e] = 1.0 + max(found[e], 0.0)
    return found, vectors


@compiled_helper
def contains(columns: np.ndarray, column: int) -> bool:
    for e in range(len(columns)):  # noqa: SIM110 (a generator would be another function to compile)
        if columns[e] == column:
            return True
    return False


@compiled_helper
def log_evidence(whole: np.ndarray, pulled: np.ndarray) -> float:
    """The log marginal likelihood of a choice, from D G D and D b, both of which are overwritten."""
    size = len(pulled)
    total = 0.0
    for e in range(size):
        pivot = max(whole[e, e] + 1.0, 1.0)
        total += pulled[e] ** 2 / pivot - np.log(pivot)
        for row in range(e + 1, size):
            share = whole[row, e] / pivot
            pulled[row] -= share * pulled[e]
            for column in range(e + 1, row + 1):
                whole[row, column] -= share * whole[column, e]
    return 0.5 * total


@compiled_helper
def drawn_choice(log_weight: np.ndarray, uniform: float) -> int:
    """Likelier ones come first, so that one uniform draw picks the same member whichever is called the original.

    A loop in place of a sort, whose compilation takes longer than all sorting ever would.
    """
    choices = len(log_weight)
    top = log_weight[0]
    for k in range(choices):
        top = max(top, log_weight[k])
    total = 0.0
    for k in range(choices):
        total += np.exp(log_weight[k] - top)
    ladder = 0.0
    likeliest = -1
    seen = np.zeros(choices, np.bool_)
    for _ in range(choices):
        best = -1
        for k in range(choices):
            if not seen[k] and (best < 0 or log_weight[k] > log_weight[best]):
                best = k
        if likeliest < 0:
            likeliest = best
        seen[best] = True
        ladder += np.exp(log_weight[best] - top)
        if uniform * total < ladder:
            return best
    return likeliest


@compiled_helper
def add_effect(gram: np.ndarray, state: EffectState, column: int, change: float) -> None:
    """Change an effect, and the residual with it."""
    state.effects[column] += change
    for c in range(len(gram)):
        state.residual[c] -= change * gram[column, c]
