"""Lasso path entry (LAPA): the penalty at which a feature enters the lasso; the paper's linear baseline.

Columns of all members are standardised; a unit of several columns enters with the first of them. For two
classes the lasso is an l1-penalised logistic regression; several classes are scored one against the rest. Counts, times to
an event and ordered classes have the l1-penalised model of their own likelihood.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import lars_path_gram

from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.augmented import threads_for
from grip2.statistics.base import Statistic
from grip2.statistics.lasso_cv import (
    GRAM_COLUMNS_MAX,
    Moments,
    check_grid,
    gram_fits,
    gram_path,
    lambda_grid,
    moments,
    table_path,
)
from grip2.statistics.logistic_path import LogisticPath
from grip2.statistics.penalised_path import PenalisedPath, ResponseLikelihood
from grip2.symmetry import Members
from grip2.user_warnings import warn_user

# Largest violation of the lasso's optimality conditions a path may show, relative to the largest penalty.
LARS_VIOLATION_MAX = 1e-6


class LassoPath(Statistic):
    """Lasso path entry time (LAPA): S_j is the largest penalty at which coefficient j is not zero.

    Barber & Candes (2015); the paper's appendix "Lasso-Based Baselines". Exact by least angle regression,
    whose knots are the entry penalties themselves; on a grid every S_j is rounded down to a grid point.

    Ties: members of a unit that enter at one penalty (on a grid: between the same two points) get W_j = 0 and
    are not selected at any level; columns that have not entered at the end of the path get S_j = 0. Of two identical
    members the solver takes one alone; which one is a fair draw, by the random order of members.

    Depends on the data through Gram matrices only (regression): valid with fixed-X knockoffs.

    Parameters
    ----------
    method : {"auto", "lars", "grid"}
        ``"auto"`` is ``"lars"`` where it is stable, that is where the path it finds satisfies the lasso's
        optimality conditions at every knot, and ``"grid"``, the paper's choice, elsewhere. Responses that are no
        measurements always use the grid: the path of their likelihood is not piecewise linear. So do more than 4,000
        columns of all members, without a Gram matrix, which would take hundreds of megabytes or more.
    n_lambdas : int
        Points of the grid. The paper does not give a number.
    ratio : float
        Where the path ends, as a share of the largest penalty, whatever the method.
    """

    gram_based = True
    lines_only = True

    def __init__(self, method: str = "auto", *, n_lambdas: int = 200, ratio: float = 1e-3) -> None:
        self.method = method
        self.n_lambdas = n_lambdas
        self.ratio = ratio

    def _check_settings(self) -> None:
        if self.method not in ("auto", "lars", "grid"):
            raise Grip2Error(f"LassoPath: method must be 'auto', 'lars' or 'grid', got {self.method!r}.")
        check_grid(self.n_lambdas, self.ratio, type(self).__name__)

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        Z = members.standardised()
        entry_of = {
            "least squares": self._linear_entry,
            "logistic": self._logistic_entries,
            "likelihood": self._likelihood_entry,
        }
        if self.method == "lars" and response.linear_model != "least squares":
            raise Grip2Error(f"LassoPath: method='lars' is for measurements; use 'auto' or 'grid' for {response.noun}.")
        with threads_for(Z):
            entry, details = entry_of[response.linear_model](Z, response)
        # A unit enters with the first of its columns.
        return Importance(members.layout.maxima(entry), Facts(details=details))

    def _logistic_entries(self, Z: np.ndarray, response: Response) -> tuple[np.ndarray, dict[str, Any]]:
        """A feature counts from the first class that it helps to tell from the rest."""
        entry = np.max([self._logistic_entry(Z, label) for label in response.contrasts], axis=0)
        return entry, {"method": "grid, logistic"}

    def _likelihood_entry(self, Z: np.ndarray, response: Response) -> tuple[np.ndarray, dict[str, Any]]:
        path = PenalisedPath(Z, ResponseLikelihood(response))
        return self._entry_along(path), {"method": "grid, likelihood"}

    def _linear_entry(self, Z: np.ndarray, response: Response) -> tuple[np.ndarray, dict[str, Any]]:
        y = response.y
        if not gram_fits(Z.shape[1]):
            if self.method == "lars":
                raise Grip2Error(
                    f"LassoPath: method must be 'auto' or 'grid' for more than {GRAM_COLUMNS_MAX} columns of all members, got "
                    f"'lars' with {Z.shape[1]}, whose Gram matrix would take {8e-9 * Z.shape[1] ** 2:.1f} GB."
                )
            return self._table_entry(Z, y), {"method": "grid"}
        problem = moments(Z, y)
        details: dict[str, Any] = {"method": "grid"}
        if self.method != "grid":
            entry, violation = lars_entry(problem, self.ratio)
            details = {"method": "lars", "violation": violation}
            if violation > LARS_VIOLATION_MAX and self.method == "auto":
                details["method"] = "grid"
            elif violation > LARS_VIOLATION_MAX:
                warn_user(
                    f"LassoPath: least angle regression left the lasso path (violation {violation:.1e} of the largest "
                    "penalty): columns are nearly collinear. The statistic stays valid; method='auto' is exact.",
                )
        if details["method"] == "grid":
            entry = self._grid_entry(problem)
        return entry, details

    def _grid_entry(self, problem: Moments) -> np.ndarray:
        lambdas = lambda_grid(float(np.max(np.abs(problem.cross))), self.n_lambdas, self.ratio)
        return first_nonzero(gram_path(problem, lambdas), lambdas)

    def _table_entry(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """`_grid_entry` without a Gram matrix."""
        largest = float(np.max(np.abs(Z.T @ y))) / len(y)
        if largest == 0:
            return np.zeros(Z.shape[1])
        lambdas = lambda_grid(largest, self.n_lambdas, self.ratio)
        # At the first penalty every coefficient is zero, but rounding could make the largest one tiny instead.
        return first_nonzero(table_path(Z, y, lambdas[1:]), lambdas[1:])

    def _logistic_entry(self, Z: np.ndarray, label: np.ndarray) -> np.ndarray:
        path = LogisticPath(Z, label, gram=moments(Z, label).gram if gram_fits(Z.shape[1]) else None)
        return self._entry_along(path)

    def _entry_along(self, path: PenalisedPath) -> np.ndarray:
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
