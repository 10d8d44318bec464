"""False discovery rate with cheap statistics: the guarantee itself, over fresh data sets.

300 replicates each. Bound: mean of the false discovery proportion at most q plus 4 standard errors, which an exact procedure at
level q exceeds with probability 3e-5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from grip2.filter import knockoff_threshold
from grip2.knockoffs import CopulaKnockoffs, FixedXKnockoffs, GaussianKnockoffs
from tests.knockoffs.cases import ar1, normal_rows

REPLICATES, N, P, SIGNALS, RHO = 300, 500, 60, 20, 0.5
LEVELS = (0.1, 0.2)


def marginal(X: np.ndarray, Xk: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Difference of absolute correlations with the response: null neighbours of signals have large ones."""
    y = y - y.mean()
    size = np.linalg.norm(X - X.mean(axis=0), axis=0), np.linalg.norm(Xk - Xk.mean(axis=0), axis=0)
    return np.abs(y @ X) / size[0] - np.abs(y @ Xk) / size[1]


def least_squares(X: np.ndarray, Xk: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Difference of absolute coefficients of standardised columns; depends on Gram matrices only."""
    both = np.hstack([X, Xk])
    both = (both - both.mean(axis=0)) / both.std(axis=0)
    # A small ridge: sdp and equi make [X, Xk] singular.
    size = np.abs(np.linalg.solve(both.T @ both + 1e-3 * len(y) * np.eye(2 * P), both.T @ (y - y.mean())))
    return size[:P] - size[P:]


def simulate(
    make: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]],
    statistic: Callable,
    seed: int,
    signs: tuple[float, ...] = (-1.0, 1.0),
) -> tuple[dict[float, tuple[float, float]], float]:
    """Mean and standard error of the false discovery proportion at each level, and power at the last."""
    rng = np.random.default_rng(seed)
    proportions: dict[float, list[float]] = {q: [] for q in LEVELS}
    found = []
    for _ in range(REPLICATES):
        X, Xk = make(rng)
        truth = rng.permutation(P) < SIGNALS
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        y = Z[:, truth] @ (0.25 * rng.choice(signs, SIGNALS)) + rng.standard_normal(len(X))
        W = statistic(X, Xk, y)
        for q in LEVELS:
            selected = knockoff_threshold(W, q) <= W
            proportions[q].append(np.count_nonzero(selected & ~truth) / max(1, np.count_nonzero(selected)))
        found.append(np.count_nonzero(selected & truth) / SIGNALS)
    summary = {q: (float(np.mean(v)), float(np.std(v) / np.sqrt(REPLICATES))) for q, v in proportions.items()}
    return summary, float(np.mean(found))


def assert_controlled(result: tuple[dict[float, tuple[float, float]], float], least_power: float = 0.2) -> None:
    summary, power = result
    print({q: f"{mean:.3f} +- {error:.3f}" for q, (mean, error) in summary.items()}, f"power {power:.2f}")
    for q, (mean, error) in summary.items():
        assert mean <= q + 4 * error
    assert power > least_power  # a test without discoveries shows nothing


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [marginal, least_squares])
@pytest.mark.parametrize("s", ["equi", "sdp", "mvr", "maxent"])
def test_exact_gaussian_knockoffs(s, statistic):
    Sigma = ar1(P, RHO)
    sampler = GaussianKnockoffs(np.zeros(P), Sigma, s=s).fit(np.zeros((2, P)))

    def make(rng):
        X = normal_rows(N, Sigma, rng)
        return X, sampler.sample(X, rng=rng)

    assert_controlled(simulate(make, statistic, seed=1), least_power=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [marginal, least_squares])
def test_copula_knockoffs_of_heavy_tails(statistic):
    """t distribution with 5 degrees of freedom, Gaussian copula; marginal distributions and correlations estimated."""

    def make(rng):
        X = student(5).ppf(norm.cdf(normal_rows(N, ar1(P, RHO), rng)))
        return X, CopulaKnockoffs().fit(X).sample(X, rng=rng)

    assert_controlled(simulate(make, statistic, seed=2), least_power=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [marginal, least_squares])
@pytest.mark.parametrize("Sampler", [CopulaKnockoffs, GaussianKnockoffs])
def test_estimated_correlations_and_signals_of_one_sign(Sampler, statistic):
    """AR(1) 0.7 and signals that add up in their neighbours: the hardest case for estimated correlations."""

    def make(rng):
        X = normal_rows(N, ar1(P, 0.7), rng)
        return X, Sampler().fit(X).sample(X, rng=rng)

    assert_controlled(simulate(make, statistic, seed=6, signs=(1.0,)), least_power=0.1)


@pytest.mark.slow
def test_shrunk_correlations_lose_control_with_signals_of_one_sign():
    """The broken twin of the test above: Ledoit-Wolf plus 0.01 makes knockoffs that are too little correlated with neighbours."""

    def make(rng):
        X = normal_rows(N, ar1(P, 0.7), rng)
        return X, CopulaKnockoffs(shrinkage="ledoit_wolf").fit(X).sample(X, rng=rng)

    (summary, _), q = simulate(make, marginal, seed=6, signs=(1.0,)), 0.2
    mean, error = summary[q]
    print(f"Ledoit-Wolf plus 0.01: {mean:.3f} +- {error:.3f}")
    assert mean > q + 4 * error


def spiked(discrete: str) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    """60 % zeros, the rest continuous."""

    def make(rng):
        X = np.maximum(normal_rows(N, ar1(P, 0.7), rng) - norm.ppf(0.6), 0)
        return X, CopulaKnockoffs(discrete=discrete).fit(X).sample(X, rng=rng)

    return make


@pytest.mark.slow
def test_copula_knockoffs_of_spiked_columns():
    """Effects of one sign: the latent scores of the zeros keep their dependence.

    Least squares only: the marginal correlation has a power of 0.01 here, so controlling its rate would show nothing.
    """
    assert_controlled(simulate(spiked("latent"), least_squares, seed=8, signs=(1.0,)), least_power=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [marginal, least_squares])
def test_random_ranks_of_spiked_columns_lose_control(statistic):
    """The broken twin of the test above."""
    (summary, _), q = simulate(spiked("ranks"), statistic, seed=8, signs=(1.0,)), 0.2
    mean, error = summary[q]
    print({q: f"{mean:.3f} +- {error:.3f}" for q, (mean, error) in summary.items()})
    assert mean > q + 4 * error


@pytest.mark.slow
def test_copula_knockoffs_of_binary_columns():
    """0/1 columns with a Gaussian copula: the latent scores keep their dependence."""

    def make(rng):
        X = (normal_rows(N, ar1(P, RHO), rng) > 0).astype(float)
        return X, CopulaKnockoffs().fit(X).sample(X, rng=rng)

    assert_controlled(simulate(make, marginal, seed=3), least_power=0.1)


@pytest.mark.slow
def test_fixed_x_knockoffs():
    def make(rng):
        X = normal_rows(N, ar1(P, RHO), rng)
        return X, FixedXKnockoffs(s="sdp").fit(X).sample(X, rng=rng)

    assert_controlled(simulate(make, least_squares, seed=4), least_power=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["other rows", "random columns"])
def test_broken_knockoffs_lose_control(broken):
    """The simulation detects copies that are not valid knockoffs: shuffled rows, or independent columns."""
    Sigma = ar1(P, RHO)
    sampler = GaussianKnockoffs(np.zeros(P), Sigma).fit(np.zeros((2, P)))

    def make(rng):
        X = normal_rows(N, Sigma, rng)
        if broken == "other rows":
            return X, rng.permutation(sampler.sample(X, rng=rng))
        return X, rng.standard_normal(X.shape)

    (summary, _), q = simulate(make, marginal, seed=5), 0.2
    mean, error = summary[q]
    assert mean > q + 4 * error
