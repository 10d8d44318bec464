"""Gaussian knockoffs: moments of (X, Xk), repairs, reuse of factorisations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from grip2.knockoffs import GaussianKnockoffs, NumericalRepairWarning, conditional
from grip2.knockoffs.conditional import jittered_cholesky
from tests.knockoffs.cases import (
    ar1,
    duplicated,
    joint,
    largest_z,
    law_of,
    normal_rows,
    scaled,
    uneven,
    with_transposed_factor,
    z_bound,
)

P = 8
N = 40_000
# 136 second moments of 40,000 rows: the largest error exceeds 5.4 standard errors in one of 100,000 runs.
BOUND = z_bound(2 * P)
SOLVER = pytest.mark.parametrize("s", ["equi", "sdp", "mvr", "maxent"])


def known(Sigma: np.ndarray, s: str, X: np.ndarray) -> GaussianKnockoffs:
    return GaussianKnockoffs(mean=np.zeros(len(Sigma)), covariance=Sigma, s=s).fit(X)


@SOLVER
def test_moments(s):
    """One draw of 40,000 rows; bound above; false-alarm rate 1e-5."""
    rng = np.random.default_rng(1)
    Sigma = scaled(uneven(P))
    X = normal_rows(N, Sigma, rng)
    sampler = known(Sigma, s, X)
    Xk = sampler.sample(X, rng=rng)
    assert largest_z(np.hstack([X, Xk]), joint(Sigma, sampler.s_)) < BOUND


def broken_noise(sampler, X, Xk, rng):
    return with_transposed_factor(sampler, X, rng)


def broken_order(sampler, X, Xk, rng):
    return np.roll(Xk, 1, axis=1)


def broken_variance(sampler, X, Xk, rng):
    """M = S - S Sigma^-1 S: the factor 2 forgotten."""
    A = law_of(sampler).A
    M = np.diag(sampler.s_) - sampler.s_[:, None] * A
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return X - X @ A + rng.standard_normal(X.shape) @ (vectors * np.sqrt(np.maximum(values, 0))).T


def broken_copy(sampler, X, Xk, rng):
    return X.copy()


def broken_independence(sampler, X, Xk, rng):
    return Xk[rng.permutation(len(Xk))]


@pytest.mark.parametrize("broken", [broken_noise, broken_order, broken_variance, broken_copy, broken_independence])
def test_moments_detect_broken_twins(broken):
    rng = np.random.default_rng(1)
    Sigma = uneven(P)
    X = normal_rows(N, Sigma, rng)
    # s = "equi": M is far from diagonal. With "mvr" it is nearly diagonal, and a transposed factor is a small error.
    sampler = known(Sigma, "equi", X)
    Xk = broken(sampler, X, sampler.sample(X, rng=rng), rng)
    assert largest_z(np.hstack([X, Xk]), joint(Sigma, sampler.s_)) > 2 * BOUND


def test_mean_is_kept_and_estimated():
    """Largest of 8 means of 40,000 rows in standard errors; bound 5.1, false-alarm rate 3e-6."""
    rng = np.random.default_rng(2)
    Sigma = uneven(P)
    X = normal_rows(N, Sigma, rng, mean=50.0)
    for sampler in (GaussianKnockoffs(np.full(P, 50.0), Sigma), GaussianKnockoffs()):
        Xk = sampler.fit(X).sample(X, rng=rng)
        assert np.abs(Xk.mean(axis=0) - 50).max() * np.sqrt(N) < 5.1


def test_estimated_covariance():
    rng = np.random.default_rng(3)
    X = normal_rows(N, uneven(P), rng)
    sampler = GaussianKnockoffs().fit(X)
    assert sampler.shrinkage_ == 0.0
    np.testing.assert_allclose(sampler.covariance_, np.cov(X.T), rtol=1e-10)
    shrunk = GaussianKnockoffs(shrinkage="ledoit_wolf").fit(X)
    assert 0 < shrunk.shrinkage_ < 0.01
    np.testing.assert_allclose(shrunk.covariance_, np.cov(X.T), atol=0.01)
    Xk = sampler.sample(X, rng=rng)
    assert largest_z(np.hstack([X, Xk]), joint(sampler.covariance_, sampler.s_)) < BOUND


@SOLVER
def test_singular_covariance_is_repaired_with_one_warning(s):
    rng = np.random.default_rng(4)
    X = normal_rows(200, ar1(6, 0.5), rng)
    X[:, 1] = X[:, 0]
    with pytest.warns(NumericalRepairWarning) as caught:
        sampler = GaussianKnockoffs(np.zeros(6), duplicated(6), s=s).fit(X)
    assert len([w for w in caught if "ridge" in str(w.message)]) == 1
    assert sampler.ridge_ > 0
    assert any("ridge" in text for text in sampler.assumptions())
    Xk = sampler.sample(X, rng=rng)
    assert np.isfinite(Xk).all()
    np.testing.assert_allclose(Xk[:, :2], X[:, :2], atol=1e-2)


@SOLVER
@pytest.mark.parametrize("Sigma", [ar1(50, 0.5), ar1(50, 0.99), uneven(30), scaled(uneven(30))])
def test_regular_covariances_need_no_repair(s, Sigma):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = known(Sigma, s, np.zeros((2, len(Sigma))))
        assert np.all(sampler.s_ >= 0)  # solves and factorises
    assert sampler.ridge_ == sampler.jitter_ == 0.0


def test_jitter_grows_tenfold_and_warns():
    vector = np.array([1.0, 2.0, 3.0])
    slightly_negative = np.outer(vector, vector) - 3e-9 * np.diag(vector**2)
    with pytest.warns(NumericalRepairWarning, match="jitter of 1e-08 times each conditional variance"):
        C, jitter = jittered_cholesky(slightly_negative, who="T")
    assert jitter == pytest.approx(1e-8)
    np.testing.assert_allclose(C @ C.T, np.outer(vector, vector), atol=1e-7)
    with pytest.raises(ValueError, match="not even after a jitter"):
        jittered_cholesky(np.diag([1.0, 1.0]) + 2 * np.eye(2)[::-1], who="T")


def test_given_s_may_hold_zeros():
    rng = np.random.default_rng(5)
    Sigma = ar1(4, 0.5)
    X = normal_rows(100, Sigma, rng)
    sampler = GaussianKnockoffs(np.zeros(4), Sigma, s=np.array([0.0, 0.2, 0.0, 0.3])).fit(X)
    Xk = sampler.sample(X, rng=rng)
    np.testing.assert_allclose(Xk[:, [0, 2]], X[:, [0, 2]], atol=1e-12)
    assert np.abs(Xk - X)[:, [1, 3]].min() > 0


def test_many_draws_cost_one_factorisation(monkeypatch):
    calls = []
    original = conditional.jittered_cholesky
    monkeypatch.setattr(conditional, "jittered_cholesky", lambda *a, **k: calls.append(1) or original(*a, **k))
    rng = np.random.default_rng(0)
    X = normal_rows(50, ar1(5, 0.5), rng)
    sampler = GaussianKnockoffs().fit(X)
    assert not calls
    for _ in range(5):
        sampler.sample(X, rng=rng)
    assert len(calls) == 1
    for _ in range(5):
        sampler.sample(X, rng=rng, copies=3)
        sampler.s_for(3)
    assert len(calls) == 2


@pytest.mark.parametrize("copies", [1, 3])
def test_a_block_boundary_leaves_no_trace(monkeypatch, copies):
    X = normal_rows(1000, ar1(4, 0.5), np.random.default_rng(0))
    sampler = GaussianKnockoffs().fit(X)
    whole = sampler.sample(X, rng=np.random.default_rng(1), copies=copies)
    monkeypatch.setattr("grip2.knockoffs.base._BLOCK_BYTES", 1)
    blocks = sampler.sample(X, rng=np.random.default_rng(1), copies=copies)
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"covariance": np.eye(3)}, "covariance must be 4 x 4"),
        ({"mean": np.zeros(3)}, "mean must hold 4 values"),
        ({"mean": np.array([0.0, np.nan, 0.0, 0.0])}, "mean must hold finite numbers"),
        ({"covariance": np.eye(4) + np.eye(4, k=1) / 2}, "covariance: must be symmetric"),
        ({"s": "best"}, "s must be one of"),
        ({"shrinkage": "none"}, "shrinkage must be one of 'least', 'numerical', 'ledoit_wolf', got 'none'"),
    ],
)
def test_errors_say_what_to_do(settings, message):
    X = normal_rows(50, ar1(4, 0.5), np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"GaussianKnockoffs: .*{message}"):
        GaussianKnockoffs(**settings).fit(X)


def test_assumptions_name_what_was_estimated():
    X = normal_rows(50, ar1(4, 0.5), np.random.default_rng(0))
    exact = " ".join(GaussianKnockoffs(np.zeros(4), ar1(4, 0.5)).fit(X).assumptions())
    assert "exactly the one given" in exact
    assert "estimated" not in exact
    plain = " ".join(GaussianKnockoffs().fit(X).assumptions())
    assert "covariance was estimated from the same rows, without shrinkage" in plain
    shrunk = " ".join(GaussianKnockoffs(shrinkage="ledoit_wolf").fit(X).assumptions())
    assert "nulls next to strong features look like discoveries" in shrunk
