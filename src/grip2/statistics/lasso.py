"""Lasso statistics: the linear yardsticks that stand beside every comparison.

Both look at all columns of ``[X, Xk]`` at once, standardised. For two classes the lasso is an l1-penalised
logistic regression; several classes are scored one against the rest.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV, lars_path_gram

from grip2.errors import Grip2Error
from grip2.result import Importance
from grip2.statistics.augmented import one_against_rest, paired_inputs, response, threads_for
from grip2.statistics.base import Progress, Statistic
from grip2.statistics.lasso_cv import (
    GRAM_COLUMNS_MAX,
    Moments,
    draw_folds,
    gram_fits,
    gram_path,
    lambda_grid,
    lasso_cv,
    moments,
    table_path,
)
from grip2.statistics.logistic_path import LogisticPath, logistic_cv

# Largest violation of the lasso's optimality conditions a path may show, relative to the largest penalty.
LARS_VIOLATION_MAX = 1e-6


class LassoCoefficient(Statistic):
    """Lasso coefficient difference (LCD): |coefficient| at the cross-validated penalty.

    Of Candes et al. (2018, section 3.1); the paper does not report it. For several classes S_j is the sum of
    |coefficient| over one-against-rest logistic regressions, each with its own penalty.

    Parameters
    ----------
    folds : int
        Of the cross-validation; drawn at random.
    n_lambdas, ratio
        Grid of penalties: so many from the smallest that kills every coefficient down to ``ratio`` of it,
        equally spaced on the log scale. Twice as coarse for classes, where a fit costs more.
    """

    def __init__(self, folds: int = 5, *, n_lambdas: int = 100, ratio: float = 1e-3) -> None:
        self.folds = folds
        self.n_lambdas = n_lambdas
        self.ratio = ratio

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        Z, p = paired_inputs(X, Xk), X.shape[1]
        _check_grid(self.n_lambdas, self.ratio, type(self).__name__)
        try:
            folds = draw_folds(len(Z), self.folds, rng, labels=y if task == "classification" else None)
        except ValueError as error:
            raise Grip2Error(f"{type(self).__name__}: {error}") from None
        with threads_for(Z):
            strength, info = self._fit(Z, y, folds, task)
        return Importance(strength[:p], strength[p:], info)

    def _fit(
        self, Z: np.ndarray, y: np.ndarray, folds: list[np.ndarray], task: str
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if task == "classification":
            fits = [
                logistic_cv(Z, label, folds=folds, n_lambdas=-(-self.n_lambdas // 2), ratio=self.ratio)
                for label in one_against_rest(y)
            ]
            strength = np.sum([np.abs(fit.coefficients) for fit in fits], axis=0)
            return strength, {"lambda": [fit.lambda_ for fit in fits]}
        if gram_fits(Z.shape[1]):
            fit = lasso_cv(Z, response(y, task), folds=folds, n_lambdas=self.n_lambdas, ratio=self.ratio)
            info = {"lambda": fit.lambda_, "r2": fit.r2, "converged": fit.converged}
            return np.abs(fit.coefficients), info
        splits = [(np.setdiff1d(np.arange(len(Z)), rows), rows) for rows in folds]
        model = LassoCV(alphas=self._sklearn_grid(Z, y), cv=splits, precompute=False).fit(Z, response(y, task))
        return np.abs(model.coef_), {"lambda": float(model.alpha_)}

    def _sklearn_grid(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        largest = float(np.max(np.abs(Z.T @ response(y, "regression")))) / len(y)
        return lambda_grid(largest, self.n_lambdas, self.ratio)


def _check_grid(n_lambdas: int, ratio: float, who: str) -> None:
    if not isinstance(n_lambdas, numbers.Integral) or n_lambdas < 2:
        raise Grip2Error(f"{who}: n_lambdas must be a whole number of at least 2, got {n_lambdas!r}.")
    if not 0 < ratio < 1:
        raise Grip2Error(f"{who}: ratio must be in (0, 1), got {ratio!r}.")


class LassoPath(Statistic):
    """Lasso path entry time (LAPA): S_j is the largest penalty at which coefficient j is not zero.

    Barber & Candes (2015); the paper's appendix "Lasso-Based Baselines". Exact by least angle regression,
    whose knots are the entry penalties themselves; on a grid every S_j is rounded down to a grid point.

    Ties: members of a pair that enter at one penalty (on a grid: between the same two points) get W_j = 0 and
    are not selected at any level; columns that have not entered at the end of the path get S_j = 0. Of two identical
    members the solver takes one alone; which one is a fair coin, by the random swap.

    Depends on the data through Gram matrices only (regression): valid with fixed-X knockoffs.

    Parameters
    ----------
    method : {"auto", "lars", "grid"}
        ``"auto"`` is ``"lars"`` where it is stable, that is where the path it finds satisfies the lasso's
        optimality conditions at every knot, and ``"grid"``, the paper's choice, elsewhere. Classes always use
        the grid: the logistic path is not piecewise linear. So do more than 4,000 columns of [X, Xk], without a
        Gram matrix, which would take hundreds of megabytes or more.
    n_lambdas : int
        Points of the grid. The paper does not give a number.
    ratio : float
        Where the path ends, as a share of the largest penalty, whatever the method.
    """

    gram_based = True

    def __init__(self, method: str = "auto", *, n_lambdas: int = 200, ratio: float = 1e-3) -> None:
        self.method = method
        self.n_lambdas = n_lambdas
        self.ratio = ratio

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        if self.method not in ("auto", "lars", "grid"):
            raise Grip2Error(f"LassoPath: method must be 'auto', 'lars' or 'grid', got {self.method!r}.")
        _check_grid(self.n_lambdas, self.ratio, type(self).__name__)
        Z, p = paired_inputs(X, Xk), X.shape[1]
        with threads_for(Z):
            entry, info = self._entry(Z, y, task)
        return Importance(entry[:p], entry[p:], info)

    def _entry(self, Z: np.ndarray, y: np.ndarray, task: str) -> tuple[np.ndarray, dict[str, Any]]:
        if task == "classification":
            if self.method == "lars":
                raise Grip2Error("LassoPath: method='lars' is for regression; use 'auto' or 'grid' for classes.")
            # A feature counts from the first class it helps to tell from the rest.
            entry = np.max([self._logistic_entry(Z, label) for label in one_against_rest(y)], axis=0)
            return entry, {"method": "grid, logistic"}
        if not gram_fits(Z.shape[1]):
            if self.method == "lars":
                raise Grip2Error(
                    f"LassoPath: method must be 'auto' or 'grid' for more than {GRAM_COLUMNS_MAX} columns of [X, Xk], got "
                    f"'lars' with {Z.shape[1]}, whose Gram matrix would take {8e-9 * Z.shape[1] ** 2:.1f} GB."
                )
            return self._table_entry(Z, response(y, task)), {"method": "grid"}
        problem = moments(Z, response(y, task))
        info: dict[str, Any] = {"method": "grid"}
        if self.method != "grid":
            entry, violation = lars_entry(problem, self.ratio)
            info = {"method": "lars", "violation": violation}
            if violation > LARS_VIOLATION_MAX and self.method == "auto":
                info["method"] = "grid"
            elif violation > LARS_VIOLATION_MAX:
                warnings.warn(
                    f"LassoPath: least angle regression left the lasso path (violation {violation:.1e} of the largest "
                    "penalty): columns are nearly collinear. The statistic stays valid; method='auto' is exact.",
                    UserWarning,
                    stacklevel=2,
                )
        if info["method"] == "grid":
            entry = self._grid_entry(problem)
        return entry, info

    def _grid_entry(self, problem: Moments) -> np.ndarray:
        lambdas = lambda_grid(float(np.max(np.abs(problem.cross))), self.n_lambdas, self.ratio)
        return first_nonzero(gram_path(problem, lambdas), lambdas)

    def _table_entry(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """`_grid_entry` without a Gram matrix."""
        largest = float(np.max(np.abs(Z.T @ y))) / len(y)
        if largest == 0:
            return np.zeros(Z.shape[1])
        lambdas = lambda_grid(largest, self.n_lambdas, self.ratio)
        # At the first every coefficient is zero; rounding would make the largest one of them not quite so.
        return first_nonzero(table_path(Z, y, lambdas[1:]), lambdas[1:])

    def _logistic_entry(self, Z: np.ndarray, label: np.ndarray) -> np.ndarray:
        path = LogisticPath(Z, label, gram=moments(Z, label).gram if gram_fits(Z.shape[1]) else None)
        lambdas = lambda_grid(path.lambda_max, self.n_lambdas, self.ratio)
        return first_nonzero(np.column_stack([path.advance(lambda_) for lambda_ in lambdas]), lambdas)


def first_nonzero(coefficients: np.ndarray, lambdas: np.ndarray) -> np.ndarray:
    """The largest of the descending ``lambdas`` at which each row of ``coefficients`` is not zero, or 0."""
    active = coefficients != 0
    return np.where(active.any(axis=1), lambdas[np.argmax(active, axis=1)], 0.0)


def lars_entry(problem: Moments, ratio: float) -> tuple[np.ndarray, float]:
    """Exact entry penalties by least angle regression with the lasso modification (Efron et al. 2004).

    Also returned, as a certificate: the largest violation of the optimality conditions
    ``|Z'(y - Z b)| <= n lambda`` over all knots and columns, relative to the largest penalty. Nearly
    collinear columns make it grow.
    """
    largest = float(np.max(np.abs(problem.cross)))
    if largest == 0:
        return np.zeros(len(problem.cross)), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever went wrong shows in the certificate
        knots, _, coefficients = lars_path_gram(
            problem.cross,
            problem.gram,
            n_samples=1,  # the moments are per row
            alpha_min=ratio * largest,
            max_iter=10 * len(problem.cross),
            method="lasso",
        )
    correlation = problem.cross[:, None] - problem.gram @ coefficients
    violation = float(np.max(np.abs(correlation) - knots)) / largest
    if knots[-1] > 1.01 * ratio * largest and len(knots) > 1:
        violation = max(violation, float(knots[-1]) / largest)  # it broke off before the end of the path
    # A column is zero at the knot where it enters and not zero at the next.
    active = coefficients[:, 1:] != 0
    return np.where(active.any(axis=1), knots[np.argmax(active, axis=1)], 0.0), violation
