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

from grip2.errors import Grip2Error
from grip2.statistics.lasso_cv import (
    Folds,
    Moments,
    gram_fits,
    gram_path,
    has_turned,
    lambda_grid,
    moments_by_fold,
    table_path,
)

SMALLEST_WEIGHT = 1e-5  # rows fitted perfectly keep this weight, else the Newton system would be singular
NEWTON_STEPS_MAX = 50
# A column outside the working set may exceed its bound by this share before it counts as a violation.
SLACK = 1e-3
# Above this many multiply-adds the second derivative is not formed at every step: it is kept until steps get slow.
EXACT_HESSIAN_BELOW = 3e8
KEPT_HESSIAN_STEPS = 6


@dataclass(frozen=True)
class LogisticFit:
    """An l1-logistic regression at the penalty with the smallest cross-validated deviance."""

    coefficients: np.ndarray  # (columns,)
    intercept: float
    lambda_: float
    lambdas: np.ndarray  # (visited,) descending
    errors: np.ndarray  # (visited, folds) held-out mean negative log-likelihood


class LogisticPath:
    """Warm starts down the penalties of ``mean_i [log(1 + exp(eta_i)) - y_i eta_i] + lambda ||b||_1``.

    ``rows`` masks the rows that are fitted; ``linear_predictor`` covers all of them, so the held-out ones are
    predicted by the way. Large problems keep one matrix of second derivatives over many steps and penalties, and
    form it anew when the steps get slow; it starts from ``gram``, the centred Gram matrix per fitted row. Where more
    columns are at work than a Gram matrix may have (`gram_fits`), the steps do without one.
    """

    def __init__(
        self,
        Z: np.ndarray,
        y: np.ndarray,
        rows: np.ndarray | None = None,
        *,
        gram: np.ndarray | None = None,
        tolerance: float = 1e-5,
    ) -> None:
        self.Z, self.y, self.tolerance = Z, y, tolerance
        self.rows = np.ones(len(y)) if rows is None else rows.astype(float)
        self.n = float(self.rows.sum())
        share = float(self.rows @ y) / self.n
        if not 0 < share < 1:
            raise Grip2Error("l1-logistic regression: both classes must be present in every training fold.")
        self.intercept = float(np.log(share / (1 - share)))
        self.coefficients = np.zeros(Z.shape[1])
        self.linear_predictor = np.full(len(y), self.intercept)
        self._update_gradient()
        self._previous = self.lambda_max
        # All weights are equal at the start, so the weighted Gram matrix is a multiple of the plain one.
        self._kept_weight = self.rows * share * (1 - share)
        self._kept_gram = None if gram is None else share * (1 - share) * gram

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
        kept = self._kept_gram is not None and part.size * len(b) > EXACT_HESSIAN_BELOW
        # Steps with an old second derivative gain less than is left; so look closer before stopping.
        tolerance = 0.1 * self.tolerance if kept else self.tolerance
        for count in range(1, NEWTON_STEPS_MAX + 1):
            weight, gram = self._second_derivative(part, columns, kept, renew=count % KEPT_HESSIAN_STEPS == 0)
            target, target0 = self._newton_point(part, b, lambda_, weight, gram, tolerance)
            step = 1.0
            while True:
                new, new0 = b + step * (target - b), b0 + step * (target0 - b0)
                predictor = part @ new + new0
                new_value = self._objective(predictor, new, lambda_)
                if new_value <= value + 1e-12 * abs(value) or step < 1e-3:
                    break
                step /= 2
            if new_value > value + 1e-12 * abs(value):
                break  # rounding hides any further descent
            b, b0, self.linear_predictor = new, new0, predictor
            gained, value = value - new_value, new_value
            if gained < tolerance * abs(value):
                break
        self.coefficients = np.zeros_like(self.coefficients)
        self.coefficients[columns] = b
        self.intercept = float(b0)

    def _objective(self, predictor: np.ndarray, b: np.ndarray, lambda_: float) -> float:
        return float(self.rows @ negative_log_likelihood(predictor, self.y)) / self.n + lambda_ * float(np.abs(b).sum())

    def _second_derivative(
        self, part: np.ndarray, columns: np.ndarray, kept: bool, *, renew: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Weights of the rows and the centred Gram matrix of ``part`` under them: of this point, or those kept."""
        if not kept or self._kept_gram is None:
            weight = self._weights()
            return weight, self._weighted_gram(part, weight) if gram_fits(len(columns)) else None
        if renew:
            self._kept_weight = self._weights()
            self._kept_gram = self._weighted_gram(self.Z, self._kept_weight)
        return self._kept_weight, self._kept_gram[np.ix_(columns, columns)]

    def _weights(self) -> np.ndarray:
        """Second derivatives of the loss of every row, zero for rows that are not fitted."""
        probability = expit(self.linear_predictor)
        return np.asarray(self.rows * np.maximum(probability * (1 - probability), SMALLEST_WEIGHT))

    def _weighted_gram(self, part: np.ndarray, weight: np.ndarray) -> np.ndarray:
        mean, total = weight @ part / weight.sum(), weight.sum() / self.n
        return np.asarray((part * (weight / self.n)[:, None]).T @ part - total * np.outer(mean, mean))

    def _newton_point(
        self,
        part: np.ndarray,
        b: np.ndarray,
        lambda_: float,
        weight: np.ndarray,
        gram: np.ndarray | None,
        tolerance: float,
    ) -> tuple[np.ndarray, float]:
        """Minimiser of the penalised second-order expansion at the current point: a weighted lasso."""
        slope = self.rows * (self.y - expit(self.linear_predictor))
        response = self.linear_predictor + slope / np.where(weight > 0, weight, 1.0)
        mean, response_mean = weight @ part / weight.sum(), float(weight @ response / weight.sum())
        if not len(b):
            return b, response_mean
        centred, lambdas = response - response_mean, np.array([lambda_])
        if gram is None:
            # Rows times the roots of their weights make it a plain lasso, whose sum is over all rows.
            root = np.sqrt(weight * len(weight) / self.n)
            table = np.subtract(part, mean, order="F")
            table *= root[:, None]
            target = table_path(table, root * centred, lambdas, start=b, tolerance=0.1 * tolerance)[:, 0]
        else:
            cross = part.T @ (weight * centred) / self.n
            problem = Moments(gram, cross, float(weight @ centred**2) / self.n)
            target = gram_path(problem, lambdas, start=b, tolerance=0.1 * tolerance)[:, 0]
        return target, response_mean - float(mean @ target)


def negative_log_likelihood(predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp(0.0, predictor) - y * predictor)


def logistic_cv(
    Z: np.ndarray,
    y: np.ndarray,
    *,
    folds: Folds,
    n_lambdas: int = 50,
    ratio: float = 1e-3,
    whole_path: bool = False,
) -> LogisticFit:
    """The l1-logistic regression of labels 0/1 at the penalty of least held-out deviance.

    As in `lasso_cv` all folds go down together and the path is left when the error has clearly turned;
    ``whole_path=True`` looks at every lambda of the grid.
    """
    Z, y = np.asarray(Z, dtype=float), np.asarray(y, dtype=float)
    whole_gram, fold_grams = _grams(Z, y, folds) if gram_fits(Z.shape[1]) else (None, [None] * len(folds))
    whole = LogisticPath(Z, y, gram=whole_gram)
    lambdas = lambda_grid(whole.lambda_max, n_lambdas, ratio)
    masks = [np.isin(np.arange(len(y)), rows, invert=True) for rows in folds]
    paths = [LogisticPath(Z, y, mask, gram=gram) for mask, gram in zip(masks, fold_grams, strict=True)]
    errors = np.empty((0, len(folds)))
    while len(errors) < n_lambdas and (whole_path or not has_turned(errors, n_lambdas)):
        found = []
        for path, rows in zip(paths, folds, strict=True):
            path.advance(lambdas[len(errors)])
            found.append(negative_log_likelihood(path.linear_predictor[rows], y[rows]).mean())
        errors = np.vstack([errors, found])
    best = int(np.argmin(errors.mean(axis=1)))
    for lambda_ in lambdas[: best + 1]:
        coefficients = whole.advance(lambda_)
    return LogisticFit(coefficients, whole.intercept, float(lambdas[best]), lambdas[: len(errors)], errors)


def _grams(Z: np.ndarray, y: np.ndarray, folds: Folds) -> tuple[np.ndarray, list[np.ndarray]]:
    """Centred Gram matrices of all rows and of the training rows of every fold."""
    all_rows, parts = moments_by_fold(Z, y, folds)
    return all_rows.gram, [part.training.gram for part in parts]
