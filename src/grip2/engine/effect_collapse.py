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

from grip2.engine.effect_exchange import columns_of_choices, drawn_choice, set_members
from grip2.engine.effect_visits import EffectState, EffectTerms, compiled


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
    members = len(terms.place)
    old = 0
    for k in range(len(units)):
        old = old * members + state.member[units[k]]
    before = columns[old].copy()
    acts = state.effects != 0.0
    for column in before:
        acts[column] = False
    others = np.flatnonzero(acts)
    scale = np.sqrt(slab_of_column[others])
    fixed = _scaled(terms.gram, others, others, precision, scale, scale)
    for e in range(len(others)):
        fixed[e, e] += 1.0
    lower = np.linalg.cholesky(fixed) if len(others) else fixed
    known = _forward(lower, _pulled(terms.correlation, others, precision, scale))
    own_scale = np.sqrt(slabs)
    evidence = np.full(choices, -np.inf)
    for c in range(choices):
        if (columns[c] == len(terms.gram) - 1).any():  # a member that lacks one of the columns cannot act so
            continue
        left = _scaled(terms.gram, columns[c], columns[c], precision, own_scale, own_scale)
        pulled = _pulled(terms.correlation, columns[c], precision, own_scale)
        if len(others):
            between = _forward(lower, _scaled(terms.gram, others, columns[c], precision, scale, own_scale))
            left -= np.dot(between.T, between)
            pulled -= np.dot(between.T, known)
        # Columns may be collinear, as the levels of a category are: rounding can make eigenvalues negative.
        found, vectors = np.linalg.eigh(left)
        values = 1.0 + np.maximum(found, 0.0)
        along = np.dot(vectors.T, pulled)[:, 0]
        evidence[c] = 0.5 * (along**2 / values - np.log(values)).sum()
    new = drawn_choice(evidence, uniform)
    kept = state.effects[before]
    state.effects[before] = 0.0
    state.effects[columns[new]] = kept
    set_members(terms, state, units, new, pairs)


@compiled
def draw_effects(
    terms: EffectTerms,
    state: EffectState,
    precision: float,
    slab_of_column: np.ndarray,
    order: np.ndarray,
    normal: np.ndarray,
) -> None:
    """Draw all effects that are not zero anew, together, given which they are; ``normal`` (at least as many,).

    ``order`` (size,) sorts columns by what they are, whatever their member, so that members can be permuted.
    """
    used = np.flatnonzero(state.effects)
    used = used[np.argsort(order[used])]
    scale = np.sqrt(slab_of_column[used])
    whole = _scaled(terms.gram, used, used, precision, scale, scale)
    found, vectors = np.linalg.eigh(whole)
    values = 1.0 + np.maximum(found, 0.0)
    along = np.dot(vectors.T, _pulled(terms.correlation, used, precision, scale))[:, 0]
    # Through the symmetric root: the signs of eigenvectors, which rounding decides, do not matter.
    towards = np.dot(vectors.T, normal[: len(used)].copy())
    state.effects[used] = scale * np.dot(vectors, along / values + towards / np.sqrt(values))


@compiled
def _scaled(
    gram: np.ndarray, rows: np.ndarray, columns: np.ndarray, precision: float, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """(rows, columns) of precision x D G D."""
    part = np.empty((len(rows), len(columns)))
    for e in range(len(rows)):
        for other in range(len(columns)):
            part[e, other] = precision * gram[rows[e], columns[other]] * left[e] * right[other]
    return part


@compiled
def _pulled(correlation: np.ndarray, columns: np.ndarray, precision: float, scale: np.ndarray) -> np.ndarray:
    """(columns, 1) of precision x D c."""
    part = np.empty((len(columns), 1))
    for e in range(len(columns)):
        part[e, 0] = precision * correlation[columns[e]] * scale[e]
    return part


@compiled
def _forward(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of lower @ x = right, by substitution."""
    found = right.copy()
    for e in range(len(lower)):
        if e:
            found[e] -= np.dot(lower[e, :e], found[:e])
        found[e] /= lower[e, e]
    return found
