"""Diagnostics: every known mistake is flagged, and exact knockoffs are rejected at most at the stated rate."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from scipy.stats import t as student

from grip2.commands import diagnose as command
from grip2.commands.table import TableOptions, TargetOptions
from grip2.knockoffs import CopulaKnockoffs, FixedXKnockoffs, GaussianKnockoffs, diagnose
from grip2.knockoffs.exchangeability import (
    Contrast,
    Pairs,
    classifier_test,
    covariance_contrast,
    cross_covariance_contrast,
    energy_test,
    kolmogorov_smirnov,
    marginal_contrast,
    mean_contrast,
    partial_covariance_contrast,
    swap_sets,
)
from grip2.units import Units
from tests.knockoffs.cases import ar1, law_of, normal_rows, uneven, with_transposed_factor

N, P = 3000, 12
RNG = np.random.default_rng


def exact(n: int, p: int, rng: np.random.Generator, s: str = "equi"):
    Sigma = uneven(p)
    X = normal_rows(n, Sigma, rng)
    sampler = GaussianKnockoffs(np.zeros(p), Sigma, s=s).fit(X)
    return X, sampler.sample(X, rng=rng), sampler


def flagged(found) -> set[str]:
    return {test.name for test in found.tests if test.rejected}


@pytest.mark.parametrize("s", ["mvr", "maxent"])
def test_exact_knockoffs_are_good(s):
    found = diagnose(*exact(N, P, RNG(0), s)[:2])
    assert found.verdict == "good"
    assert not flagged(found)
    assert found.detectable_error < 0.3


def transposed(rng):
    X, _, sampler = exact(N, P, rng)
    return X, with_transposed_factor(sampler, X, rng)


def permuted(rng):
    X, Xk, _ = exact(N, P, rng)
    return X, np.roll(Xk, 1, axis=1)


def heavy_tailed(rng):
    X = student(3).ppf(norm.cdf(normal_rows(N, ar1(P, 0.5), rng)))
    return X, GaussianKnockoffs().fit(X).sample(X, rng=rng)


def binary(rng):
    X = (normal_rows(N, ar1(P, 0.5), rng) > 0.3).astype(float)
    return X, GaussianKnockoffs().fit(X).sample(X, rng=rng)


def copies(rng):
    X = exact(N, P, rng)[0]
    return X, X.copy()


def shared_seed(rng, Sigma=None):
    Sigma = uneven(P) if Sigma is None else Sigma
    L = np.linalg.cholesky(Sigma)
    X = RNG(7).standard_normal((N, P)) @ L.T
    law = law_of(GaussianKnockoffs(np.zeros(P), Sigma).fit(X))
    return X, X - X @ law.A + RNG(7).standard_normal((N, P)) @ law.C.T


def shared_seed_independent(rng):
    return shared_seed(rng, np.eye(P))


def other_rows(rng):
    X, Xk, _ = exact(N, P, rng)
    return X, rng.permutation(Xk)


MISTAKES = [
    transposed,
    permuted,
    copies,
    shared_seed,
    shared_seed_independent,
    other_rows,
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_flagged(mistake):
    found = diagnose(*mistake(RNG(1)))
    assert found.verdict == "do not trust"
    assert found.reasons


@pytest.mark.parametrize("mistake", [heavy_tailed, binary])
def test_wrong_marginal_distributions_alone_are_told_and_not_called_good(mistake):
    """Second moments match, so that simulated responses keep the level: usable, with a word on statistics that see more."""
    found = diagnose(*mistake(RNG(1)))
    assert "marginal distribution" in flagged(found)
    assert not found.harm.exceeds_level()
    assert found.verdict == "usable"
    assert any("marginal distribution" in reason and "forests may see more" in reason for reason in found.reasons)


@pytest.mark.parametrize("s", ["mvr", "maxent"])
def test_a_transposed_factor_is_detected_with_every_s(s):
    # Errors of 0.03 and 0.05 (correlation units) in single places: the plain covariances miss them, z stays below 4.4.
    # Over 5 data sets the smallest z of the partial covariance is 6.8; 5.7 rejects.
    rng = RNG(3)
    X = normal_rows(5000, ar1(100, 0.8), rng)
    sampler = GaussianKnockoffs(np.zeros(100), ar1(100, 0.8), s=s).fit(X)
    assert flagged(diagnose(X, with_transposed_factor(sampler, X, rng))) == {"partial covariance"}
    assert not flagged(diagnose(X, sampler.sample(X, rng=rng)))


def test_unique_parts_are_residuals():
    """The naive twin: a_j is the residual of x_j + xk_j on all other sums, up to its size."""
    X, Xk, _ = exact(300, 4, RNG(0), "mvr")
    pairs = Pairs.standardised(X, Xk)
    sums, differences = pairs.X + pairs.Xk, pairs.X - pairs.Xk
    sums = sums - sums.mean(axis=0)
    found = partial_covariance_contrast(pairs)
    for j in range(4):
        rest = np.delete(sums, j, axis=1)
        residual = sums[:, j] - rest @ np.linalg.lstsq(rest, sums[:, j], rcond=None)[0]
        d = residual[:, None] * differences
        np.testing.assert_allclose(found.z[j], d.sum(axis=0) / np.sqrt((d**2).sum(axis=0)), rtol=1e-8)


def test_what_the_reasons_say():
    assert "knockoffs equal X" in diagnose(*copies(RNG(0))).reasons[0]
    assert "same seed" in diagnose(*shared_seed(RNG(0))).reasons[0]
    assert {"covariance", "cross-covariance"} <= flagged(diagnose(*permuted(RNG(0))))
    assert "marginal distribution" in flagged(diagnose(*heavy_tailed(RNG(0))))


def test_copula_knockoffs_of_the_same_tables_pass():
    rng = RNG(2)
    for X in (heavy_tailed(rng)[0], binary(rng)[0]):
        assert diagnose(X, CopulaKnockoffs().fit(X).sample(X, rng=rng)).verdict == "good"


def test_low_power_is_named():
    rng = RNG(3)
    Sigma = np.eye(P)
    Sigma[0, 1] = Sigma[1, 0] = 0.99
    table = pd.DataFrame(normal_rows(N, Sigma, rng), columns=[f"gene {j}" for j in range(P)])
    Xk = GaussianKnockoffs(np.zeros(P), Sigma).fit(table).sample(table, rng=rng)
    found = diagnose(table, Xk)
    assert found.verdict == "usable"
    assert found.low_power == ("gene 0", "gene 1")
    assert "gene 0, gene 1" in found.reasons[0]


def test_few_rows_are_not_called_good():
    found = diagnose(*exact(60, 5, RNG(0), "mvr")[:2])
    assert found.verdict == "usable"
    assert any("tests say little" in reason for reason in found.reasons)


def test_record():
    X, Xk, sampler = exact(500, 5, RNG(0), "mvr")
    found = diagnose(X, Xk, feature_names=list("abcde"))
    record = json.loads(found.to_json())
    assert record["verdict"] == found.verdict
    assert [f["name"] for f in record["features"]] == list("abcde")
    assert {t["name"] for t in record["tests"]} == {
        "mean",
        "covariance",
        "cross-covariance",
        "partial covariance",
        "marginal distribution",
        "classifier",
        "energy",
    }
    assert record["n"] == 500
    assert record["p"] == 5
    assert record["condition_number"] == pytest.approx(np.linalg.cond(np.corrcoef(X.T)), rel=1e-6)
    np.testing.assert_allclose(found.correlation, [np.corrcoef(X[:, j], Xk[:, j])[0, 1] for j in range(5)])
    np.testing.assert_allclose(found.correlation, 1 - sampler.s_, atol=0.2)
    assert str(found).startswith(found.verdict)
    copy = diagnose(X, X)
    assert json.loads(copy.to_json())["joint_condition_number"] is None


def test_figure():
    figure = diagnose(*exact(300, 5, RNG(0))[:2]).figure()
    assert len(figure.axes) == 4
    assert "Knockoff diagnostics" in figure.get_suptitle()
    figure.canvas.draw()


def test_same_answer_twice_and_no_mutation():
    X, Xk, _ = exact(300, 5, RNG(0))
    before = X.copy(), Xk.copy()
    assert diagnose(X, Xk).to_json() == diagnose(X, Xk).to_json()
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Xk, before[1])


def test_contrasts_are_what_they_say():
    X, Xk, _ = exact(200, 4, RNG(0))
    pairs = Pairs.standardised(X, Xk)
    d = pairs.X[:, 1] * pairs.X[:, 2] - pairs.Xk[:, 1] * pairs.Xk[:, 2]
    c = covariance_contrast(pairs)
    assert c.error[1, 2] == pytest.approx(d.mean())
    assert c.z[1, 2] == pytest.approx(d.sum() / np.sqrt((d**2).sum()))
    e = pairs.X[:, 3] * (pairs.Xk[:, 0] - pairs.X[:, 0])
    assert cross_covariance_contrast(pairs, Units.single(pairs.X.shape[1])).z[3, 0] == pytest.approx(
        e.sum() / np.sqrt((e**2).sum())
    )
    from scipy.stats import ks_2samp

    np.testing.assert_allclose(
        kolmogorov_smirnov(pairs), [ks_2samp(X[:, j], Xk[:, j]).statistic for j in range(4)], atol=1e-12
    )


@pytest.mark.parametrize(
    "contrast", [mean_contrast, covariance_contrast, partial_covariance_contrast, marginal_contrast]
)
def test_contrasts_change_sign_when_all_rows_are_swapped(contrast):
    X, Xk, _ = exact(100, 4, RNG(0))
    X[:, 0] = np.round(X[:, 0])
    Xk[:, 0] = np.round(Xk[:, 0])
    pairs = Pairs.standardised(X, Xk)
    there, back = contrast(pairs), contrast(pairs.swapped(np.ones(4, dtype=bool)))
    np.testing.assert_allclose(there.error, -back.error, atol=1e-12)
    np.testing.assert_allclose(there.standard_error, back.standard_error, atol=1e-12)


@pytest.mark.parametrize("k", range(4))
def test_the_cross_covariance_contrast_changes_sign_when_its_pair_is_swapped(k):
    X, Xk, _ = exact(100, 4, RNG(0))
    pairs = Pairs.standardised(X, Xk)
    there, back = (
        cross_covariance_contrast(each, Units.single(4)) for each in (pairs, pairs.swapped(np.arange(4) == k))
    )
    others = np.arange(4) != k
    np.testing.assert_allclose(back.error[others, k], -there.error[others, k], atol=1e-12)
    np.testing.assert_allclose(back.standard_error[others, k], there.standard_error[others, k], atol=1e-12)
    assert np.abs(there.error[others, k]).min() > 1e-6
    # Contrasts of two other pairs do not change.
    rest = np.ix_(others, others)
    np.testing.assert_allclose(back.error[rest], there.error[rest], atol=1e-12)


def test_knockoffs_that_are_mirror_images():
    X = (RNG(0).random((300, 5)) < 0.5).astype(float)
    assert diagnose(X, 1 - X).verdict == "do not trust"  # and no warning: sums without variance


def test_one_column():
    """No cross-covariances to test: an empty family rejects nothing, and the record is still JSON."""
    X = RNG(0).standard_normal((2000, 1))
    found = diagnose(X, RNG(1).standard_normal((2000, 1)))
    (test,) = [test for test in found.tests if test.name == "cross-covariance"]
    assert test.p_value == 1.0
    assert not test.rejected
    assert found.verdict == "good"
    assert json.loads(found.to_json())["p"] == 1
    assert Contrast(np.full((1, 1), np.nan), np.zeros((1, 1))).worst(0.01) == (0.0, 0.0, ())


def test_a_rare_value_is_not_called_constant(monkeypatch):
    monkeypatch.setattr("grip2.knockoffs.diagnostics._MAX_ROWS", 200)
    X, Xk = RNG(0).standard_normal((5000, 3)), RNG(1).standard_normal((5000, 3))
    X[:, 1], Xk[:, 1] = 0.0, 0.0
    X[7, 1] = Xk[8, 1] = 1.0
    found = diagnose(X, Xk)
    assert found.rows_used == 200
    assert not flagged(found)
    json.loads(found.to_json())
    X[7, 1] = 0.0
    with pytest.raises(ValueError, match="a constant column 1"):
        diagnose(X, Xk)


def test_the_largest_proven_error_is_reported():
    """A small, precisely measured error has the larger z, but the larger error is significant too and is reported."""
    both = Contrast(np.array([0.02, 0.5, 0.9]), np.array([0.001, 0.05, 1.0]))
    assert both.worst(0.01) == (0.5, 0.05, (1,))
    assert both.worst(1e-30) == (0.02, 0.001, (0,))  # only the most significant is rejected
    assert Contrast(np.array([0.02, 0.5]), np.array([0.01, 0.5])).worst(0.01) == (0.02, 0.01, (0,))  # none is


def test_the_command_refuses_fixed_x_knockoffs(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame(RNG(0).standard_normal((50, 3)), columns=list("abc")).to_csv(path, index=False)
    table, settings = TableOptions(path), {"out": None, "seed": 0, "force": False}
    with pytest.raises(ValueError, match=r"fixed-X knockoffs match Gram matrices.*tests do not apply"):
        command.run(table, TargetOptions(), FixedXKnockoffs(), **settings)
    assert command.run(table, TargetOptions(), GaussianKnockoffs(), **settings).p == 3


def test_p_values_of_the_parts_are_valid():
    """300 replicates of exact knockoffs of t-distributed columns (3 degrees of freedom): P(p-value <= 0.1) <= 0.1 for each.

    Bound: 53 of 300, exceeded with probability below 2e-5 at a true rate of 0.1; five parts: 1e-4. Broken twin: knockoffs
    50 % too large.
    """
    rng, replicates = RNG(5), 300
    bound = binom.isf(2e-5, replicates, 0.1)
    counts, broken = np.zeros(5, dtype=int), 0
    for _ in range(replicates):
        X, Xk, _ = exact(120, 3, rng)
        X, Xk = student(3).ppf(norm.cdf(X)), student(3).ppf(norm.cdf(Xk))
        pairs = Pairs.standardised(X, Xk)
        sets = swap_sets(Units.single(3), 2, rng)
        counts += np.array(
            [
                mean_contrast(pairs).p_value() <= 0.1,
                covariance_contrast(pairs).p_value() <= 0.1,
                cross_covariance_contrast(pairs, Units.single(pairs.X.shape[1])).p_value() <= 0.1,
                marginal_contrast(pairs).p_value() <= 0.1,
                classifier_test(pairs, sets[1], rng)[1] <= 0.1,
            ]
        )
        broken += classifier_test(Pairs.standardised(X, 1.5 * Xk), sets[0], rng)[1] <= 0.1
    assert counts.max() <= bound
    assert broken > bound


def test_energy_test_is_exact(monkeypatch):
    """200 replicates at level 0.1: at most 41, exceeded with probability below 1e-5; a shifted twin is detected more often."""
    monkeypatch.setattr("grip2.knockoffs.exchangeability._ENERGY_FLIPS", 99)
    rng = RNG(6)
    every = np.ones(3, dtype=bool)
    count = shifted = 0
    for _ in range(200):
        X, Xk, _ = exact(60, 3, rng)
        count += energy_test(Pairs.standardised(X, Xk), every, rng)[1] <= 0.1
        shifted += energy_test(Pairs.standardised(X, Xk + 0.5), every, rng)[1] <= 0.1
    assert count <= binom.isf(1e-5, 200, 0.1)
    assert shifted > binom.isf(1e-5, 200, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_false_alarm_rate(rate):
    """1,000 replicates of exact knockoffs (n = 200, p = 6, all four s in turn): rejections at most at the stated rate.

    Bound: the binomial quantile that a true rate of exactly ``rate`` exceeds with probability 1e-5.
    """
    rng, replicates = RNG(8), 1000
    solvers = ["equi", "sdp", "mvr", "maxent"]
    alarms = 0
    for replicate in range(replicates):
        X, Xk, _ = exact(200, 6, rng, solvers[replicate % 4])
        alarms += bool(flagged(diagnose(X, Xk, false_alarm_rate=rate, rng=rng)))
    print(f"false-alarm rate at {rate}: {alarms / replicates:.3f}")
    assert alarms <= binom.isf(1e-5, replicates, rate)


@pytest.mark.slow
def test_broken_knockoffs_exceed_the_false_alarm_rate():
    """The twin of the test above: knockoffs that are 20 % too small, 100 replicates at rate 0.2."""
    rng = RNG(9)
    alarms = 0
    for _ in range(100):
        X, Xk, _ = exact(400, 6, rng)
        alarms += bool(flagged(diagnose(X, 0.8 * Xk, false_alarm_rate=0.2, rng=rng)))
    assert alarms > binom.isf(1e-5, 100, 0.2)


@pytest.mark.parametrize(
    ("X", "Xk", "settings", "message"),
    [
        (np.eye(5), np.eye(4), {}, "one shape"),
        (np.eye(3), np.eye(3), {}, "at least 4 rows"),
        (np.eye(9)[:, :2] * [1, 0], np.ones((9, 2)), {}, "a constant column 1. Drop it"),
        (np.eye(5), np.eye(5), {"feature_names": ["a"]}, "hold 5 names"),
        (np.eye(5), np.eye(5), {"false_alarm_rate": 2.0}, "false_alarm_rate must be in"),
        (np.ones((9, 2)), np.ones((9, 2)), {}, "got constant columns 0, 1. Drop them"),
        (np.full((9, 2), np.nan), np.eye(9)[:, :2], {}, "X must be finite"),
        (np.eye(9)[:, :2], np.full((9, 2), np.nan), {}, "Xk must be finite"),
    ],
)
def test_bad_input(X, Xk, settings, message):
    with pytest.raises(ValueError, match=f"diagnose: .*{message}"):
        diagnose(X, Xk, **settings)


def test_the_verdict_rests_on_simulated_rates():
    """A small error that many rows reveal does no harm; a wrong model of the dependence does, and the record says how much."""
    rng = RNG(10)
    X = normal_rows(20_000, ar1(12, 0.5), rng)
    Xk = GaussianKnockoffs(np.zeros(12), ar1(12, 0.5)).fit(X).sample(X, rng=rng)
    slightly_wrong = diagnose(X, np.where(np.arange(12) == 3, 1.045, 1.0) * Xk)
    assert "covariance" in flagged(slightly_wrong)
    assert slightly_wrong.verdict == "good"
    assert slightly_wrong.estimated_fdr is not None
    assert slightly_wrong.estimated_fdr["0.1"] < 0.12
    # Two populations whose columns have correlations of opposite sign.
    one, alternate = rng.random(800) < 0.5, np.where(np.arange(20) % 2, 1.5, -1.5)
    X = np.where(
        one[:, None], normal_rows(800, ar1(20, 0.8), rng) + 1.5, normal_rows(800, ar1(20, -0.5), rng) - alternate
    )
    broken = diagnose(X, GaussianKnockoffs().fit(X).sample(X, rng=rng, copies=3))
    assert broken.verdict == "do not trust"
    assert "the level is not kept" in broken.reasons[0]
    record = json.loads(broken.to_json())
    assert record["estimated_fdr"]["0.2"] == max(r["fdr"] for r in record["simulated"]["rates"] if r["level"] == 0.2)


def test_copies_and_units():
    rng = RNG(11)
    X = normal_rows(500, ar1(12, 0.6), rng)
    labels = [j // 2 for j in range(12)]
    copies = CopulaKnockoffs().fit(X, groups=labels).sample(X, rng=rng, copies=3)
    found = diagnose(X, copies, units=labels)
    assert found.verdict == "good"
    assert found.harm is not None
    assert (found.harm.copies, found.harm.units) == (3, 6)
    # Columns of a unit need not be exchangeable one by one: without units the same knockoffs are wrong.
    assert "cross-covariance" in flagged(diagnose(X, copies))
    with pytest.raises(ValueError, match="one label for each of the 12 columns"):
        diagnose(X, copies, units=["a"])
    with pytest.raises(ValueError, match="one shape"):
        diagnose(X, copies[:, :100])
