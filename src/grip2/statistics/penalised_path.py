"""L1-penalised linear models by likelihood along a path of penalties, and their cross-validation.

Exact up to a tolerance. Proximal Newton steps (Friedman, Hastie, Tibshirani 2010), each a weighted lasso solved by the
coordinate descent of `lasso_cv`, on the columns that the sequential strong rule (Tibshirani et al. 2012) keeps. The optimality
conditions of all other columns are checked after every solution, and columns that violate them are added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from grip2.responses import Response
from grip2.statistics.lasso_cv import (
    Folds,
    Moments,
    draw_folds,
    gram_fits,
    gram_path,
    has_turned,
    lambda_grid,
    table_path,
)

SMALLEST_WEIGHT = 1e-5  # of a row that is fitted perfectly: with weight 0 the Newton system could be singular
NEWTON_STEPS_MAX = 50
# A column outside the working set may exceed its bound by this share before it counts as a violation.
SLACK = 1e-3
# Above this many multiply-adds the second derivative is not formed at every step, but kept for so many steps of a solution.
EXACT_HESSIAN_BELOW = 3e8
KEPT_HESSIAN_STEPS = 6


class Likelihood(ABC):
    """The loss as a function of the linear predictors of the rows: convex and smooth."""

    @abstractmethod
    def constant(self, rows: np.ndarray) -> float:
        """The best constant predictor of the rows whose entry of ``rows`` is 1; those with 0 take no part."""

    @abstractmethod
    def mean_loss(self, predictor: np.ndarray, rows: np.ndarray) -> float:
        """Over the rows whose entry is 1."""

    @abstractmethod
    def slopes(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(rows,) minus the derivatives of the total loss of the rows whose entry is 1; 0 for the others."""

    @abstractmethod
    def weights(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(rows,) second derivatives of the total loss of the rows whose entry is 1."""


class ResponseLikelihood(Likelihood):
    """The loss of a response with one output."""

    def __init__(self, response: Response) -> None:
        self.response = response

    def constant(self, rows: np.ndarray) -> float:
        # A prior close to none keeps the logarithm of a mean of 0 finite.
        return float(self.response.take(np.flatnonzero(rows)).constant_outputs(prior_rows=1e-9)[0])

    def mean_loss(self, predictor: np.ndarray, rows: np.ndarray) -> float:
        fitted = np.flatnonzero(rows)
        return self.response.take(fitted).mean_loss(predictor[fitted, None])

    def slopes(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        fitted, found = np.flatnonzero(rows), np.zeros(len(rows))
        found[fitted] = self.response.take(fitted).working_residual(predictor[fitted, None])[:, 0]
        return found

    def weights(self, predictor: np.ndarray, rows: np.ndarray) -> np.ndarray:
        fitted, found = np.flatnonzero(rows), np.zeros(len(rows))
        found[fitted] = self.response.take(fitted).curvature(predictor[fitted, None])[:, 0]
        return found


@dataclass(frozen=True)
class PenalisedFit:
    """A penalised linear model at the penalty with the smallest cross-validated loss."""

    coefficients: np.ndarray  # (columns,)
    intercept: float
    lambda_: float
    lambdas: np.ndarray  # (visited,) descending
    errors: np.ndarray  # (visited, folds) held-out mean loss


class PenalisedPath:
    """Warm starts down the penalties of ``mean_i loss_i(eta_i) + lambda ||b||_1``.

    ``rows`` masks the rows that are fitted; ``linear_predictor`` is that of all rows, so it also predicts the held-out ones.
    Large problems keep one matrix of second derivatives over many steps and penalties, and form it anew if a solution takes many
    steps. If all rows have the same weight at the start, it may be given as ``start_gram``. If the working set has more columns
    than a Gram matrix may have (`gram_fits`), the steps use that of the acting columns only.
    """

    def __init__(
        self,
        Z: np.ndarray,
        likelihood: Likelihood,
        rows: np.ndarray | None = None,
        *,
        start_gram: np.ndarray | None = None,
        tolerance: float = 1e-5,
    ) -> None:
        self.Z, self.likelihood, self.tolerance = Z, likelihood, tolerance
        self.rows = np.ones(len(Z)) if rows is None else rows.astype(float)
        self.n = float(self.rows.sum())
        self.intercept = likelihood.constant(self.rows)
        self.coefficients = np.zeros(Z.shape[1])
        self.linear_predictor = np.full(len(Z), self.intercept)
        self._update_gradient()
        self._previous = self.lambda_max
        self._kept_weight, self._kept_gram = self._weights(), start_gram

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
        self._gradient = self.Z.T @ (-self.likelihood.slopes(self.linear_predictor, self.rows)) / self.n

    def _solve(self, lambda_: float, columns: np.ndarray) -> None:
        part = self.Z[:, columns]
        b, b0 = self.coefficients[columns], self.intercept
        value = self._objective(self.linear_predictor, b, lambda_)
        kept = gram_fits(self.Z.shape[1]) and part.size * len(b) > EXACT_HESSIAN_BELOW
        # Steps with an old second derivative gain less than could be gained, so the tolerance is smaller.
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
        with np.errstate(over="ignore"):  # a step too long is shortened
            return self.likelihood.mean_loss(predictor, self.rows) + lambda_ * float(np.abs(b).sum())

    def _second_derivative(
        self, part: np.ndarray, columns: np.ndarray, kept: bool, *, renew: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Weights of the rows and the centred Gram matrix of ``part`` under them: of this point, or those kept."""
        if not kept:
            weight = self._weights()
            return weight, self._weighted_gram(part, weight) if gram_fits(len(columns)) else None
        if renew or self._kept_gram is None:
            self._kept_weight = self._weights()
            self._kept_gram = self._weighted_gram(self.Z, self._kept_weight)
        return self._kept_weight, self._kept_gram[np.ix_(columns, columns)]

    def _weights(self) -> np.ndarray:
        """Second derivatives of the loss of every row, zero for rows that are not fitted."""
        weights = self.likelihood.weights(self.linear_predictor, self.rows)
        return np.asarray(self.rows * np.maximum(weights, SMALLEST_WEIGHT))

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
        slope = self.likelihood.slopes(self.linear_predictor, self.rows)
        response = self.linear_predictor + slope / np.where(weight > 0, weight, 1.0)
        mean, response_mean = weight @ part / weight.sum(), float(weight @ response / weight.sum())
        if not len(b):
            return b, response_mean
        centred, lambdas = response - response_mean, np.array([lambda_])
        if gram is None:
            # With rows multiplied by the roots of their weights it is an unweighted lasso, whose mean is over all rows.
            root = np.sqrt(weight * len(weight) / self.n)
            table = np.subtract(part, mean, order="F")
            table *= root[:, None]
            target = table_path(table, root * centred, lambdas, start=b, tolerance=0.1 * tolerance)[:, 0]
        else:
            cross = part.T @ (weight * centred) / self.n
            problem = Moments(gram, cross, float(weight @ centred**2) / self.n)
            target = gram_path(problem, lambdas, start=b, tolerance=0.1 * tolerance)[:, 0]
        return target, response_mean - float(mean @ target)


def least_cv_loss(
    whole: PenalisedPath, of_folds: list[PenalisedPath], *, n_lambdas: int, ratio: float, whole_path: bool
) -> PenalisedFit:
    """The model of all rows at the penalty of least held-out loss; path k of ``of_folds`` is fitted without fold k.

    As in `lasso_cv` all folds go down together and the path is left when the error has clearly turned;
    ``whole_path=True`` looks at every lambda of the grid.
    """
    lambdas = lambda_grid(whole.lambda_max, n_lambdas, ratio)
    errors = np.empty((0, len(of_folds)))
    while len(errors) < n_lambdas and (whole_path or not has_turned(errors, n_lambdas)):
        found = []
        for path in of_folds:
            path.advance(lambdas[len(errors)])
            found.append(path.likelihood.mean_loss(path.linear_predictor, 1.0 - path.rows))
        errors = np.vstack([errors, found])
    best = int(np.argmin(errors.mean(axis=1)))
    for lambda_ in lambdas[: best + 1]:
        coefficients = whole.advance(lambda_)
    return PenalisedFit(coefficients, whole.intercept, float(lambdas[best]), lambdas[: len(errors)], errors)


def likelihood_cv(
    Z: np.ndarray,
    response: Response,
    *,
    folds: Folds,
    n_lambdas: int = 50,
    ratio: float = 1e-3,
    whole_path: bool = False,
) -> PenalisedFit:
    """The penalised linear model of a response with one output, at the penalty of least held-out loss."""
    Z, likelihood = np.asarray(Z, dtype=float), ResponseLikelihood(response)
    paths = [PenalisedPath(Z, likelihood, mask) for mask in without_folds(len(Z), folds)]
    whole = PenalisedPath(Z, likelihood)
    return least_cv_loss(whole, paths, n_lambdas=n_lambdas, ratio=ratio, whole_path=whole_path)


def without_folds(n_rows: int, folds: Folds) -> list[np.ndarray]:
    """For every fold, (rows,) which rows are not in it."""
    return [np.isin(np.arange(n_rows), rows, invert=True) for rows in folds]


def response_folds(response: Response, n_folds: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random folds, balanced in the strata of the response where every stratum has rows for all folds."""
    strata = response.strata
    if strata is not None and np.unique(strata, return_counts=True)[1].min() < n_folds:
        strata = None
    return draw_folds(len(response), n_folds, rng, labels=strata)
