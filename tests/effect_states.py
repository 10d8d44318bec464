"""Small problems of the model of effects whose posterior can be enumerated, and chains that sample it.

Everything but which terms act, through which members and with what effects is held fixed. Columns are built here by hand, so
that tests of the sampler do not rest on `grip2.statistics.effect_design`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from grip2.engine.effect_sweeps import EffectTerms, Prior, nothing_acts, refresh, sweep
from grip2.standardise import standardise
from grip2.statistics.basis import Basis
from grip2.statistics.effect_moves import EffectMoves
from tests.members import table_of

RNG = np.random.default_rng
SETS = np.array([[1, 0], [0, 1], [1, 1]], np.float32)  # of a line and a V
PRODUCTS = 2  # line times line, line times V


@dataclass(frozen=True, eq=False)
class Problem:
    terms: EffectTerms
    prior: Prior

    @property
    def absent(self):
        return len(self.terms.gram) - 1

    def evidence(self, active):
        """Log marginal likelihood of acting columns, each with its slab variance, beyond that of none."""
        if not active:
            return 0.0
        columns, slabs = [c for c, _ in active], np.array([slab for _, slab in active])
        gram = self.prior.precision * self.terms.gram[np.ix_(columns, columns)].astype(float)
        b = self.prior.precision * self.terms.correlation[columns].astype(float)
        whole = gram + np.diag(1 / slabs)
        return 0.5 * b @ np.linalg.solve(whole, b) - 0.5 * (np.linalg.slogdet(whole)[1] + np.log(slabs).sum())


def tables(n, of_unit, copies, seed, loadings, likeness=0.8):
    """Standardised columns of all members: correlated columns, and copies that are like them."""
    rng, p = RNG([seed, 21]), len(of_unit)
    X = rng.standard_normal((n, p)) @ loadings
    Xks = [likeness * X + np.sqrt(1 - likeness**2) * X.std(axis=0) * rng.standard_normal((n, p)) for _ in range(copies)]
    Z, _ = table_of(X, *Xks)
    return Z


def problem(Z, y, of_unit, pairs=(), curved=(), *, noise, prior=None, sets=SETS, lacking=()):
    """Lines of all columns, bent functions of the curved ones, and two products of every pair of columns.

    ``sets`` (sets, functions): which functions may act together. ``lacking``: functions (member, column, function) to leave out.
    """
    of_unit, p = np.asarray(of_unit), len(of_unit)
    members, basis = Z.shape[1] // p, Basis.fit(Z)
    functions = basis.evaluate(Z)[: sets.shape[1]]
    line, bent = functions[:2]
    values, place = [], np.full((members, p, len(functions)), -1)
    for k, j, f in itertools.product(range(members), range(p), range(len(functions))):
        if (f == 0 or j in curved) and (k, j, f) not in lacking:
            place[k, j, f] = len(values)
            values.append(functions[f][:, k * p + j])
    pair_place = np.full((len(pairs), members, members, PRODUCTS), -1)
    for (q, (left, right)), k, other in itertools.product(enumerate(pairs), range(members), range(members)):
        for c, function in enumerate((line, bent)):
            pair_place[q, k, other, c] = len(values)
            values.append(standardise(line[:, k * p + left] * function[:, other * p + right]))
    values = np.stack([*values, np.zeros(len(Z))], axis=1)
    place[place < 0], pair_place[pair_place < 0] = values.shape[1] - 1, values.shape[1] - 1
    terms = EffectTerms(
        (values.T @ values / len(Z)).astype(np.float32),
        (values.T @ standardise(y) / len(Z)).astype(np.float32),
        place,
        sets,
        of_unit,
        pair_place,
        np.tile(np.arange(PRODUCTS), (len(pairs), 1)),
        of_unit[np.array(pairs, dtype=np.intp).reshape(-1, 2)],
    )
    return Problem(terms, prior or default_prior(len(Z), noise))


def default_prior(n, noise):
    """Units in pairs act alone far more often than others."""
    shares = np.array([[0.85, 0.08, 0.04, 0.03], [0.2, 0.4, 0.1, 0.3]])
    return Prior(n / noise, np.array([0.1, 0.05, 0.08]), np.log(shares), np.log([0.7, 0.2, 0.1]))


def exact_probabilities(problem, *, tied=True, heredity=True):
    """(members, units) that a unit acts through a member, by enumeration of all states.

    Broken twins: every term has a member of its own (its unit acts through a member if any term does), and single effects
    have the same shares inside and outside of pairs.
    """
    terms, prior = problem.terms, problem.prior
    members, p, functions = terms.place.shape
    units = int(terms.unit.max()) + 1
    of_main = []  # of every column: (set, member, acting columns with their slabs); sets of absent functions act through none
    for j in range(p):
        options = [(0, None, ())]
        for k, s in itertools.product(range(members), range(len(SETS))):
            there = [f for f in range(functions) if SETS[s, f] and terms.place[k, j, f] != problem.absent]
            active = tuple((int(terms.place[k, j, f]), float(prior.variances[f])) for f in there)
            if active or k == 0:  # absent in all members
                options.append((s + 1, k if active else None, active))
        of_main.append(options)
    slab = float(prior.variances[-1])
    of_pair = [
        [
            (None, 0, ()),
            *(
                ((k, other), 1 + c, ((int(terms.pair_place[q, k, other, c]), slab),))
                for k, other, c in itertools.product(range(members), range(members), range(PRODUCTS))
            ),
        ]
        for q in range(len(terms.pair_units))
    ]
    found, total, known = np.zeros((members, units)), 0.0, {}
    for mains in itertools.product(*of_main):
        of_mains = [set() for _ in range(units)]
        for j, (_, member, _) in enumerate(mains):
            of_mains[terms.unit[j]] |= {member} - {None}
        if tied and any(len(used) > 1 for used in of_mains):
            continue
        for acting in itertools.product(*of_pair):
            through, inside = [set(used) for used in of_mains], np.zeros(units, int)
            log_weight, n_terms = 0.0, sum(member is not None for _, member, _ in mains)
            for q, (both, kind, _) in enumerate(acting):
                log_weight += prior.log_pair[kind]
                for unit, member in zip(terms.pair_units[q], both or (), strict=False):
                    through[unit].add(member)
                    inside[unit] = 1
                    n_terms += 1
            if tied and any(len(used) > 1 for used in through):
                continue
            for j, (chosen, _, _) in enumerate(mains):
                log_weight += prior.log_shares[inside[terms.unit[j]] if heredity else 0, chosen]
            log_weight -= np.log(members) * (sum(map(len, through)) if tied else n_terms)
            active = [part for _, _, active in mains for part in active] + [
                part for _, _, own in acting for part in own
            ]
            active = tuple(sorted(active))
            if active not in known:
                known[active] = problem.evidence(active)
            weight = np.exp(log_weight + known[active])
            total += weight
            for unit, used in enumerate(through):
                for member in used:
                    found[member, unit] += weight
    return found / total


def chain(problem, rounds, rng, *, exchanges=False, swaps=False, collapsed=False, moves_per_round=1, moves=EffectMoves):
    """Frequencies (members, units) of acting after rounds of a sweep and moves, and the mean of what sweeps add up."""
    terms, prior = problem.terms, problem.prior
    state, joint = nothing_acts(terms), moves(terms)
    if not swaps:
        joint._edges = joint._edges[:0]
    if not exchanges:
        joint._exchanges = lambda now, rng: iter(())
    counts, probability = np.zeros((2, len(state.acting), len(terms.place)))
    visits = np.zeros(len(state.acting))
    everyone = len(state.chosen) + len(state.pair)
    burn_in = rounds // 10
    for k in range(rounds):
        sums = sweep(terms, state, rng.permutation(everyone)[None], prior, rng)
        for _ in range(moves_per_round if exchanges or swaps else 0):
            joint.move(state, prior, rng)
        if collapsed:
            joint.collapse(state, prior, rng)
        if k % 50 == 0:
            refresh(terms, state)
        if k < burn_in:
            continue
        busy = np.flatnonzero(state.acting)
        counts[busy, state.member[busy]] += 1
        probability += sums.probability
        visits += sums.visits
    return counts.T / (rounds - burn_in), (probability / visits[:, None]).T


def chains(problem, n_chains, rounds, seed=0, **kinds):
    """(chains, members, units) of counted frequencies, and the same of what sweeps add up."""
    found = [chain(problem, rounds, RNG([seed, k]), **kinds) for k in range(n_chains)]
    return np.stack([counted for counted, _ in found]), np.stack([summed for _, summed in found])


def beyond(found, exact, false_alarms=1e-5):
    """How far the mean over chains is from the truth, in units of the bound (above 1: rejected).

    The bound is that of Student's t test of independent chains in every entry, Bonferroni's correction for their number.
    """
    n_chains, entries = len(found), exact.size
    error = np.maximum(found.std(axis=0, ddof=1) / np.sqrt(n_chains), 1e-4)
    return float(
        np.max(np.abs(found.mean(axis=0) - exact) / error) / student.isf(false_alarms / (2 * entries), n_chains - 1)
    )
