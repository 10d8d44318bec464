"""Knockoffs of tables with more columns than rows: the factored matrices against dense ones, moments of all members."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from grip2 import KnockoffSelector
from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs, diagnose, diagnostics
from grip2.knockoffs import wide as module
from grip2.knockoffs.conditional import ConditionalGaussian
from grip2.knockoffs.covariance import scatter, shrink
from grip2.knockoffs.s_matrix import ceiling_of, equicorrelated
from grip2.knockoffs.wide import WideCorrelation, WideGaussian

RNG = np.random.default_rng


def rows(n=12, p=40, seed=0):
    rng = RNG(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))


def test_the_matrix_is_that_of_the_dense_estimate():
    Z = rows()
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    found = WideCorrelation.of(Z, 0.02)
    dense, weight = shrink(scatter([Z]), 0.02)
    root = np.sqrt(np.diag(dense))
    assert found.shrinkage == pytest.approx(weight)
    np.testing.assert_allclose(found.dense(), dense / root[:, None] / root, atol=1e-10)
    X = RNG(1).standard_normal((3, 40))
    np.testing.assert_allclose(found.solved(X), X @ np.linalg.inv(found.dense()), atol=1e-8)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("solver", ["mvr", "maxent", "equi"])
def test_s_is_the_best_of_one_for_all_columns(solver, copies):
    """Against a grid, with dense matrices; S and (m + 1)/m R - S are positive semidefinite."""
    found = WideCorrelation.of(rows())
    R, c, p = found.dense(), ceiling_of(copies), 40
    s = found.best_s(solver, copies)
    assert np.linalg.eigvalsh(c * R - s * np.eye(p))[0] >= -1e-9

    def criterion(s):
        D = c * R - s * np.eye(p)
        if solver == "mvr":
            return copies**2 * p / s + np.trace(np.linalg.inv(D))
        return -copies * p * np.log(s) - np.linalg.slogdet(D)[1]

    if solver == "equi":
        assert s == pytest.approx(equicorrelated(R, copies=copies)[0], rel=1e-6)
    else:
        grid = np.linspace(0.02, 0.98, 97) * min(1, c * found.shrinkage)
        assert criterion(s) <= min(criterion(one) for one in grid) + 1e-6


@pytest.mark.parametrize("copies", [1, 2])
def test_the_law_is_that_of_dense_matrices(copies):
    """Mean and root of the covariance: the same normal numbers give rows with the same first two moments, exactly."""
    found = WideCorrelation.of(rows())
    s, p = found.best_s("mvr", copies), 40
    law = WideGaussian(found, s, copies)
    dense = ConditionalGaussian(np.zeros(p), found.dense(), np.full(p, s), copies=copies, who="test")
    X = RNG(2).standard_normal((5, p))

    class Still:
        """Normal numbers that are all zero, or of which one is not."""

        def __init__(self, place=None):
            self.place = place

        def standard_normal(self, shape, dtype=float):
            noise = np.zeros(shape)
            if self.place is not None:
                noise[0, 0, self.place] = 1.0
            return noise

    mean = law.draw(X, Still())
    np.testing.assert_allclose(mean, dense.draw(X, Still()), atol=1e-8)
    root = np.stack([(law.draw(X, Still(j)) - mean)[0, 0] for j in range(p)])
    np.testing.assert_allclose(root.T @ root, dense.C @ dense.C.T, atol=1e-7)


@pytest.mark.parametrize("broken", [False, True])
def test_moments_of_all_members(broken, monkeypatch):
    """20,000 rows of a known factor model, two copies: no entry of the covariance of all 90 columns differs from the exact one
    by more than 6 standard errors (4,000 entries: false alarms below 1e-5). A twin whose noise forgets what lies across the
    factors fails."""
    found = WideCorrelation.of(rows(8, 30))
    p, n, copies = 30, 20_000, 2
    R, s = found.dense(), found.best_s("mvr", copies)
    X = RNG(3).standard_normal((n, p)) @ np.linalg.cholesky(R).T
    law = WideGaussian(found, s, copies)
    if broken:
        law._across = 0.0
    members = np.hstack([X, *law.draw(X, RNG(4))])
    exact = np.kron(np.ones((3, 3)), R) - np.kron(np.ones((3, 3)) - np.eye(3), s * np.eye(p))
    error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / n)
    worst = np.max(np.abs(members.T @ members / n - exact) / error)
    assert (worst > 6) == broken


def test_missing_values_are_drawn_from_their_conditional():
    """4,000 draws of two values of one row: mean and covariance within 5 standard errors (5 numbers: 3e-6)."""
    found = WideCorrelation.of(rows(8, 20))
    R, x = found.dense(), RNG(5).standard_normal(20)
    missing = np.isin(np.arange(20), [3, 11])
    weight = np.linalg.solve(R[np.ix_(~missing, ~missing)], R[np.ix_(~missing, missing)])
    mean, covariance = (
        x[~missing] @ weight,
        R[np.ix_(missing, missing)] - R[np.ix_(missing, ~missing)] @ weight,
    )
    drawn = found.completed(np.tile(np.where(missing, np.nan, x), (4000, 1)), RNG(6))
    assert np.array_equal(drawn[:, ~missing], np.tile(x[~missing], (4000, 1)))
    z = (drawn[:, missing].mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / 4000)
    assert np.abs(z).max() < 5
    np.testing.assert_allclose(np.cov(drawn[:, missing].T), covariance, atol=5 * 1.5 * covariance.max() / np.sqrt(4000))


@pytest.fixture
def narrow(monkeypatch):
    """Tables of 30 columns count as wide."""
    monkeypatch.setattr(module, "WIDE", 20)


def test_copula_knockoffs_of_a_wide_table(narrow):
    X = np.exp(rows(25, 60))
    X[:, 5] = X[:, 5] > np.median(X[:, 5])
    sampler = CopulaKnockoffs().fit(X)
    assert isinstance(sampler._laws, module.WideLaws)
    Xk = sampler.sample(X, rng=RNG(0), copies=2)
    assert Xk.shape == (2, 25, 60)
    assert set(np.unique(Xk[:, :, 5])) == {0.0, 1.0}
    assert sampler.covariance_.shape == (60, 60)
    assert sampler.s_.shape == (60,)
    assert 0 < sampler.own_correlation(2)[0] < 1
    assert any("one s" in text for text in sampler.assumptions())
    np.testing.assert_array_equal(sampler.sample(X, rng=RNG(0), copies=2), Xk)


def test_missing_values_of_a_wide_table(narrow):
    X = rows(25, 60)
    holes = RNG(0).random(X.shape) < 0.1
    X[holes] = np.nan
    sampler = CopulaKnockoffs().fit(X)
    completed = sampler.complete(X, rng=RNG(1))
    assert np.isfinite(completed).all()
    np.testing.assert_array_equal(completed[~holes], X[~holes])
    assert (sampler.complete(X, rng=RNG(2)) != completed)[holes].mean() > 0.9


def test_given_s_is_refused(narrow):
    with pytest.raises(Grip2Error, match="name of a solver"):
        CopulaKnockoffs(s=np.full(60, 0.1)).fit(rows(25, 60))


def test_some_rows_of_the_matrix_are_those_of_the_dense_one():
    found = WideCorrelation.of(rows())
    np.testing.assert_allclose(found.rows(np.array([3, 0, 7])), found.dense()[[3, 0, 7]], atol=1e-12)


def test_a_wide_selection_and_its_diagnosis_need_no_matrix_of_all_pairs(monkeypatch):
    """From table to result and to verdict, with the dense matrix out of reach; which column a unit resembles is told."""
    monkeypatch.setattr(module, "WIDE", 20)
    monkeypatch.setattr(diagnostics, "_MOST_COMPARED", 30)

    def refused(self):
        raise AssertionError("p x p matrix")

    rng = RNG(5)
    X = rows(40, 60)
    X[:, 7] = X[:, 3] + 0.01 * rng.standard_normal(40)
    y = X[:, 0] - X[:, 9] + rng.standard_normal(40)
    exact = CopulaKnockoffs().fit(X).correlations_of(np.arange(60))
    monkeypatch.setattr(WideCorrelation, "dense", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = KnockoffSelector("lcd", "copula", random_state=0).fit(X, y).result_
    limiting = {unit.name: unit for unit in result.knockoff_quality.limiting}
    assert limiting
    for name, unit in limiting.items():
        j = result.feature_names.index(name)
        others = np.abs(exact[j]) * (np.arange(60) != j)
        assert unit.resembles == result.feature_names[int(others.argmax())]
        assert unit.resemblance == pytest.approx(others.max(), abs=1e-4)
    sampler = CopulaKnockoffs().fit(X)
    Xk = sampler.sample(X, rng=RNG(1))
    steps = []
    found = diagnose(X, Xk, rng=RNG(2), progress=lambda *at: steps.append(at))
    assert found.columns_compared == 30
    assert "30 of 60 columns, drawn at random" in found.reasons[-1]
    assert len(found.ks) == len(found.correlation) == 60
    assert found.condition_number == found.joint_condition_number == np.inf
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len(steps) > 4
    swapped = Xk.copy()
    swapped[:, ::2] = Xk[:, 1::2]
    assert any(test.rejected for test in diagnose(X, 3 * swapped, rng=RNG(2)).tests)
