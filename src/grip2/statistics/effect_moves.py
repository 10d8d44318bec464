"""Joint moves of the sampler of `EffectPosterior`, without which chains stick where columns are strongly correlated.

A sweep visits one term after the other, and a term can act only through the member through which its units act elsewhere. Once
two terms of a unit act, a sweep can therefore no longer change its member, and correlated units hold each other in place. Three
moves help:

- *exchange*: the members of one unit, or of two correlated or interacting units together, are drawn anew in all their terms,
  given which basis functions act and with their effects integrated out: an exact Gibbs step;
- *collapsed exchange*: the same with the effects of all other terms integrated out too, for long tables, in which these are
  known so exactly that they hold a unit to its member; also of three units that nearly determine each other;
- *swap*: the only effect of a column is taken over by a correlated column of a unit that does not act, a Metropolis step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from grip2.engine.effect_collapse import collapsed_exchange, draw_effects
from grip2.engine.effect_exchange import exchange_members
from grip2.engine.effect_swap import swap_columns
from grip2.engine.effect_sweeps import EffectState, EffectTerms, Prior, refresh

# Units of which two lines, in any members, correlate by at least this much exchange members together, and their columns may swap
# effects.
CORRELATED = 0.3
# Three units determine each other if the partial correlation of any two lines, given the third, is at least this: like a time
# of day, its hour and its minute, of which any two nearly give the third.
DETERMINED = 0.9
_TRIPLES_MOST = 50
_DETERMINED_LINES = 400  # with more lines, of all members, triples are not looked for
_LEAST_LEFT = 1e-6  # share of a line's variance, given another line
JOINT_MOST = 40  # pairs of units that exchange members together, and columns that swap, at most, in a round
# Multiplications of all exchanges of a round, about; those of units of many columns cost most.
_WORK_MAX = 2e6
_NEIGHBOURS_MOST = 8  # of a column
# Multiplications of the collapsed exchanges of one move, about: each takes the cube of the number of acting columns.
COLLAPSED_WORK = 3e7


class EffectMoves:
    """The moves of one chain, in the order in which they are made."""

    def __init__(
        self, terms: EffectTerms, edges: np.ndarray | None = None, triples: Sequence[tuple[int, int, int]] = ()
    ) -> None:
        """``edges``: of `correlated_columns`, which all chains of a model share; ``triples``: of `determined_units`."""
        self._terms = terms
        self._edges = correlated_columns(terms) if edges is None else edges
        self._triples = triples

    def move(self, state: EffectState, prior: Prior, rng: np.random.Generator) -> None:
        """Exchanges of the units that act, and some swaps."""
        now = _Moving(self._terms, state, prior)
        work = 0.0
        for units in self._exchanges(now, rng):
            work += now.work(units)
            if work > _WORK_MAX and len(units) > 1:
                break  # valid: this depends on how many terms act, which exchanges do not change
            now.exchange(units, rng)
        # Which edges are tried, and when, must not depend on the state. A swap can make another one possible, so edges along
        # which none is possible at first are tried too; otherwise columns with many neighbours would act too often.
        tried = rng.random(len(self._edges)) < min(1.0, JOINT_MOST / max(1, len(state.chosen)))
        now.swap(rng.permutation(self._edges[tried]), rng)

    def collapse(
        self, state: EffectState, prior: Prior, rng: np.random.Generator, work: float = COLLAPSED_WORK
    ) -> None:
        """Collapsed exchanges of units that act, in random order, as many as the ``work`` allows; then all effects anew.

        Single units, as many pairs of units that are correlated or interact, and triples that determine each other.
        """
        terms = self._terms
        used = int(np.count_nonzero(state.effects))
        if not used:
            return
        single = [(int(unit),) for unit in np.flatnonzero(state.acting)]
        couples = self._couples(_Moving(terms, state, prior))
        chosen = [couples[k] for k in rng.permutation(len(couples))[: len(single)]]
        triples = [units for units in self._triples if state.acting[list(units)].all()]
        of_three = [triples[k] for k in rng.permutation(len(triples))[: len(single)]] if triples else []
        every: list[tuple[int, ...]] = [*single, *chosen, *of_three]
        slabs = prior.variances[self._kind]
        for k in rng.permutation(len(every))[: max(1, int(work / (used**3 / 3 + 1)))]:
            try:
                collapsed_exchange(
                    terms, state, np.array(every[k]), float(prior.precision), slabs, prior.variances, rng.random()
                )
            except np.linalg.LinAlgError:
                break  # single precision can be too little for very long tables; the state has not changed
        # In an order that does not depend on members: results must not depend on their order.
        acting = np.flatnonzero(state.effects)
        acting = acting[np.argsort(self._order[acting])]
        draw_effects(terms, state, acting, float(prior.precision), slabs, rng.standard_normal(used))
        refresh(terms, state)

    @cached_property
    def _kind(self) -> np.ndarray:
        """(size,) for every column, which of the prior's variances its effect has."""
        return kinds_of_columns(self._terms)

    @cached_property
    def _order(self) -> np.ndarray:
        """(size,) a number for every column, the same in all members: of its function and column of the table, or its product."""
        terms = self._terms
        order = np.zeros(len(terms.gram), np.int64)
        single = np.arange(terms.place[0].size).reshape(terms.place[0].shape)
        order[terms.place] = single
        pairs, _, _, products = terms.pair_place.shape
        order[terms.pair_place] = single.size + np.arange(pairs * products).reshape(pairs, 1, 1, products)
        return order

    def _exchanges(self, now: _Moving, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
        """Single units in which two or more terms act, and pairs of acting units that are correlated or interact."""
        for unit in np.flatnonzero(now.state.acting > 1):
            yield (int(unit),)
        ordered = self._couples(now)
        for k in rng.permutation(len(ordered))[:JOINT_MOST]:
            yield ordered[k]

    def _couples(self, now: _Moving) -> list[tuple[int, int]]:
        """Pairs of acting units that are correlated or interact, in a fixed order."""
        acting = now.state.acting > 0
        ends = self._terms.unit[self._edges].reshape(-1, 2)
        neighbours = ends[acting[ends].all(axis=1)].tolist()
        couples = {(min(u, v), max(u, v)) for u, v in neighbours}
        couples |= {(min(u, v), max(u, v)) for u, v in self._terms.pair_units[now.acting_pairs()].tolist()}
        return sorted(couples)


def kinds_of_columns(terms: EffectTerms) -> np.ndarray:
    """(size,) the number of the basis function of every column of the model; products have the number after the last one."""
    functions = terms.place.shape[2]
    kind = np.full(len(terms.gram), functions)
    for f in range(functions):
        kind[terms.place[:, :, f]] = f
    return kind


def kinds_of_acting_pairs(terms: EffectTerms, state: EffectState) -> np.ndarray:
    """(acting pairs,) the kind of the product through which each of them acts."""
    act = np.flatnonzero(state.pair)
    return np.asarray(terms.pair_kind[act, (state.pair[act] - 1) % terms.pair_place.shape[-1]])


def correlated_columns(terms: EffectTerms) -> np.ndarray:
    """(edges, 2) columns of different units whose lines are correlated in some members; each with its closest ones."""
    members = len(terms.place)
    # Some columns of a wide table have no line in the model.
    there = np.flatnonzero((terms.place[:, :, 0] != len(terms.gram) - 1).any(axis=0))
    if len(there) < 2:
        return np.zeros((0, 2), np.intp)
    lines = terms.place[:, there, 0]
    closeness = np.zeros((len(there), len(there)), np.float32)
    for k in range(members):
        for other in range(members):
            np.maximum(closeness, np.abs(terms.gram[np.ix_(lines[k], lines[other])]), out=closeness)
    closeness = np.maximum(closeness, closeness.T)
    closeness[terms.unit[there][:, None] == terms.unit[there]] = 0.0
    # Closeness is the maximum over members, so that which columns are kept favours no member, also among ties.
    most = min(_NEIGHBOURS_MOST, len(there))
    closest = np.argpartition(-closeness, most - 1, axis=1)[:, :most]
    near = np.take_along_axis(closeness, closest, axis=1) >= CORRELATED
    ends = np.stack([np.broadcast_to(there[:, None], closest.shape)[near], there[closest][near]], axis=1)
    return np.asarray(np.unique(np.sort(ends, axis=1), axis=0), dtype=np.intp).reshape(-1, 2)


def determined_units(terms: EffectTerms) -> list[tuple[int, int, int]]:
    """Triples of units in some members of which any two lines nearly determine the third; the closest triples.

    All combinations of members are looked at: the order of members is random in every unit.
    """
    absent = len(terms.gram) - 1
    lines = terms.place[:, :, 0].reshape(-1)
    unit = np.tile(terms.unit, len(terms.place))[lines != absent]
    lines = lines[lines != absent]
    if not 3 <= len(lines) <= _DETERMINED_LINES:
        return []
    R = terms.gram[np.ix_(lines, lines)].astype(float)
    left = np.maximum(1.0 - R**2, _LEAST_LEFT)  # of the variance of one line, given another
    closest: dict[tuple[int, int, int], float] = {}
    for a in range(len(lines)):
        # Partial correlations of a and b given c, a and c given b, b and c given a; all (b, c) at once.
        ab, ac = R[a][:, None], R[a][None, :]
        left_ab, left_ac = left[a][:, None], left[a][None, :]
        together = np.minimum(
            np.abs(ab - ac * R) / np.sqrt(left_ac * left),
            np.minimum(np.abs(ac - ab * R) / np.sqrt(left_ab * left), np.abs(R - ab * ac) / np.sqrt(left_ab * left_ac)),
        )
        for b, c in np.argwhere(together >= DETERMINED).tolist():
            units = int(unit[a]), int(unit[b]), int(unit[c])
            if units[0] < units[1] < units[2]:
                closest[units] = max(closest.get(units, 0.0), float(together[b, c]))
    least = sorted(closest.values(), reverse=True)[:_TRIPLES_MOST][-1:]
    return sorted(units for units, closeness in closest.items() if [closeness] >= least)


class _Moving:
    """The state of a chain while moves change it."""

    def __init__(self, terms: EffectTerms, state: EffectState, prior: Prior) -> None:
        self._terms, self._prior, self.state = terms, prior, state

    def acting_pairs(self) -> np.ndarray:
        return np.flatnonzero(self.state.pair)

    def work(self, units: Sequence[int]) -> float:
        """Multiplications of an exchange: the cube of the number of its terms, for every choice of members."""
        terms = float(self.state.acting[list(units)].sum())
        return float(len(self._terms.place)) ** len(units) * terms**3

    def exchange(self, units: Sequence[int], rng: np.random.Generator) -> None:
        """Draw the members of the units anew, in all their terms."""
        terms, state = self._terms, self.state
        most = int(state.acting[list(units)].sum()) * terms.place.shape[2]
        exchange_members(
            terms,
            state,
            np.array(units, dtype=np.int64),
            float(self._prior.precision),
            self._prior.variances,
            rng.random(),
            rng.standard_normal(most),
        )

    def swap(self, edges: np.ndarray, rng: np.random.Generator) -> None:
        """Propose for each of the edges (edges, 2) that its column without effect takes over the effect of the other column."""
        swap_columns(
            self._terms,
            self.state,
            edges,
            float(self._prior.precision),
            self._prior.variances,
            self._prior.log_shares[0],
            rng.random((len(edges), 3)),
            rng.standard_normal((len(edges), self._terms.place.shape[2])),
        )


def log_density(terms: EffectTerms, state: EffectState, prior: Prior) -> float:
    """Log posterior density of what acts through which members, with the sizes of effects integrated out; up to a constant."""
    used = np.flatnonzero(state.effects)
    total = 0.0
    if len(used):
        slabs = prior.variances[kinds_of_columns(terms)[used]]
        total += _log_evidence(terms.gram, terms.correlation.astype(float), used, prior.precision, slabs)
    inside = (state.in_pairs[terms.unit] > 0).astype(int)
    kinds = kinds_of_acting_pairs(terms, state)
    total += float(prior.log_shares[inside, state.chosen].sum())
    total += float((prior.log_pair[1 + kinds] - prior.log_pair[0]).sum())
    return total - float(np.log(len(terms.place)) * np.count_nonzero(state.acting))


def _log_evidence(
    gram: np.ndarray, correlation: np.ndarray, columns: np.ndarray, precision: float, slabs: np.ndarray
) -> float:
    """Log marginal likelihood with these columns acting, less that with none (`grip2.engine.effect_exchange`: the formula)."""
    scale = np.sqrt(slabs)
    found, vectors = np.linalg.eigh(precision * gram[np.ix_(columns, columns)].astype(float) * scale[:, None] * scale)
    values = 1.0 + np.maximum(found, 0.0)
    along = (precision * correlation[columns] * scale) @ vectors
    return float(0.5 * (along**2 / values - np.log(values)).sum())
