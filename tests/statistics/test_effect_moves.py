"""Sweeps and joint moves of the model of effects leave its posterior as it is: against enumeration of all states."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from tests.effect_states import (
    EffectMoves,
    Prior,
    beyond,
    chains,
    default_prior,
    exact_probabilities,
    problem,
    tables,
)
from tests.naive.effect_swap import naive_swap

from grip2.engine.effect_swap import swap_columns
from grip2.engine.effect_sweeps import nothing_acts, refresh, sweep
from grip2.knockoffs import GaussianKnockoffs
from grip2.standardise import standardise
from grip2.statistics import effect_moves as module

RNG = np.random.default_rng
VARIANTS = {
    "sweeps": {"rounds": 600},
    "exchanges": {"rounds": 200, "exchanges": True},
    "swaps": {"rounds": 600, "swaps": True},
    "collapsed exchanges": {"rounds": 200, "collapsed": True},
}


@cache
def with_pairs():
    """Two units, of one column and of two, whose columns are correlated; two pairs. The first unit acts alone and in a pair."""
    loadings = np.eye(3) + 0.6 * np.eye(3, k=1) + 0.6 * np.eye(3, k=2)
    Z = tables(80, [0, 1, 1], 1, 3, loadings, likeness=0.7)
    y = 0.3 * Z[:, 0] + 0.3 * Z[:, 0] * Z[:, 1] + RNG(6).standard_normal(80)
    return problem(Z, y, [0, 1, 1], pairs=[(0, 1), (0, 2)], curved=[0], noise=1.2)


@cache
def exact_with_pairs(**broken):
    return exact_probabilities(with_pairs(), **broken)


@cache
def star(strengths=(0.3,) * 5):
    """Five units, one of which is correlated with all others; correlations of originals with the response; few act."""
    loadings = np.sqrt(1 - 0.45**2) * np.eye(5)
    loadings[0] = [1, 0.45, 0.45, 0.45, 0.45]
    Z = tables(400, np.arange(5), 1, 0, loadings, likeness=0.9)
    X, noise = Z[:, :5], RNG(2).standard_normal(400)
    signal = X @ np.linalg.solve(X.T @ X / 400, strengths)
    noise = standardise(noise - X @ np.linalg.lstsq(X, noise, rcond=None)[0])
    few = default_prior(400, 4.0)._replace(log_shares=np.log([[0.97, 0.01, 0.01, 0.01]] * 2))
    return problem(Z, signal + np.sqrt(1 - signal.var()) * noise, np.arange(5), noise=4.0, prior=few)


UNEQUAL = (0.15, 0.4, 0.15, 0.15, 0.15)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sweeps_and_moves_agree_with_enumeration(variant):
    """20 chains of 600 rounds (200 with exchanges of either kind, which forget sooner), compared with the exact posterior by
    Student's t: false alarms 1e-5 for what is counted and as much for what sweeps add up. Enumerations of a model in which every
    term has a member of its own, and of one in which shares are the same inside and outside of pairs, are rejected."""
    for found in chains(with_pairs(), 20, **VARIANTS[variant]):
        assert beyond(found, exact_with_pairs()) < 1
        assert beyond(found, exact_with_pairs(tied=False)) > 1
        assert beyond(found, exact_with_pairs(heredity=False)) > 1


@pytest.mark.parametrize("strengths", [(0.3,) * 5, UNEQUAL])
def test_swaps_leave_the_posterior_invariant_where_columns_have_different_numbers_of_neighbours(strengths):
    """12 chains of 300 rounds: false alarms 1e-5 by Student's t in each of the four comparisons. The broken twins below, with as
    many chains, are rejected: if only those swaps are tried that are possible at first, the column with four neighbours acts
    three times too often."""
    given = star(strengths)
    exact = exact_probabilities(given)
    assert EffectMoves(given.terms)._edges.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4]]
    for found in chains(given, 12, 300, swaps=True):
        assert beyond(found, exact) < 1


class OnlyWhatIsPossibleAtFirst(EffectMoves):
    """Broken: the state decides which swaps are tried."""

    def move(self, state, prior, rng):
        acting = state.acting[self._terms.unit[self._edges]]
        module._Moving(self._terms, state, prior).swap(rng.permutation(self._edges[acting.sum(axis=1) == 1]), rng)


def test_swaps_that_the_state_decides_on_are_caught():
    given = star()
    found, _ = chains(given, 12, 300, swaps=True, moves=OnlyWhatIsPossibleAtFirst)
    assert beyond(found, exact_probabilities(given)) > 1


class AcceptsAll(EffectMoves):
    """Broken: every swap is accepted."""

    def move(self, state, prior, rng):
        edges, (_, _, functions) = rng.permutation(self._edges), self._terms.place.shape
        uniform = rng.random((len(edges), 3))
        uniform[:, 1] = 1e-300
        swap_columns(
            self._terms,
            state,
            edges,
            float(prior.precision),
            prior.variances,
            prior.log_shares[0],
            uniform,
            rng.standard_normal((len(edges), functions)),
        )


def test_swaps_that_are_always_accepted_are_caught():
    given = star(UNEQUAL)
    found, _ = chains(given, 12, 300, swaps=True, moves=AcceptsAll)
    assert beyond(found, exact_probabilities(given)) > 1


@pytest.mark.parametrize("given", [star, with_pairs])
def test_swaps_are_those_of_the_naive_twin(given):
    """From many states, which sweeps lead to; some have columns without a V."""
    given, rng, swapped = given(), RNG(5), 0
    terms, prior = given.terms, given.prior
    state, edges = nothing_acts(terms), EffectMoves(terms)._edges
    for _ in range(300):
        sweep(terms, state, rng.permutation(len(state.chosen) + len(state.pair))[None], prior, rng)
        refresh(terms, state)
        uniform, normal = rng.random((len(edges), 3)), rng.standard_normal((len(edges), terms.place.shape[2]))
        twin = type(state)(*(part.copy() for part in state))
        for k, edge in enumerate(edges.tolist()):
            naive_swap(terms, twin, prior, edge, uniform[k], normal[k])
        before = state.chosen.copy()
        swap_columns(terms, state, edges, float(prior.precision), prior.variances, prior.log_shares[0], uniform, normal)
        swapped += int((state.chosen != before).any())
        for one, other in zip(state, twin, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert swapped > 10


def test_a_collapsed_exchange_of_three_units_draws_members_given_which_act():
    """2,000 draws from one start, of which all three units act: each of the eight choices of members as often as its marginal
    likelihood says, by normal approximation with a false-alarm rate of 1e-5 (Bonferroni). Equal chances would be rejected."""
    given, rng, draws = star(), RNG(8), 2000
    terms, prior = given.terms, given.prior
    slabs = prior.variances[module.kinds_of_columns(terms)]
    choices = [(i, j, k) for i in range(2) for j in range(2) for k in range(2)]
    evidence = np.array([given.evidence([(terms.place[m, u, 0], slabs[0]) for u, m in enumerate(c)]) for c in choices])
    share = np.exp(evidence - np.logaddexp.reduce(evidence))
    counts = np.zeros(8)
    for _ in range(draws):
        state = three_act(terms)
        module.collapsed_exchange(
            terms, state, np.arange(3), float(prior.precision), slabs, prior.variances, rng.random()
        )
        chosen = tuple(state.member[:3].tolist())
        counts[choices.index(chosen)] += 1
        assert set(np.flatnonzero(state.effects)) == {terms.place[m, u, 0] for u, m in enumerate(chosen)}
    bound = norm.isf(1e-5 / 16)
    error = np.sqrt(np.maximum(share * (1 - share), 1e-4) / draws)
    assert np.max(np.abs(counts / draws - share) / error) < bound
    assert np.max(np.abs(counts / draws - 1 / 8)) / np.sqrt(7 / 64 / draws) > bound


def three_act(terms):
    """Through the line of the knockoff of each of the first three units."""
    state = nothing_acts(terms)
    state.effects[terms.place[1, :3, 0]] = 0.1
    state.chosen[:3], state.acting[:3], state.member[:3] = 1, 1, 1
    refresh(terms, state)
    return state


@pytest.mark.parametrize("acting", [3, 2])
def test_triples_are_exchanged_where_all_three_units_act(monkeypatch, acting):
    given, seen = star(), []
    monkeypatch.setattr(module, "collapsed_exchange", lambda terms, state, units, *_: seen.append(tuple(units)))
    state = three_act(given.terms)
    if acting == 2:
        state.effects[given.terms.place[1, 2, 0]] = 0.0
        state.chosen[2], state.acting[2] = 0, 0
    moves = EffectMoves(given.terms, triples=[(0, 1, 2), (0, 3, 4)])
    moves.collapse(state, given.prior, RNG(0), 1e9)
    assert [units for units in seen if len(units) == 3] == [(0, 1, 2)] * (acting == 3)
    assert {(0,), (1,)} <= set(seen)


def test_three_columns_that_determine_each_other_are_found_whichever_member_is_called_the_original():
    """A time of the day, its hour and its minute; another column is correlated with the hour only. Five parts of a whole
    determine each other only all together, which is no triple."""
    rng = RNG(4)
    hour, minute = rng.integers(0, 24, 2000), rng.integers(0, 60, 2000)
    shares = rng.dirichlet(np.ones(5), 2000)
    X = np.column_stack(
        [100.0 * hour + minute, hour, rng.standard_normal(2000), minute, hour + rng.normal(0, 5, 2000), shares]
    )
    p, y = X.shape[1], rng.standard_normal(2000)
    Z = standardise(np.hstack([X, GaussianKnockoffs().fit(X).sample(X, rng=rng)]))
    for swapped in ([], [0], [1, 2], [3, 4], range(p)):
        columns = np.arange(2 * p)
        for j in swapped:
            columns[[j, p + j]] = columns[[p + j, j]]
        terms = problem(Z[:, columns], y, np.arange(p), noise=1.0).terms
        assert module.determined_units(terms) == [(0, 1, 3)], swapped
    assert module.determined_units(star().terms) == []
    assert module.determined_units(problem(Z[:, [0, 1, p, p + 1]], y, np.arange(2), noise=1.0).terms) == []


class TakesTheBest(EffectMoves):
    """Broken: collapsed exchanges take the likeliest members instead of drawing them."""

    def collapse(self, state, prior, rng, work=1e9):
        slabs = prior.variances[self._kind]
        for unit in np.flatnonzero(state.acting):
            module.collapsed_exchange(
                self._terms, state, np.array([unit]), float(prior.precision), slabs, prior.variances, 0.0
            )
        used = np.flatnonzero(state.effects)
        module.draw_effects(self._terms, state, used, float(prior.precision), slabs, rng.standard_normal(len(used)))
        refresh(self._terms, state)


def test_collapsed_exchanges_that_take_the_best_are_caught():
    found, _ = chains(with_pairs(), 20, 200, collapsed=True, moves=TakesTheBest)
    assert beyond(found, exact_with_pairs()) > 1


@pytest.mark.parametrize("units", [(0,), (1,), (0, 1)])
def test_a_collapsed_exchange_draws_members_given_nothing_but_which_terms_act(units):
    """2,000 draws from every start: each choice of members as often as its marginal likelihood says, by normal approximation
    with a false-alarm rate of 1e-5 (Bonferroni over starts and choices). Likelihoods in which the other effects are held fixed
    are far from these frequencies."""
    given, rng = with_pairs(), RNG(8)
    terms, prior = given.terms, given.prior
    slabs = prior.variances[module.kinds_of_columns(terms)]
    draws, choices = 2000, [(k, other) for k in range(2) for other in range(2)]
    evidence = {choice: given.evidence([(c, slabs[c]) for c in acting_columns(terms, *choice)]) for choice in choices}
    bound = norm.isf(1e-5 / (2 * len(choices) ** 2))
    largest = 0.0
    for start in choices:
        possible = [c for c in choices if all(c[u] == start[u] for u in range(2) if u not in units)]
        weights = np.exp([evidence[c] - max(evidence.values()) for c in possible])
        counts = dict.fromkeys(possible, 0)
        for _ in range(draws):
            state = acting_state(given, *start)
            module.collapsed_exchange(
                terms, state, np.array(units), float(prior.precision), slabs, prior.variances, rng.random()
            )
            found = tuple(state.member.tolist())
            counts[found] += 1
            assert set(np.flatnonzero(state.effects)) == set(acting_columns(terms, *found))
            assert state.pair[0] == 1 + (found[0] * 2 + found[1]) * 2 + 1
        share = weights / weights.sum()
        error = np.sqrt(np.maximum(share * (1 - share), 1e-4) / draws)
        largest = max(largest, np.max(np.abs(np.array(list(counts.values())) / draws - share) / error))
    assert largest < bound


def test_all_effects_are_drawn_together_from_their_posterior():
    """4,000 draws: means and covariances within 1e-5 false alarms of a normal approximation."""
    given, rng = with_pairs(), RNG(9)
    terms, prior, draws = given.terms, given.prior, 4000
    slabs = prior.variances[module.kinds_of_columns(terms)]
    columns = acting_columns(terms, 1, 0)
    gram = prior.precision * terms.gram[np.ix_(columns, columns)].astype(float)
    covariance = np.linalg.inv(gram + np.diag(1 / slabs[columns]))
    mean = covariance @ (prior.precision * terms.correlation[columns])
    found = np.empty((draws, 3))
    for k in range(draws):
        state = acting_state(given, 1, 0)
        module.draw_effects(terms, state, np.array(columns), float(prior.precision), slabs, rng.standard_normal(3))
        found[k] = state.effects[columns]
    bound = norm.isf(1e-5 / (2 * 9))
    deviation = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.mean(axis=0) - mean) < bound * deviation / np.sqrt(draws))
    wide = np.sqrt((np.outer(deviation**2, deviation**2) + covariance**2) / draws)
    assert np.all(np.abs(np.cov(found.T) - covariance) < bound * wide)


def acting_columns(terms, member, other):
    """The line of the first unit, the line of one column of the second, and the second product of their first pair."""
    return [terms.place[member, 0, 0], terms.place[other, 2, 0], terms.pair_place[0, member, other, 1]]


def acting_state(given, member, other):
    """These columns act."""
    terms, state = given.terms, nothing_acts(given.terms)
    state.effects[acting_columns(terms, member, other)] = [0.3, 0.1, -0.2]
    state.chosen[[0, 2]] = 1
    state.pair[0] = 1 + (member * 2 + other) * 2 + 1
    state.acting[:], state.in_pairs[:], state.member[:] = [2, 2], [1, 1], [member, other]
    refresh(terms, state)
    return state


@pytest.mark.parametrize("units", [(0, 1), (0,), (1,)])
def test_an_exchange_draws_members_and_effects_from_their_conditional(units):
    """1,000 exchanges of one unit or of two: frequencies of the member combinations within 4.5 binomial deviations, mean effects
    within 4.5 standard errors: false alarms below 1e-4 in all."""
    given = with_pairs()
    terms, prior = given.terms, given.prior
    choices = [
        (k, other) for k in range(2) for other in range(2) if (0 in units or k == 0) and (1 in units or other == 1)
    ]
    log_chance, mean, moved = [], [], [0 in units, 1 in units, True]
    for choice in choices:
        columns = np.array(acting_columns(terms, *choice))
        held = columns[~np.array(moved)]  # a line of a unit that is not exchanged keeps its effect
        correlation = terms.correlation - acting_state(given, 0, 1).effects[held] @ terms.gram[held]
        columns, slabs = columns[moved], np.diag(prior.variances[[0, 0, -1]][moved])
        gram, b = prior.precision * terms.gram[np.ix_(columns, columns)], prior.precision * correlation[columns]
        # Correlations are N(0, G) under no effects and N(0, G + G S G) under effects with variances S.
        under = multivariate_normal(cov=gram + gram @ slabs @ gram), multivariate_normal(cov=gram)
        log_chance.append(under[0].logpdf(b) - under[1].logpdf(b))
        mean.append(np.linalg.solve(gram + np.linalg.inv(slabs), b))
    drawn, effects, rng = np.zeros(len(choices), int), [[] for _ in choices], RNG(1)
    for _ in range(1000):
        state = acting_state(given, 0, 1)
        module._Moving(terms, state, prior).exchange(units, rng)
        member, other = state.member
        which = choices.index((member, other))
        drawn[which] += 1
        effects[which].append(state.effects[acting_columns(terms, member, other)][moved])
        assert np.count_nonzero(state.effects) == 3
        assert state.pair.tolist() == [1 + (member * 2 + other) * 2 + 1, 0]
    np.testing.assert_allclose(state.residual, terms.correlation - terms.gram @ state.effects, atol=1e-5)
    chance = np.exp(np.array(log_chance) - np.logaddexp.reduce(log_chance))
    assert (np.abs(drawn - 1000 * chance) < 4.5 * np.sqrt(1000 * chance * (1 - chance))).all()
    assert drawn.max() < 980
    for which in np.flatnonzero(drawn > 100):
        sample = np.array(effects[which])
        assert (np.abs(sample.mean(axis=0) - mean[which]) < 4.5 * sample.std(axis=0) / np.sqrt(len(sample))).all()


def test_an_exchange_survives_collinear_columns():
    """All levels of a category, acting at once and without noise: their Gram matrix is singular."""
    levels, others = (RNG(k).integers(0, 4, 200)[:, None] == np.arange(4) for k in range(2))
    Z = standardise(np.hstack([levels, others]).astype(float))
    sharp = Prior(200 / 1e-6, np.full(3, 10.0), *default_prior(200, 1.0)[2:])
    given = problem(Z, levels @ np.arange(4.0), np.zeros(4, int), noise=1.0, prior=sharp)
    state = nothing_acts(given.terms)
    state.effects[given.terms.place[1, :, 0]] = 0.1
    state.chosen[:], state.acting[:], state.member[:] = 1, 4, 1
    refresh(given.terms, state)
    module._Moving(given.terms, state, sharp).exchange((0,), RNG(0))
    assert state.member[0] == 0
    assert np.isfinite(state.effects).all()
    np.testing.assert_allclose(given.terms.correlation - given.terms.gram @ state.effects, 0, atol=0.2)


@pytest.mark.parametrize("given", [with_pairs, star])
def test_what_the_state_says_about_itself_is_what_its_effects_say(given):
    terms, prior = given().terms, given().prior
    state, moves, rng, moved = nothing_acts(terms), EffectMoves(terms), RNG(3), 0
    for _ in range(200):
        sweep(terms, state, rng.permutation(len(state.chosen) + len(state.pair))[None], prior, rng)
        before = state.acting.copy(), state.member.copy()
        moves.move(state, prior, rng)
        moved += int((before[0] != state.acting).any() or (before[1] != state.member).any())
        np.testing.assert_allclose(state.residual, terms.correlation - terms.gram @ state.effects, atol=1e-3)
        acts = state.effects[terms.place].any(axis=2)  # (members, p)
        of_pairs = state.effects[terms.pair_place].any(axis=3)  # (pairs, members, members)
        np.testing.assert_array_equal(of_pairs.any(axis=(1, 2)), state.pair > 0)
        for unit in range(len(state.acting)):
            through = acts[:, terms.unit == unit].sum(axis=1)
            in_pairs = np.zeros_like(through)
            for q, (left, right) in enumerate(terms.pair_units):
                in_pairs += (left == unit) * of_pairs[q].sum(axis=1) + (right == unit) * of_pairs[q].sum(axis=0)
            through += in_pairs
            assert state.acting[unit] == through.sum()
            assert state.in_pairs[unit] == in_pairs.sum()
            assert np.count_nonzero(through) <= 1, "terms of a unit act through one member"
            assert not through.any() or through.argmax() == state.member[unit]
    assert moved > 10


def test_a_matrix_that_cannot_be_factorised_changes_no_member(monkeypatch):
    given = with_pairs()

    def fails(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(module, "collapsed_exchange", fails)
    state = acting_state(given, 1, 0)
    EffectMoves(given.terms).collapse(state, given.prior, RNG(0))
    assert state.member.tolist() == [1, 0]
    np.testing.assert_array_equal(np.flatnonzero(state.effects), np.sort(acting_columns(given.terms, 1, 0)))
