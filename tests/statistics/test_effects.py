"""The Bayesian model of single effects: its sampler against enumeration, what it finds, symmetry; pairs have their own file."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.members import members_of, table_of

from grip2.engine.effect_sweeps import Prior, nothing_acts, sweep
from grip2.errors import Grip2Error
from grip2.filter import contrast, knockoff_threshold
from grip2.metrics import power
from grip2.responses import Measurement, response_from
from grip2.standardise import standardise
from grip2.statistics import EffectPosterior, LassoCoefficient
from grip2.statistics import effect_design as design
from grip2.statistics import effect_model as module
from grip2.statistics.basis import FUNCTIONS, Basis
from grip2.statistics.effect_model import fit_model
from grip2.statistics.effect_sampler import fit_effects, sample_posterior
from grip2.statistics.effects import lines_only, lines_only_note
from grip2.statistics.stage import held_out_share
from grip2.symmetry import draw_order, shuffled, unshuffled
from grip2.units import Layout, Units

RNG = np.random.default_rng


FIRST = 3  # line, V and S: all sets of six functions of two columns are too many to enumerate
SETS = np.array([used for used in itertools.product([0, 1], repeat=FIRST) if any(used)], dtype=np.float32)


def small_terms(n=60, p=2, seed=0):
    """Correlated columns, the first acting straight and as a V: terms with three functions of every column, no pairs, and the
    values of their columns."""
    rng = RNG([seed, 8])
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.7)
    Xk = 0.7 * X + 0.7 * rng.standard_normal((n, p))
    y = standardise(0.2 * X[:, 0] + 0.2 * np.abs(X[:, 0]) + rng.standard_normal(n))
    Z, layout = table_of(X, Xk)
    settings = {"curves": True, "interactions": False, "left_by": lambda model, response: y, "rng": RNG(0)}
    terms = fit_model(Z, layout, y[:, None], **settings).terms(0)
    functions = Basis.fit(Z).evaluate(Z)
    values = np.zeros((n, len(terms.gram)))
    for member, j, k in itertools.product(range(2), range(p), range(FUNCTIONS)):
        values[:, terms.place[member, j, k]] = functions[k, :, member * p + j]
    assert len(terms.gram) == 2 * p * FUNCTIONS + 1
    return terms._replace(place=np.ascontiguousarray(terms.place[:, :, :FIRST]), sets=SETS), values, y


def exact_probabilities(terms, values, y, noise, variances, shares):
    """(2, p) that a member acts, by enumerating every state of every unit."""
    n, p = len(y), terms.place.shape[1]
    states = [(None, np.zeros(FIRST))] + [(member, used) for member in range(2) for used in SETS]
    prior = [shares[0], *np.tile(shares[1:], 2) / 2]
    weights, total = np.zeros((2, p)), 0.0
    for combination in itertools.product(range(len(states)), repeat=p):
        covariance = noise * np.eye(n)
        for j, state in enumerate(combination):
            member, used = states[state]
            for k in np.flatnonzero(used):
                value = values[:, terms.place[member, j, k]]
                covariance += variances[k] * np.outer(value, value)
        weight = multivariate_normal(cov=covariance).pdf(y) * np.prod([prior[state] for state in combination])
        total += weight
        for j, state in enumerate(combination):
            if states[state][0] is not None:
                weights[states[state][0], j] += weight
    return weights / total


def sampled_probabilities(terms, prior, sweeps, broken=False):
    """The same by sweeps with everything but the effects held fixed."""
    rng, p = RNG(1), terms.place.shape[1]
    if broken:
        terms = terms._replace(gram=np.diag(np.diag(terms.gram)))
    sums = sweep(terms, nothing_acts(terms), rng.permuted(np.tile(np.arange(p), (sweeps, 1)), axis=1), prior, rng)
    return sums.probability.T / sums.visits


def test_the_sampler_agrees_with_enumeration():
    """4,000 sweeps; over 20 other streams the largest of the four errors is 0.0018 on average, with deviation 0.0010: 0.01 is
    eight deviations away. A sampler that takes units for uncorrelated misses by 0.3."""
    terms, values, y = small_terms()
    noise, variances = 0.6, np.array([0.1, 0.05, 0.02, 1.0])
    shares = np.array([0.5, *np.linspace(1, 2, len(SETS)) / np.linspace(1, 2, len(SETS)).sum() / 2])
    exact = exact_probabilities(terms, values, y, noise, variances, shares)
    assert np.ptp(exact) > 0.3
    prior = Prior(len(y) / noise, variances, np.log([shares, shares]), np.log([0.5, 0.5]))
    np.testing.assert_allclose(sampled_probabilities(terms, prior, 4000), exact, atol=0.01)
    assert np.abs(sampled_probabilities(terms, prior, 4000, broken=True) - exact).max() > 0.1


def test_moments_are_those_of_the_basis_functions(monkeypatch):
    monkeypatch.setattr(design, "ROWS_AT_A_TIME", 64)
    terms, values, y = small_terms(n=300, p=5)
    np.testing.assert_allclose(terms.gram, values.T @ values / 300, atol=1e-5)
    np.testing.assert_allclose(terms.correlation, values.T @ y / 300, atol=1e-5)
    for member, j in itertools.product(range(2), range(5)):  # what the sweeps rely on
        own = terms.place[member, j]
        np.testing.assert_allclose(terms.gram[np.ix_(own, own)], np.eye(FIRST), atol=1e-5)


def explained(fit, y):
    """Share of the variance of a standardised y that the fit removes."""
    return 1 - np.mean(fit.residual**2) / np.mean(y**2)


SIGNALS = {
    "lines": lambda X: X.sum(axis=1),
    "absolute values": lambda X: np.abs(X).sum(axis=1),
    "signs": lambda X: np.sign(X).sum(axis=1),
}


def signal_table(kind, n=1200, p=60, acting=12, seed=0):
    rng = RNG([seed, 5])
    X, Xk = rng.standard_normal((2, n, p))
    signal = SIGNALS[kind](X[:, :acting])
    return X, Xk, signal + 1.4 * signal.std() * rng.standard_normal(n), np.arange(p) < acting


@pytest.mark.parametrize("kind", SIGNALS)
def test_sums_of_single_effects_are_found(kind):
    X, Xk, y, truth = signal_table(kind)
    part = fit_effects(*table_of(X, Xk), standardise(y), rng=RNG(0), interactions=False)
    W = contrast(part.probability)
    found = power(knockoff_threshold(W, 0.1) <= W, truth)
    assert found >= 0.9
    lasso = LassoCoefficient().importance(X, Xk, y, rng=RNG(0)).W
    assert found >= power(knockoff_threshold(lasso, 0.1) <= lasso, truth)
    assert explained(part, standardise(y)) == pytest.approx(1 / (1 + 1.4**2), abs=0.06)


def test_straight_lines_only():
    X, Xk, y, _ = signal_table("absolute values")
    blind = fit_effects(*table_of(X, Xk), standardise(y), rng=RNG(0), curves=False, interactions=False)
    assert explained(blind, standardise(y)) < 0.05
    assert blind.probability.max() < 0.5


@pytest.mark.parametrize(("copies", "per_unit"), [(1, 1), (3, 1), (1, 2), (2, 4)])
def test_permuted_members_permute_their_probabilities(copies, per_unit):
    X, Xk, y, _ = signal_table("signs", n=300, p=20)
    units, y = Units(np.arange(20) // per_unit), standardise(y)
    tables = (X, Xk, *RNG(3).standard_normal((copies - 1, 300, 20)))
    order = draw_order(len(units), 1 + copies, RNG(4))
    moved = shuffled(tables, units, order)
    one = fit_effects(*table_of(*tables, units=units), y, rng=RNG(0), sweeps=200, interactions=False)
    other = fit_effects(moved.standardised(), moved.layout, y, rng=RNG(0), sweeps=200, interactions=False)
    np.testing.assert_allclose(unshuffled(other.probability, order), one.probability, atol=1e-3)
    np.testing.assert_allclose(other.residual, one.residual, atol=2e-3)
    assert explained(other, y) == pytest.approx(explained(one, y), abs=1e-3)


@pytest.mark.parametrize(("copies", "per_unit", "bound"), [(1, 1, 57), (3, 1, 50), (3, 4, 25)])
def test_members_of_null_units_win_alike(copies, per_unit, bound):
    """40 tables of 20 columns with no signal: the original wins one of 1 + copies of 800 (200) units. Binomial deviations of
    14.1, 12.2 and 6.1 units: beyond the bound with probability below 1e-4. A prior that leans to originals by one part in a
    hundred is caught."""
    wins, leaning, units = 0, 0, Units(np.arange(20) // per_unit)
    for seed in range(40):
        tables = RNG([seed, 6]).standard_normal((1 + copies, 100, 20))
        y = standardise(RNG([seed, 7]).standard_normal(100))
        strength = fit_effects(
            *table_of(*tables, units=units), y, rng=RNG(seed), sweeps=20, chains=1, interactions=False
        ).probability
        wins += int((strength[0] > strength[1:].max(axis=0)).sum())
        leaning += int((1.01 * strength[0] + 0.01 > strength[1:].max(axis=0)).sum())
    fair = 40 * len(units) / (1 + copies)
    assert abs(wins - fair) <= bound
    if per_unit == 1:
        assert abs(leaning - fair) > bound


def test_rows_that_are_not_fitted_are_not_looked_at():
    X, Xk, y, _ = signal_table("lines", n=400, p=10, acting=4)
    rows = np.sort(RNG(1).permutation(400)[:320])
    others = np.setdiff1d(np.arange(400), rows)
    changed = y.copy()
    changed[others] += 100.0
    Z, layout = table_of(X, Xk)
    changed_Z = Z.copy()
    changed_Z[others] *= 3.0
    one = fit_effects(Z, layout, y, rng=RNG(0), fit_rows=rows)
    other = fit_effects(changed_Z, layout, changed, rng=RNG(0), fit_rows=rows)
    np.testing.assert_array_equal(one.probability, other.probability)
    np.testing.assert_array_equal(one.residual[rows], other.residual[rows])


def test_what_is_left_of_rows_not_fitted_is_an_honest_error():
    X, Xk, y, _ = signal_table("absolute values", n=1000, p=10, acting=4)
    y = standardise(y)
    rows, others = np.arange(800), np.arange(800, 1000)
    part = fit_effects(*table_of(X, Xk), y, rng=RNG(0), fit_rows=rows)
    left = part.residual
    assert np.var(left[others]) / np.var(y[others]) == pytest.approx(1.4**2 / (1 + 1.4**2), abs=0.12)


def test_of_wide_tables_the_columns_that_promise_most_take_part(monkeypatch):
    X, Xk, y, truth = signal_table("absolute values", p=80)
    (Z, layout), y = table_of(X, Xk), standardise(y)
    # Of 960: two thirds of the room for lines, the rest for the curves of ten columns.
    function, column = design.main_columns(Z, layout, y[:, None], Basis.fit(Z), curves=True, most=300)
    there = np.zeros((FUNCTIONS, 2, 80), dtype=bool)
    there[function, column // 80, column % 80] = True
    assert there[0].all()
    assert (there[:, 0] == there[:, 1]).all()
    assert (there[1:, 0].sum(axis=1) == 14).all()
    assert len(function) <= 300
    monkeypatch.setattr(module, "COLUMNS_MAX", 500)  # all lines, and the curves of 34 columns
    part = fit_effects(Z, layout, y, rng=RNG(0), interactions=False)
    W = contrast(part.probability)
    assert power(knockoff_threshold(W, 0.1) <= W, truth) >= 0.9
    monkeypatch.setattr(module, "COLUMNS_MAX", 100)  # not even all lines
    part = fit_effects(Z, layout, standardise(X[:, 0] + X[:, 1]), rng=RNG(0), interactions=False)
    assert set(np.flatnonzero(part.probability[0] > 0.5)) == {0, 1}
    assert part.probability[1].max() < 0.5


def test_columns_of_two_values_and_constant_ones():
    rng = RNG(0)
    X = (rng.random((400, 12)) < 0.3).astype(float)
    Xk = (rng.random((400, 12)) < 0.3).astype(float)
    X[:, 11], Xk[:, 11] = 1.0, 1.0
    Xk[:, 10] = rng.standard_normal(400)  # has curves, its partner has none: neither uses them
    y = standardise(X[:, :4].sum(axis=1) + 0.5 * rng.standard_normal(400))
    Z, layout = table_of(X, Xk)
    part = fit_effects(Z, layout, y, rng=RNG(0))
    assert part.probability[0, :4].min() > 0.95
    others = np.delete(part.probability, np.arange(4))
    assert others.mean() < 0.1
    assert others.max() < 0.5
    assert not part.probability[:, 11].any()
    function, column = design.main_columns(Z, layout, y[:, None], Basis.fit(Z), curves=True, most=1000)
    assert not function.any()
    assert column.tolist() == [*range(11), *range(12, 23)]


@pytest.mark.parametrize(("n", "sweeps"), [(2, 50), (3, 50), (5, 50), (50, 1), (50, 3), (50, 6)])
def test_a_handful_of_rows_or_sweeps(n, sweeps):
    X, Xk = RNG(0).standard_normal((2, n, 4))
    part = fit_effects(*table_of(X, Xk), standardise(X[:, 0]), rng=RNG(0), sweeps=sweeps)
    assert np.isfinite(part.probability).all()
    assert np.isfinite(part.residual).all()


def test_extreme_tables():
    rng = RNG(0)
    X = rng.standard_normal((200, 6))
    same = fit_effects(*table_of(X, X.copy()), standardise(X[:, 0]), rng=RNG(0))  # no noise, knockoffs are copies
    np.testing.assert_allclose(same.probability[0], same.probability[1], atol=0.15)
    assert same.probability[:, 0].sum() > 0.99
    assert explained(same, standardise(X[:, 0])) > 0.98  # the prior is worth two rows of noise
    constant = fit_effects(*table_of(X, X[::-1]), np.zeros(200), rng=RNG(0))
    assert not constant.probability.any()
    heavy = table_of(rng.standard_cauchy((200, 6)), rng.standard_cauchy((200, 6)))
    rows = np.arange(150)
    part = fit_effects(*heavy, standardise(rng.standard_cauchy(200)), rng=RNG(0), fit_rows=rows)
    assert np.isfinite(part.residual).all()


@pytest.mark.parametrize(("n", "p"), [(10, 30), (50, 200), (100, 300)])
def test_noise_is_not_fitted_by_more_functions_than_rows(n, p):
    """Mean over four tables: one table in ten or so has a product that fits half of its noise by chance."""
    shares = []
    for seed in range(4):
        X, Xk = RNG([seed, n]).standard_normal((2, n, p))
        y = standardise(RNG([seed, p]).standard_normal(n))
        part = fit_effects(*table_of(X, Xk), y, rng=RNG(0), sweeps=400)
        assert part.probability.sum() < n / 5
        shares.append(explained(part, y))
    assert np.mean(shares) < 0.25


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tails_do_not_spoil_predictions(seed):
    rng = RNG([seed, 2])
    X, Xk = rng.standard_t(1.5, (2, 400, 50))
    y = standardise(np.arctan(X[:, :5]).sum(axis=1) + 0.5 * rng.standard_normal(400))
    part = fit_effects(*table_of(X, Xk), y, rng=RNG(0), fit_rows=np.arange(80, 400))
    left = part.residual
    assert np.var(left[:80]) < 0.3 * np.var(y[:80])


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    X, Xk, y, truth = signal_table("absolute values", n=2000, p=30)
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)).astype(float)
    W = EffectPosterior(sweeps=200).importance(X, Xk, y, rng=RNG(0), task="classification").W
    assert power(knockoff_threshold(W, 0.1) <= W, truth) >= 0.9
    rows = np.arange(1600)
    other = np.where(np.arange(2000) < 1600, y, y[::-1])  # rows that are not fitted are not looked at
    one, changed = (
        EffectPosterior(sweeps=40, curves=False).fit_stage(
            *table_of(X, Xk), response_from(labels, "classification"), rng=RNG(0), fit_rows=rows
        )
        for labels in (y, other)
    )
    np.testing.assert_array_equal(one.importance, changed.importance)


def test_classes_are_scored_one_against_the_rest():
    """Probabilities are those of the label of each class, summed; two classes have one label."""
    X, Xk, y, _ = signal_table("lines", n=300, p=6, acting=2)
    members = members_of(X, Xk)
    Z = members.standardised(np.float32)
    for cuts in ([0.5], [0.3, 0.6]):
        classes = np.digitize(y, np.quantile(y, cuts))
        response = response_from(classes, "classification")
        found = EffectPosterior(sweeps=40)._importance(members, response, rng=RNG(0), progress=None)
        labels = [(classes == k).astype(float) for k in ([1] if len(cuts) == 1 else [0, 1, 2])]
        posterior = sample_posterior(Z, members.layout, labels, rng=RNG(0), labels=True, sweeps=40)
        expected = sum(posterior.probability(k) for k in range(len(labels)))
        np.testing.assert_allclose(found.scores, expected, rtol=1e-6)


def test_what_the_stage_leaves_is_what_the_fit_leaves():
    X, Xk, y, _ = signal_table("absolute values", n=400, p=10, acting=4)
    (Z, layout), response = table_of(X, Xk), Measurement.encode(y, "test")
    stage = EffectPosterior().fit_stage(Z, layout, response, rng=RNG(0))
    assert stage.logits is None
    assert stage.response.y.std() == pytest.approx(1)
    assert stage.scale**2 == pytest.approx(
        1 - np.corrcoef(response.y, response.y - stage.response.y * stage.scale)[0, 1] ** 2, abs=0.06
    )
    np.testing.assert_allclose(stage.unit_weights, np.minimum(1, stage.importance.sum(axis=0)), rtol=1e-12)
    assert stage.unit_weights[:4].min() > 0.9
    fit_rows, held_out = np.arange(320), np.arange(320, 400)
    part = EffectPosterior().fit_stage(Z, layout, response, rng=RNG(0), fit_rows=fit_rows)
    left = part.response.y * part.scale
    assert left[fit_rows].mean() == pytest.approx(0, abs=1e-9)  # held-out rows take no part in centring
    null = np.mean((response.y[held_out] - response.y[fit_rows].mean()) ** 2)
    expected = 1 - np.mean(left[held_out] ** 2) / null
    assert held_out_share(part, response, fit_rows, held_out) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (EffectPosterior(sweeps=0), "EffectPosterior: sweeps must be a whole number of at least 1, got 0"),
        (EffectPosterior(curves="yes"), "EffectPosterior: curves must be True or False, got 'yes'"),
    ],
)
def test_bad_settings_are_refused(statistic, message):
    X = RNG(0).standard_normal((50, 2))
    with pytest.raises(Grip2Error, match=message):
        statistic.importance(X, X[::-1], X[:, 0], rng=RNG(0))


@pytest.mark.parametrize(
    ("rows", "units", "straight"), [(60, 61, True), (60, 60, False), (99, 120, True), (100, 120, False)]
)
def test_straight_lines_only_where_rows_are_few_and_fewer_than_units(rows, units, straight):
    """Dependence of columns along curves cannot be learned there, so that knockoffs do not share it."""
    rng = RNG(0)
    X, Xk = rng.standard_normal((2, rows, units))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.standard_normal(rows)
    labels = (y > np.median(y)).astype(int)
    for response, task in ((y, "regression"), (labels, "classification")):
        found, on_lines = (
            EffectPosterior(sweeps=40, **settings).importance(X, Xk, response, rng=RNG(1), task=task).W
            for settings in ({}, {"curves": False, "interactions": False})
        )
        assert np.array_equal(found, on_lines) == straight
    layout = Layout(2, Units.single(units))
    assert lines_only(X, layout) == straight
    fit = EffectPosterior(sweeps=40).fit_stage(np.hstack([X, Xk]), layout, Measurement(y), rng=RNG(1))
    assert any("only straight lines were modelled" in note for note in fit.notes) == straight
    assert set(lines_only_note(X, layout)) <= set(fit.notes)


@pytest.mark.parametrize(("rows", "latent"), [(119, False), (120, True)])
def test_labels_are_taken_for_measurements_where_rows_are_few_beside_units(rows, latent):
    """Units could tell the classes apart without error: latent measurements of any scale would fit."""
    rng = RNG(0)
    Z = standardise(rng.standard_normal((rows, 60))).astype(np.float32)
    labels = (Z[:, 0] + 0.5 * rng.standard_normal(rows) > 0).astype(float)
    found = sample_posterior(Z, Layout(2, Units.single(30)), [labels], rng=RNG(1), labels=True, sweeps=80)
    assert found.latent == latent
    assert found.probability(0)[0].argmax() == 0
    chances = found.chances(Z, 0)
    assert ((chances > 0) & (chances < 1)).all()
    assert chances[labels == 1].mean() > chances[labels == 0].mean() + 0.3
