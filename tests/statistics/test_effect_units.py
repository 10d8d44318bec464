"""The Bayesian additive model of units of several columns: one member acts or none, against enumeration of all states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.members import table_of

from grip2.engine.effect_sweeps import EffectState, EffectSweeps
from grip2.standardise import standardise
from grip2.statistics import EffectPosterior
from grip2.statistics import effect_sampler as module
from grip2.statistics.basis import FUNCTIONS, Basis
from grip2.statistics.effect_sampler import SETS
from grip2.statistics.member_exchange import exchange_members
from grip2.units import Units

RNG = np.random.default_rng
ROUND = 5  # sweeps between two exchanges
N, NOISE, VARIANCES = 60, 0.7, np.array([0.1, 0.05, 0.02])
SHARES = np.array([0.3, *np.linspace(1, 2, len(SETS)) / np.linspace(1, 2, len(SETS)).sum() * 0.7])


def problem(copies=2, seed=5):
    """Two units of two correlated columns, straight lines only, and the standardised columns of all members."""
    rng = RNG([seed, 9])
    X = rng.standard_normal((N, 4)) @ (np.eye(4) + 0.4)
    Xks = [0.7 * X + 0.7 * rng.standard_normal((N, 4)) for _ in range(copies)]
    y = standardise(0.25 * X[:, 0] + 0.15 * X[:, 1] + rng.standard_normal(N))
    Z, layout = table_of(X, *Xks, units=Units(np.array([0, 0, 1, 1])))
    return module._design(Z, layout, y, Basis.fit(Z), False), layout, Z, y


def exact_probabilities(layout, Z, y, *, member_once=True, shared_member=True):
    """(members, units) that a unit acts through a member, by enumerating all states of all columns.

    The prior: a column has a straight effect or none, independently of the others; if any column of a unit has one, all that
    do act through one member, and all members are equally likely. Broken twins: the factor 1 / members for every column, or
    every column with a member of its own, its unit acting through a member if any column does.
    """
    straight = SHARES[1:][SETS[:, 0] > 0].sum()
    choices = [None, *range(layout.members)]
    weights, total = np.zeros((layout.members, len(layout.units))), 0.0
    for combination in itertools.product(choices, repeat=4):
        through = [{combination[j] for j in columns} - {None} for columns in layout.units.columns]
        if shared_member and any(len(members) > 1 for members in through):
            continue
        covariance, weight = NOISE * np.eye(N), 1.0
        for j, member in enumerate(combination):
            weight *= straight if member is not None else 1 - straight
            if member is not None:
                value = Z[:, member * 4 + j]
                covariance += VARIANCES[0] * np.outer(value, value)
        paid = [len(members) for members in through] if member_once else [4 - combination.count(None)]
        weight *= layout.members ** -float(sum(paid)) * multivariate_normal(cov=covariance).pdf(y)
        total += weight
        for unit, members in enumerate(through):
            for member in members:
                weights[member, unit] += weight
    return weights / total


def sampled_probabilities(design, layout, rounds, seed=1):
    """The same by rounds of sweeps and exchanges of members, with everything else held fixed."""
    rng = RNG(seed)
    sampler = EffectSweeps(design.gram, design.correlation, design.place, SETS, layout.units.of_column)
    found = np.zeros((len(layout.units), layout.members))
    for _ in range(rounds):
        draw = sampler.draw(
            order=rng.permuted(np.tile(np.arange(4, dtype=np.int32), (ROUND, 1)), axis=1),
            uniform=rng.random((ROUND, 4), dtype=np.float32),
            normal=rng.standard_normal((ROUND, 4, FUNCTIONS), dtype=np.float32),
            precision=N / NOISE,
            variances=VARIANCES,
            log_shares=np.log(SHARES),
        )
        found += draw.probability
        settings = {"precision": N / NOISE, "variances": VARIANCES, "rng": rng}
        sampler.move_to(exchange_members(draw.state, design.gram, design.place, layout.units, **settings))
    return found.T / rounds


def test_the_sampler_agrees_with_enumeration():
    """2,000 rounds of five sweeps; over 10 other streams of half the length the six errors have means of at most 0.002 and
    deviations of at most 0.0146, so 0.0103 here: the bound of 0.045 is 4.4 of the largest, false alarms below 2e-5. The broken
    twins, which pay for the choice of a member once a column or let every column choose, are 0.10 and 0.14 from the truth."""
    design, layout, Z, y = problem()
    exact = exact_probabilities(layout, Z, y)
    found = sampled_probabilities(design, layout, 2000)
    np.testing.assert_allclose(found, exact, atol=0.045)
    assert np.abs(found - exact_probabilities(layout, Z, y, member_once=False)).max() > 0.045
    assert np.abs(found - exact_probabilities(layout, Z, y, shared_member=False)).max() > 0.045


def acting_state(design, layout, member, rng):
    """Both columns of the first unit and one of the second act."""
    effects = np.zeros(len(design.gram), np.float32)
    effects[design.place[member, [0, 1], 0]] = 0.3 * rng.standard_normal(2)
    effects[design.place[1, 2, 0]] = 0.2
    straight = 1 + int(np.argmax(SETS @ [1, -1, -1]))
    chosen = np.array([straight, straight, straight, 0], np.int32)
    residual = design.correlation - design.gram @ effects
    return EffectState(effects, residual, chosen, np.array([2, 1], np.int32), np.array([member, 1], np.int32))


def test_an_exchange_draws_members_and_effects_from_their_conditional():
    """3,000 exchanges: frequencies of three members within 4.5 binomial deviations, mean effects within 4.5 standard errors;
    false alarms below 1e-4 in all. Effects held fixed instead of integrated out, the broken twin, are beyond the bound."""
    design, layout, Z, y = problem()
    start, rng = acting_state(design, layout, 2, RNG(0)), RNG(1)
    target = y - start.effects[design.place[1, 2, 0]] * Z[:, 4 + 2]
    held = start.effects[design.place[2, [0, 1], 0]]
    density, with_held, mean = [], [], []
    for member in range(3):
        values = Z[:, [4 * member, 4 * member + 1]]
        covariance = NOISE * np.eye(N) + VARIANCES[0] * values @ values.T
        density.append(multivariate_normal(cov=covariance).pdf(target))
        with_held.append(np.exp(-0.5 * np.sum((target - values @ held) ** 2) / NOISE))
        mean.append(np.linalg.solve(values.T @ values + NOISE / VARIANCES[0] * np.eye(2), values.T @ target))
    drawn, effects = np.zeros(3, int), [[], [], []]
    for _ in range(3000):
        after = exchange_members(
            start, design.gram, design.place, layout.units, precision=N / NOISE, variances=VARIANCES, rng=rng
        )
        member = after.member[0]
        drawn[member] += 1
        effects[member].append(after.effects[design.place[member, [0, 1], 0]])
        assert np.count_nonzero(after.effects) == 3
        assert after.member[1] == 1
    np.testing.assert_allclose(after.residual, design.correlation - design.gram @ after.effects, atol=1e-5)
    chance = np.array(density) / np.sum(density)
    deviation = np.sqrt(3000 * chance * (1 - chance))
    assert (np.abs(drawn - 3000 * chance) < 4.5 * deviation).all()
    wrong = np.array(with_held) / np.sum(with_held)
    for member in np.flatnonzero(drawn > 100):
        sample = np.array(effects[member])
        error = sample.std(axis=0) / np.sqrt(len(sample))
        assert (np.abs(sample.mean(axis=0) - mean[member]) < 4.5 * error).all()
    assert (np.abs(drawn - 3000 * wrong) > 4.5 * deviation).any()


def test_an_exchange_survives_collinear_columns():
    """All levels of a category, acting at once and without noise: their Gram matrix is singular."""
    levels = RNG(0).integers(0, 4, 200)[:, None] == np.arange(4)
    others = RNG(1).integers(0, 4, 200)[:, None] == np.arange(4)
    Z, layout = table_of(levels.astype(float), others.astype(float), units=Units(np.zeros(4, int)))
    y = standardise(levels @ np.arange(4.0))
    design = module._design(Z, layout, y, Basis.fit(Z), True)
    effects = np.zeros(len(design.gram), np.float32)
    effects[design.place[1, :, 0]] = 0.1
    residual = design.correlation - design.gram @ effects
    state = EffectState(effects, residual, np.ones(4, int), np.array([4]), np.array([1]))
    after = exchange_members(
        state, design.gram, design.place, layout.units, precision=200 / 1e-6, variances=np.full(3, 10.0), rng=RNG(0)
    )
    assert after.member[0] == 0
    assert np.isfinite(after.effects).all()
    np.testing.assert_allclose(design.correlation - design.gram @ after.effects, 0, atol=0.2)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_category_with_an_effect_is_found(copies):
    """Five levels, three of them shifted, beside 20 columns without an effect."""
    rng = RNG(copies)
    level, *of_copies = rng.integers(0, 5, (1 + copies, 400))
    tables = [
        np.hstack([(one[:, None] == np.arange(5)).astype(float), rng.standard_normal((400, 20))])
        for one in (level, *of_copies)
    ]
    y = np.array([0.0, 0.8, -0.8, 0.5, 0.0])[level] + rng.standard_normal(400)
    units = Units(np.concatenate([np.zeros(5, int), np.arange(1, 21)]))
    W = EffectPosterior(sweeps=200).importance(tables[0], np.array(tables[1:]), y, rng=RNG(0), units=units).W
    assert W[0] > 0.95
    assert W.shape == (21,)
    assert np.median(np.abs(W[1:])) < 0.2


def test_of_wide_tables_columns_are_kept_in_all_members(monkeypatch):
    X, *Xks = RNG(0).standard_normal((4, 200, 12))
    y = standardise(X[:, :2].sum(axis=1) + 0.5 * RNG(1).standard_normal(200))
    Z, layout = table_of(X, *Xks, units=Units(np.arange(12) // 3))
    monkeypatch.setattr(module, "COLUMNS_MAX", 4 * 6)
    design = module._design(Z, layout, y, Basis.fit(Z), True)
    there = design.place != len(design.gram) - 1
    assert len(design.gram) - 1 <= 24
    assert (there == there[0]).all()
    assert there[0, :2, 0].all()
    fit = module.fit_effects(Z, layout, y, rng=RNG(0), sweeps=100)
    assert fit.probability[0, 0] > 0.95
    assert np.delete(fit.probability.ravel(), 0).max() < 0.5
