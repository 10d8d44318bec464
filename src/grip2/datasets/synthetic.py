"""Simulated tables with known relevant features: the paper's sine index model (section 4.1) and the demo's interactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2._random import RandomState, generator_from
from grip2.errors import Grip2Error


@dataclass(frozen=True)
class SimulatedTable:
    """A table, its response, the features it depends on, and the true covariance of the rows (for exact knockoffs)."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,)
    support: np.ndarray  # indices of the features that y depends on
    covariance: np.ndarray  # (p, p)
    signal: np.ndarray  # (n,) the noiseless mean of y


def make_ar1(
    n: int = 20_000,
    p: int = 500,
    rho: float = 0.8,
    snr: float = 0.2,
    *,
    spacing: int = 5,
    coefficients: RandomState = 0,
    random_state: RandomState = None,
) -> SimulatedTable:
    """The paper's synthetic experiment: ``Y = sin(X'beta / sqrt|S|) + noise``, X normal with AR(1) covariance.

    Every ``spacing``-th feature is in the support S, so each has highly correlated null neighbours, and ``beta_S ~ N(0, I)``.
    The noise variance is set so that ``Var(signal) / sigma^2 = snr`` on the simulated rows.

    ``coefficients`` seeds beta, ``random_state`` seeds X and the noise: "we fix the support S and coefficient vector beta
    across trials, while resampling X and the noise".
    """
    check_shape(n, p, rho, snr)
    support = np.arange(0, p, spacing)
    beta = generator_from(coefficients).standard_normal(len(support))
    for_rows, for_noise = generator_from(random_state).spawn(2)
    X = ar1_rows(n, p, rho, for_rows)
    signal = np.sin(X[:, support] @ beta / np.sqrt(len(support)))
    return with_noise(X, signal, support, rho, snr, for_noise)


def make_hidden_interactions(
    n: int = 4000,
    p: int = 100,
    rho: float = 0.3,
    snr: float = 2.0,
    *,
    n_signals: int = 20,
    random_state: RandomState = None,
) -> SimulatedTable:
    """A signal without linear effects: half of the support enters as absolute values, half as products of pairs.

    Each term is uncorrelated with every feature, so a lasso cannot find it. The support and the weights are random.
    """
    check_shape(n, p, rho, snr)
    if n_signals % 4 or n_signals > p:
        raise Grip2Error(
            f"make_hidden_interactions: n_signals must be a multiple of 4 and at most p = {p}, got {n_signals}."
        )
    for_truth, for_rows, for_noise = generator_from(random_state).spawn(3)
    X = ar1_rows(n, p, rho, for_rows)
    chosen = for_truth.choice(p, n_signals, replace=False)
    half = n_signals // 2
    absolute, left, right = chosen[:half], chosen[half : half + half // 2], chosen[half + half // 2 :]
    weights = for_truth.choice([-1.0, 1.0], half) * for_truth.uniform(0.8, 1.2, half)
    signal = np.abs(X[:, absolute]) @ weights * np.sqrt(1 / (1 - 2 / np.pi))
    signal += (X[:, left] * X[:, right]) @ (np.sqrt(2.0) * weights[: half // 2])
    return with_noise(X, signal, np.sort(chosen), rho, snr, for_noise)


def ar1_covariance(p: int, rho: float) -> np.ndarray:
    """``Sigma_ij = rho^|i - j|``."""
    lags = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    return float(rho) ** lags


def ar1_rows(n: int, p: int, rho: float, rng: np.random.Generator) -> np.ndarray:
    """Independent rows from N(0, Sigma) with AR(1) covariance, generated column by column."""
    X = rng.standard_normal((n, p))
    step = np.sqrt(1 - rho**2)
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + step * X[:, j]
    return X


def with_noise(
    X: np.ndarray, signal: np.ndarray, support: np.ndarray, rho: float, snr: float, rng: np.random.Generator
) -> SimulatedTable:
    """The table with Gaussian noise added to the signal, scaled to the signal-to-noise ratio ``snr``."""
    sigma = np.sqrt(signal.var() / snr)
    y = signal + sigma * rng.standard_normal(len(X))
    return SimulatedTable(X, y, support, ar1_covariance(X.shape[1], rho), signal)


def check_shape(n: int, p: int, rho: float, snr: float) -> None:
    """Raise unless the parameters shared by all simulators are in range."""
    if n < 2 or p < 2:
        raise Grip2Error(f"n and p must be at least 2, got n={n}, p={p}.")
    if not -1 < rho < 1:
        raise Grip2Error(f"rho must be in (-1, 1), got {rho}.")
    if not snr > 0:
        raise Grip2Error(f"snr must be positive, got {snr}.")
