"""Where chains may begin: a greedy search, against a naive twin that refits at every step."""

from __future__ import annotations

import numpy as np
import pytest
from tests.effect_states import problem, tables

from grip2.engine.effect_sweeps import refresh
from grip2.statistics import effect_start as module
from grip2.statistics.effect_start import greedy_state

RNG = np.random.default_rng
OF_UNIT = [0, 1, 1, 2]


def given(seed=0, members=2):
    """Three units, correlated, two of them with a pair; the first acts alone and in a pair, the third alone."""
    loadings = np.eye(4) + 0.5 * np.eye(4, k=1)
    Z = tables(600, OF_UNIT, members - 1, seed, loadings, likeness=0.7)
    y = 0.5 * Z[:, 0] + 0.4 * Z[:, 0] * Z[:, 1] + 0.3 * np.abs(Z[:, 3]) + RNG([seed, 8]).standard_normal(600)
    return problem(Z, y, OF_UNIT, pairs=[(0, 1), (0, 2), (1, 3)], curved=[0, 3], noise=1.0).terms


def columns_of_terms(terms):
    """Of every column that is there: its (unit, member) pairs and its pair of columns, or None."""
    found = {}
    members, p, functions = terms.place.shape
    for k, j, f in np.ndindex(members, p, functions):
        found[int(terms.place[k, j, f])] = ({(int(terms.unit[j]), k)}, None)
    for q, k, other, c in np.ndindex(*terms.pair_place.shape):
        left, right = (int(unit) for unit in terms.pair_units[q])
        found[int(terms.pair_place[q, k, other, c])] = ({(left, k), (right, other)}, q)
    found.pop(len(terms.gram) - 1, None)
    return found


def naive_search(terms, n):
    """Least squares with every column that is still possible, at every step."""
    gram, pull, owners = terms.gram.astype(float), terms.correlation.astype(float), columns_of_terms(terms)
    chosen, unexplained = [], 1.0
    while True:
        taken = {unit: member for c in chosen for unit, member in owners[c][0]}
        pairs = {owners[c][1] for c in chosen} - {None}
        best, least = None, unexplained
        for c, (through, pair) in owners.items():
            if c in chosen or pair in pairs or any(taken.get(unit, member) != member for unit, member in through):
                continue
            tried = [*chosen, c]
            whole = gram[np.ix_(tried, tried)]
            if np.linalg.eigvalsh(whole)[0] < 1e-4:
                continue
            left = 1.0 - pull[tried] @ np.linalg.solve(whole, pull[tried])
            if left < least:
                best, least = c, left
        if best is None or 0.5 * n * np.log(unexplained / least) < module.LEAST_GAIN + np.log(len(owners)):
            return chosen
        chosen.append(best)
        unexplained = least


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_search_is_that_of_the_naive_twin(seed, members):
    terms = given(seed, members)
    wanted = naive_search(terms, 600)
    assert len(wanted) >= 2
    assert module._search(terms, 600) == wanted


def test_a_search_that_lets_members_mix_is_caught(monkeypatch):
    monkeypatch.setattr(module._Owners, "excluded_by", lambda self, column: np.zeros(len(self.unit), dtype=bool))
    monkeypatch.setattr(module, "LEAST_GAIN", -2.0)
    assert any(module._search(given(seed), 600) != naive_search(given(seed), 600) for seed in range(4))


@pytest.mark.parametrize("seed", range(4))
def test_the_state_says_what_its_effects_say(seed):
    terms = given(seed)
    state, owners = greedy_state(terms, 600), columns_of_terms(terms)
    used = np.flatnonzero(state.effects)
    assert sorted(used.tolist()) == sorted(module._search(terms, 600))
    acting, in_pairs = np.zeros(3, int), np.zeros(3, int)
    for j in range(4):
        own = terms.place[state.member[terms.unit[j]], j]
        acts = state.effects[own] != 0
        acting[terms.unit[j]] += acts.any()
        wanted = 1 + terms.sets.astype(bool).tolist().index(acts.tolist()) if acts.any() else 0
        assert state.chosen[j] == wanted
    for c in used:
        through, pair = owners[int(c)]
        assert all(state.member[unit] == member for unit, member in through)
        if pair is not None:
            products = terms.pair_place.shape[-1]
            both, product = divmod(int(state.pair[pair]) - 1, products)
            assert terms.pair_place[pair, both // 2, both % 2, product] == c
            for unit, _ in through:
                acting[unit] += 1
                in_pairs[unit] += 1
    np.testing.assert_array_equal(state.acting, acting)
    np.testing.assert_array_equal(state.in_pairs, in_pairs)
    before = state.residual.copy()
    refresh(terms, state)
    np.testing.assert_allclose(state.residual, before, atol=1e-6)
    assert np.abs(state.residual[used]).max() < 1e-3  # least squares


def test_nothing_acts_in_noise():
    Z = tables(600, OF_UNIT, 1, 3, np.eye(4))
    terms = problem(Z, RNG(5).standard_normal(600), OF_UNIT, pairs=[(0, 1)], noise=1.0).terms
    assert not greedy_state(terms, 600).effects.any()
