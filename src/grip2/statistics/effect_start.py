"""A starting point for chains of the sampler of `EffectPosterior`: the terms that a greedy search finds.

Orthogonal matching pursuit: term after term, the one that explains most of the residual is added and all effects are refitted.
In a long table with correlated columns a chain that begins without effects takes whichever of several similar terms it meets
first, and cannot leave it. The search takes the best one, the same in every run. It treats all members of a unit alike.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.effect_sweeps import EffectState, EffectTerms, nothing_acts, refresh

# A term is added if it raises the log likelihood by this much more than the logarithm of the number of possible terms.
LEAST_GAIN = 3.0
TERMS_MAX = 400
ROWS_PER_TERM = 10
_LEAST_LEFT = 1e-3  # share of a column's variance that the terms so far must leave
_RIDGE = 1e-6


def greedy_state(terms: EffectTerms, n_rows: int) -> EffectState:
    """The state of a chain in which the terms of the search act, with their least-squares effects."""
    return _state_of(terms, _search(terms, n_rows))


class _Owners:
    """Which term every column of the model belongs to, and through which members of which units it acts."""

    def __init__(self, terms: EffectTerms) -> None:
        size, absent = len(terms.gram), len(terms.gram) - 1
        members = len(terms.place)
        self.unit, self.member = np.full((size, 2), -1), np.full((size, 2), -1)
        self.pair = np.full(size, -1)
        self.unit[terms.place, 0] = terms.unit[None, :, None]
        self.member[terms.place, 0] = np.arange(members)[:, None, None]
        pairs = terms.pair_place.shape[0]
        if pairs:
            shape = terms.pair_place.shape
            for side in range(2):
                self.unit[terms.pair_place, side] = terms.pair_units[:, side][:, None, None, None]
            self.member[terms.pair_place, 0] = np.arange(members)[None, :, None, None]
            self.member[terms.pair_place, 1] = np.arange(members)[None, None, :, None]
            self.pair[terms.pair_place] = np.broadcast_to(np.arange(pairs)[:, None, None, None], shape)
        self.unit[absent], self.member[absent], self.pair[absent] = -1, -1, -1

    def excluded_by(self, column: int) -> np.ndarray:
        """(size,) columns that cannot act beside this one: other members of its units, other products of its pair."""
        out = np.zeros(len(self.unit), dtype=bool)
        for unit, member in zip(self.unit[column], self.member[column], strict=True):
            if unit >= 0:
                out |= ((self.unit == unit) & (self.member != member)).any(axis=1)
        if self.pair[column] >= 0:
            out |= self.pair == self.pair[column]
        return out


def _search(terms: EffectTerms, n_rows: int) -> list[int]:
    """The columns that act, in the order of the search."""
    owners = _Owners(terms)
    gram, left = (
        terms.gram,
        np.diag(terms.gram).astype(float),
    )  # left: variance of each column that the chosen ones leave
    own: np.ndarray = left.copy()  # its variance at the start
    pull: np.ndarray = terms.correlation.astype(float)  # covariance with the residual
    allowed = owners.unit[:, 0] >= 0
    least = LEAST_GAIN + np.log(max(1, int(allowed.sum())))
    directions: list[np.ndarray] = []  # columns of the model along those chosen, made orthonormal
    chosen: list[int] = []
    unexplained = 1.0
    while len(chosen) < min(TERMS_MAX, n_rows // ROWS_PER_TERM):
        possible = allowed & (left > _LEAST_LEFT * own)
        gain = np.where(possible, pull**2 / np.where(possible, left, 1.0), 0.0)
        best = int(np.argmax(gain))
        if gain[best] >= unexplained or -0.5 * n_rows * np.log1p(-gain[best] / unexplained) < least:
            break
        along: np.ndarray = gram[best].astype(float)
        for earlier in directions:
            along -= earlier[best] * earlier
        along /= np.sqrt(left[best])
        pull -= (pull[best] / np.sqrt(left[best])) * along
        left -= along**2
        unexplained -= gain[best]
        directions.append(along)
        chosen.append(best)
        allowed &= ~owners.excluded_by(best)
        allowed[best] = False
    return chosen


def _state_of(terms: EffectTerms, columns: list[int]) -> EffectState:
    """The state in which these columns act."""
    state = nothing_acts(terms)
    if not columns:
        return state
    whole = terms.gram[np.ix_(columns, columns)].astype(float)
    whole[np.arange(len(columns)), np.arange(len(columns))] += _RIDGE
    state.effects[columns] = np.linalg.solve(whole, terms.correlation[columns].astype(float))
    acts = state.effects != 0.0
    members = len(terms.place)
    number_of = {tuple(used): 1 + number for number, used in enumerate(terms.sets.astype(int).tolist())}
    for k in range(members):
        acting = acts[terms.place[k]] & (terms.place[k] != len(terms.gram) - 1)
        for j in np.flatnonzero(acting.any(axis=1)):
            state.chosen[j] = number_of[tuple(acting[j].astype(int).tolist())]
            state.acting[terms.unit[j]] += 1
            state.member[terms.unit[j]] = k
    products = terms.pair_place.shape[-1]
    for q, k, other, product in np.argwhere(acts[terms.pair_place] & (terms.pair_place != len(terms.gram) - 1)):
        state.pair[q] = 1 + (k * members + other) * products + product
        for unit, member in zip(terms.pair_units[q], (k, other), strict=True):
            state.acting[unit] += 1
            state.in_pairs[unit] += 1
            state.member[unit] = member
    refresh(terms, state)
    return state
