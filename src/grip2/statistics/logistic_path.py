"""L1-penalised logistic regression along a path of penalties, and its cross-validation.

Exact up to a tolerance: proximal Newton steps (Friedman, Hastie, Tibshirani 2010), each a weighted lasso
solved by the coordinate descent of `lasso_cv`, on the columns that the sequential strong rule (Tibshirani et
al. 2012) lets through; the optimality conditions of all the others are checked after every solution, and a
column that fails them comes in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from grip2.statistics.lasso_cv import Folds, Moments, gram_path, has_turned, lambda_grid

SMALLEST_WEIGHT = 1e-5  # rows fitted perfectly keep this weight, else the Newton system would be singular
NEWTON_STEPS_MAX = 50
# A column outside the working set may exceed its bound by this share before it counts as a violation.
SLACK = 1e-3


@dataclass(frozen=True)
class LogisticFit:
    """An l1-logistic regression at the penalty with the smallest cross-validated deviance."""

    coefficients: np.ndarray  # (columns,)
    intercept: float
    lambda_: float
    lambdas: np.ndarray  # (visited,) descending
    errors: np.ndarray  # (visited, folds) held-out mean negative log-likelihood


class LogisticPath:
    """Goes down the penalties of ``mean_i [log(1 + exp(eta_i)) - y_i eta_i] + lambda ||b||_1`` with warm
    starts.

    ``rows`` masks the rows that are fitted; ``linear_predictor`` covers all of them, so the held-out ones are
    predicted by the way.
    """

    def __init__(self, Z: np.ndarray, y: np.ndarray, rows: np.ndarray | None = None, tolerance: float = 1e-5) -> None:
        self.Z, self.y, self.tolerance = Z, y, tolerance
        self.rows = np.ones(len(y)) if rows is None else rows.astype(float)
        self.n = float(self.rows.sum())
        share = float(self.rows @ y) / self.n
        if not 0 < share < 1:
            raise ValueError("l1-logistic regression: both classes must be present in every training fold.")
        self.intercept = float(np.log(share / (1 - share)))
        self.coefficients = np.zeros(Z.shape[1])
        self.linear_predictor = np.full(len(y), self.intercept)
        self._update_gradient()
        self._previous = self.lambda_max

    @property
    def lambda_max(self) -> float:
        """At the start: the penalty above which every coefficient is zero."""
        return float(np.max(np.abs(self._gradient)))

    def advance(self, lambda_: float) -> np.ndarray:
        """Move to the solution at ``lambda_``; returns its coefficients."""
        strong = np.abs(self._gradient) >= 2 * lambda_ - self._previous
        working = strong | (self.coefficients != 0)
        while True:
            self._solve(lambda_, np.flatnonzero(working))
            self._update_gradient()
            violated = ~working & (np.abs(self._gradient) > lambda_ * (1 + SLACK))
            if not violated.any():
                break
            working |= violated
        self._previous = lambda_
        return self.coefficients.copy()

    def _update_gradient(self) -> None:
        self._gradient = self.Z.T @ (self.rows * (expit(self.linear_predictor) - self.y)) / self.n

    def _solve(self, lambda_: float, columns: np.ndarray) -> None:
        part = self.Z[:, columns]
        b, b0 = self.coefficients[columns], self.intercept
        value = self._objective(self.linear_predictor, b, lambda_)
        for _ in range(NEWTON_STEPS_MAX):
            target, target0 = self._newton_point(part, b, lambda_)
            step = 1.0
            while True:
                new, new0 = b + step * (target - b), b0 + step * (target0 - b0)
                predictor = part @ new + new0
                new_value = self._objective(predictor, new, lambda_)
                if new_value <= value + 1e-12 * abs(value) or step < 1e-3:
                    break
                step /= 2
            b, b0, self.linear_predictor = new, new0, predictor
            gained, value = value - new_value, new_value
            if gained < self.tolerance * abs(value):
                break
        self.coefficients = np.zeros_like(self.coefficients)
        self.coefficients[columns] = b
        self.intercept = float(b0)

    def _objective(self, predictor: np.ndarray, b: np.ndarray, lambda_: float) -> float:
        return float(self.rows @ negative_log_likelihood(predictor, self.y)) / self.n + lambda_ * float(np.abs(b).sum())

    def _newton_point(self, part: np.ndarray, b: np.ndarray, lambda_: float) -> tuple[np.ndarray, float]:
        """Minimiser of the penalised second-order expansion at the current point: a weighted lasso."""
        probability = expit(self.linear_predictor)
        weight = self.rows * np.maximum(probability * (1 - probability), SMALLEST_WEIGHT)
        response = self.linear_predictor + self.rows * (self.y - probability) / np.where(weight > 0, weight, 1.0)
        total = weight.sum()
        mean, response_mean = weight @ part / total, float(weight @ response) / total
        if not len(b):
            return b, response_mean
        centred = response - response_mean
        gram = (part * weight[:, None]).T @ part / self.n - (total / self.n) * np.outer(mean, mean)
        cross = part.T @ (weight * centred) / self.n
        problem = Moments(gram, cross, float(weight @ centred**2) / self.n)
        target = gram_path(problem, np.array([lambda_]), start=b, tolerance=self.tolerance)[:, 0]
        return target, response_mean - float(mean @ target)


def negative_log_likelihood(predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, predictor) - y * predictor


def logistic_cv(Z: np.ndarray, y: np.ndarray, *, folds: Folds, n_lambdas: int = 50, ratio: float = 1e-3) -> LogisticFit:
    """The l1-logistic regression of labels 0/1 at the penalty of least held-out deviance.

    As in `lasso_cv` all folds go down together and the path is left when the error has clearly turned.
    """
    Z, y = np.asarray(Z, dtype=float), np.asarray(y, dtype=float)
    whole = LogisticPath(Z, y)
    lambdas = lambda_grid(whole.lambda_max, n_lambdas, ratio)
    masks = [np.isin(np.arange(len(y)), rows, invert=True) for rows in folds]
    paths = [LogisticPath(Z, y, mask) for mask in masks]
    errors = np.empty((0, len(folds)))
    while len(errors) < n_lambdas and not has_turned(errors):
        found = []
        for path, rows in zip(paths, folds, strict=True):
            path.advance(lambdas[len(errors)])
            found.append(negative_log_likelihood(path.linear_predictor[rows], y[rows]).mean())
        errors = np.vstack([errors, found])
    best = int(np.argmin(errors.mean(axis=1)))
    for lambda_ in lambdas[: best + 1]:
        coefficients = whole.advance(lambda_)
    return LogisticFit(coefficients, whole.intercept, float(lambdas[best]), lambdas[: len(errors)], errors)
