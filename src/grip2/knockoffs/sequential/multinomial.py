"""Multinomial logistic regression of a category on predictors.

The link is the canonical one: over the fitted rows, expected products of every indicator with every predictor equal the
observed ones, up to the small ridge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from grip2.knockoffs.sequential.tilt import interval, probabilities

_MAX_STEPS = 300
# The search begins with about so many of the rows, for so many steps.
_START_ROWS, _START_STEPS = 4_000, 100
# It ends when every expected product is about this close to the observed one, in standard errors.
_SETTLED = 0.02


@dataclass(frozen=True, eq=False)
class CategoryLaw:
    """The distribution of the level of a category in some rows."""

    cumulative: np.ndarray  # (rows, levels) cumulative probabilities
    mean: np.ndarray  # (rows, levels - 1): of the indicators

    @property
    def variance(self) -> np.ndarray:
        return np.asarray(np.mean(self.mean * (1 - self.mean), axis=0))

    def quantiles(self, values: np.ndarray, v: np.ndarray) -> np.ndarray:
        low, high = interval(self.cumulative, levels_of(values))
        return np.asarray(low + v * (high - low))

    def draw(self, u: np.ndarray) -> np.ndarray:
        levels = self.cumulative.shape[1]
        level = np.minimum((self.cumulative < u[:, None]).sum(axis=1), levels - 1)
        return np.asarray(level[:, None] == np.arange(1, levels), dtype=float)


@dataclass(frozen=True, eq=False)
class CategoryModel:
    """The fitted regression: an intercept (levels,) and a column of slopes (predictors, levels) for every level."""

    intercepts: np.ndarray
    slopes: np.ndarray

    def given(self, Z: np.ndarray) -> CategoryLaw:
        P, _ = probabilities(self.intercepts + Z @ self.slopes)
        return CategoryLaw(np.cumsum(P, axis=1), P[:, 1:])


def levels_of(indicators: np.ndarray) -> np.ndarray:
    """The level that 0/1 columns stand for; 0 is the reference."""
    return np.where(indicators.max(axis=1) > 0.5, 1 + indicators.argmax(axis=1), 0)


def learn_category(Z: np.ndarray, indicators: np.ndarray, ridge: float) -> CategoryModel:
    """The model of the level that 0/1 columns stand for (all 0: the reference), by penalised maximum likelihood."""
    level = levels_of(indicators)
    onehot = np.asarray(level[:, None] == np.arange(indicators.shape[1] + 1), dtype=float)
    counts = np.maximum(onehot.sum(axis=0), 0.5)
    start = np.zeros((Z.shape[1] + 1, onehot.shape[1]))
    start[0] = np.log(counts / len(Z))
    step = len(Z) // _START_ROWS
    if step >= 2:
        start = _fitted(Z[::step], onehot[::step], ridge / step, start, _START_STEPS)
    B = _fitted(Z, onehot, ridge, start, _MAX_STEPS)
    return CategoryModel(B[0], B[1:])


def _fitted(Z: np.ndarray, onehot: np.ndarray, ridge: float, start: np.ndarray, max_steps: int) -> np.ndarray:
    """(1 + predictors, levels) intercepts and slopes; the ridge acts on slopes only."""
    n, d = Z.shape
    # Coordinates in which the Hessian is near the identity: whitened predictors, scaled by the frequency of every level. They
    # include the ridge, without which directions in which predictors hardly vary would slow down the search.
    counts = np.maximum(onehot.sum(axis=0), 0.5)
    A = np.column_stack([np.ones(n), Z])
    gram = A.T @ A / n
    gram[np.arange(d + 1), np.arange(d + 1)] += 1e-8 * np.diag(gram)
    gram[np.arange(1, d + 1), np.arange(1, d + 1)] += ridge / np.exp(np.mean(np.log(counts)))
    factor = cholesky(gram, lower=True)
    white = solve_triangular(factor, A.T, lower=True).T
    root = np.sqrt(counts)
    observed = white.T @ onehot

    def coefficients(C: np.ndarray) -> np.ndarray:
        """Slopes from coordinates: B = F^-T C / root."""
        return np.asarray(solve_triangular(factor, C / root, lower=True, trans="T"))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        C = flat.reshape(start.shape)
        P, log_total = probabilities(white @ (C / root))
        B = coefficients(C)
        B[0] = 0.0
        value = log_total.sum() - np.sum(observed * C / root) + ridge / 2 * np.sum(B**2)
        gradient = (white.T @ P - observed + solve_triangular(factor, ridge * B, lower=True)) / root
        return float(value), gradient.ravel()

    first = (factor.T @ start) * root
    found = minimize(
        loss,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "ftol": 1e-10, "gtol": _SETTLED},
    )
    return coefficients(found.x.reshape(start.shape))
