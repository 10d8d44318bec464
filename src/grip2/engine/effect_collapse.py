"""Compiled exchanges of members with the effects of all terms integrated out, not only those of the units exchanged.

`grip2.engine.effect_exchange` draws members given the effects of all other terms. In a long table these are known so exactly
that they hold a unit to the member for which they were drawn, however much better all terms together would fit with another
one. Here nothing but the choice of terms is held fixed.

With D the square roots of the slab variances of all acting columns, M = 1 + precision x D G D, and b = precision x D c, c their
correlations with the response, the log marginal likelihood is (b' M^-1 b - log det M) / 2. The columns that do not change come
first: their part of M is factorised once, and every choice of members adds a Schur complement.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled, compiled_helper
from grip2.engine.effect_exchange import (
    columns_of_choices,
    contains,
    decomposed,
    drawn_choice,
    log_evidence,
    set_members,
)
from grip2.engine.effect_visits import EffectState, EffectTerms


@compiled
def collapsed_exchange(
    terms: EffectTerms,
    state: EffectState,
    units: np.ndarray,
    precision: float,
    slab_of_column: np.ndarray,
    variances: np.ndarray,
    uniform: float,
) -> None:
    """Draw the members of some units anew, given which functions and products act.

    Effects move to the columns of the new members, where they have to be drawn anew (`draw_effects`) before anything else.
    ``slab_of_column`` (size,): variances of effects, if they act.
    """
    most = 0
    for u in units:
        most += state.acting[u]
    columns, slabs, pairs = columns_of_choices(terms, state, units, variances, most * terms.place.shape[2])
    choices, size = columns.shape
    if size == 0:
        return
    old = 0
    for k in range(len(units)):
        old = old * len(terms.place) + state.member[units[k]]
    others = _acting_beside(state, columns[old])
    scale, own_scale = np.empty(len(others)), np.empty(size)
    for e in range(len(others)):
        scale[e] = np.sqrt(slab_of_column[others[e]])
    for e in range(size):
        own_scale[e] = np.sqrt(slabs[e])
    fixed = _scaled(terms.gram, others, others, precision, scale, scale)
    for e in range(len(others)):
        fixed[e, e] += 1.0
    lower = np.linalg.cholesky(fixed)
    known = _pulled(terms.correlation, others, precision, scale)
    _forward(lower, known)
    # Of all choices at once: substitution is then made of few large products.
    of_all = np.empty((len(others), choices * size))
    for e in range(len(others)):
        for c in range(choices):
            for own in range(size):
                value = precision * terms.gram[others[e], columns[c, own]] * scale[e] * own_scale[own]
                of_all[e, c * size + own] = value
    _forward(lower, of_all)
    between = np.empty((len(others), size))
    evidence = np.empty(choices)
    for c in range(choices):
        evidence[c] = -np.inf
        if contains(columns[c], len(terms.gram) - 1):  # a member that lacks one of the columns cannot act so
            continue
        for e in range(len(others)):
            for own in range(size):
                between[e, own] = of_all[e, c * size + own]
        left = _scaled(terms.gram, columns[c], columns[c], precision, own_scale, own_scale)
        pulled = _pulled(terms.correlation, columns[c], precision, own_scale)
        explained, of_known = np.dot(between.T, between), np.dot(between.T, known)
        for e in range(size):
            pulled[e, 0] -= of_known[e, 0]
            for own in range(size):
                left[e, own] -= explained[e, own]
        evidence[c] = log_evidence(left, pulled[:, 0])
    new = drawn_choice(evidence, uniform)
    kept = np.empty(size)
    for e in range(size):
        kept[e] = state.effects[columns[old, e]]
        state.effects[columns[old, e]] = 0.0
    for e in range(size):
        state.effects[columns[new, e]] = kept[e]
    set_members(terms, state, units, new, pairs)


@compiled
def draw_effects(
    terms: EffectTerms,
    state: EffectState,
    used: np.ndarray,
    precision: float,
    slab_of_column: np.ndarray,
    normal: np.ndarray,
) -> None:
    """Draw all effects that are not zero, those of the columns ``used``, anew and together; ``normal`` (as many,)."""
    scale = np.empty(len(used))
    for e in range(len(used)):
        scale[e] = np.sqrt(slab_of_column[used[e]])
    values, vectors = decomposed(_scaled(terms.gram, used, used, precision, scale, scale))
    along = np.dot(vectors.T, _pulled(terms.correlation, used, precision, scale))[:, 0]
    # Through the symmetric root: the signs of eigenvectors, which rounding decides, do not matter.
    turned = np.dot(vectors.T, normal)
    for e in range(len(used)):
        turned[e] = along[e] / values[e] + turned[e] / np.sqrt(values[e])
    drawn = np.dot(vectors, turned)
    for e in range(len(used)):
        state.effects[used[e]] = scale[e] * drawn[e]


@compiled_helper
def _acting_beside(state: EffectState, columns: np.ndarray) -> np.ndarray:
    """The columns with an effect that are not among these."""
    found = np.empty(len(state.effects), np.int64)
    count = 0
    for c in range(len(state.effects)):
        if state.effects[c] != 0.0 and not contains(columns, c):
            found[count] = c
            count += 1
    return found[:count]


@compiled_helper
def _scaled(
    gram: np.ndarray, rows: np.ndarray, columns: np.ndarray, precision: float, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """(rows, columns) of precision x D G D."""
    part = np.empty((len(rows), len(columns)))
    for e in range(len(rows)):
        for other in range(len(columns)):
            part[e, other] = precision * gram[rows[e], columns[other]] * left[e] * right[other]
    return part


@compiled_helper
def _pulled(correlation: np.ndarray, columns: np.ndarray, precision: float, scale: np.ndarray) -> np.ndarray:
    """(columns, 1) of precision x D c."""
    part = np.empty((len(columns), 1))
    for e in range(len(columns)):
        part[e, 0] = precision * correlation[columns[e]] * scale[e]
    return part


@compiled_helper
def _forward(lower: np.ndarray, right: np.ndarray) -> None:
    """Solve lower @ x = right by substitution, in place."""
    for e in range(len(lower)):
        if e:
            known = np.dot(lower[e, :e], right[:e])
            for c in range(right.shape[1]):
                right[e, c] -= known[c]
        for c in range(right.shape[1]):
            right[e, c] /= lower[e, e]
