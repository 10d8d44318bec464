"""The Bayesian additive model of units of several columns: one member acts or none, against enumeration of all states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.effect_states import Problem, beyond, chains
from tests.members import table_of

from grip2.engine.effect_sweeps import Prior
from grip2.standardise import standardise
from grip2.statistics import EffectPosterior
from grip2.statistics import effect_model as module
from grip2.statistics.basis import FUNCTIONS, Basis
from grip2.statistics.effect_design import main_columns
from grip2.statistics.effect_sampler import fit_effects
from grip2.units import Units

RNG = np.random.default_rng
N, NOISE, VARIANCE, STRAIGHT = 60, 0.7, 0.1, 0.4
LINES = np.ones((1, 1), np.float32)  # the only set of functions


def problem(copies=2, seed=5):
    """Two units of two correlated columns, straight lines only, and the standardised columns of all members."""
    rng = RNG([seed, 9])
    X = rng.standard_normal((N, 4)) @ (np.eye(4) + 0.4)
    Xks = [0.7 * X + 0.7 * rng.standard_normal((N, 4)) for _ in range(copies)]
    y = standardise(0.25 * X[:, 0] + 0.15 * X[:, 1] + rng.standard_normal(N))
    Z, layout = table_of(X, *Xks, units=Units(np.array([0, 0, 1, 1])))
    settings = {"curves": False, "interactions": False, "left_by": lambda model, response: y, "rng": RNG(0)}
    terms = module.fit_model(Z, layout, y[:, None], **settings).terms(0)
    shares = np.log([[1 - STRAIGHT, STRAIGHT]] * 2)
    prior = Prior(N / NOISE, np.array([VARIANCE, 1.0]), shares, np.log([0.5, 0.5]))
    lines = terms._replace(place=np.ascontiguousarray(terms.place[:, :, :1]), sets=LINES)
    return Problem(lines, prior), layout, Z, y


def exact_probabilities(layout, Z, y, *, member_once=True, shared_member=True):
    """(members, units) that a unit acts through a member, by enumerating all states of all columns.

    The prior: a column has a straight effect or none, independently of the others; if any column of a unit has one, all that
    do act through one member, and all members are equally likely. Broken twins: the factor 1 / members for every column, or
    every column with a member of its own, its unit acting through a member if any column does.
    """
    choices = [None, *range(layout.members)]
    weights, total = np.zeros((layout.members, len(layout.units))), 0.0
    for combination in itertools.product(choices, repeat=4):
        through = [{combination[j] for j in columns} - {None} for columns in layout.units.columns]
        if shared_member and any(len(members) > 1 for members in through):
            continue
        covariance, weight = NOISE * np.eye(N), 1.0
        for j, member in enumerate(combination):
            weight *= STRAIGHT if member is not None else 1 - STRAIGHT
            if member is not None:
                value = Z[:, member * 4 + j]
                covariance += VARIANCE * np.outer(value, value)
        paid = [len(members) for members in through] if member_once else [4 - combination.count(None)]
        weight *= layout.members ** -float(sum(paid)) * multivariate_normal(cov=covariance).pdf(y)
        total += weight
        for unit, members in enumerate(through):
            for member in members:
                weights[member, unit] += weight
    return weights / total


def test_the_sampler_agrees_with_enumeration():
    """20 chains of 300 rounds of a sweep and exchanges, compared with the exact posterior by Student's t: false alarms 1e-5. The
    broken twins, which pay for the choice of a member once a column or let every column choose, are rejected."""
    given, layout, Z, y = problem()
    _, found = chains(given, 20, 300, exchanges=True)
    assert beyond(found, exact_probabilities(layout, Z, y)) < 1
    assert beyond(found, exact_probabilities(layout, Z, y, member_once=False)) > 1
    assert beyond(found, exact_probabilities(layout, Z, y, shared_member=False)) > 1


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
    function, column = main_columns(Z, layout, y[:, None], Basis.fit(Z), curves=True, most=4 * 21)
    there = np.zeros((FUNCTIONS, 4, 12), dtype=bool)
    there[function, column // 12, column % 12] = True
    assert len(function) <= 4 * 21
    assert (there == there[:, :1]).all()
    assert there[0, 0, :2].all()
    assert there[1:].any()
    monkeypatch.setattr(module, "COLUMNS_MAX", 4 * 21)
    fit = fit_effects(Z, layout, y, rng=RNG(0), sweeps=100, interactions=False)
    assert fit.probability[0, 0] > 0.95
    assert np.delete(fit.probability.ravel(), 0).max() < 0.5
