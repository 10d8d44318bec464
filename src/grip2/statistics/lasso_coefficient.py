"""Lasso coefficient difference (LCD): the linear method that reports show beside every other statistic.

Columns of all members are standardised; a unit of several columns is scored by the norm of their coefficients. For two
classes the lasso is an l1-penalised logistic regression; several classes are scored one against the rest. Counts, times to
an event and ordered classes have the l1-penalised model of their own likelihood.
"""

from __future__ import annotations

import numbers
from typing import Any, ClassVar

import numpy as np

from grip2.errors import Grip2Error
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.augmented import threads_for
from grip2.statistics.base import Statistic
from grip2.statistics.lasso_cv import check_grid, draw_folds, lasso_cv
from grip2.statistics.logistic_path import logistic_cv
from grip2.statistics.penalised_path import likelihood_cv
from grip2.symmetry import Members


class LassoCoefficient(Statistic):
    """Lasso coefficient difference (LCD): ``|coefficient|`` at the cross-validated penalty.

    Of Candes et al. (2018, section 3.1); the paper does not report it. For several classes S_j is the sum of
    ``|coefficient|`` over one-against-rest logistic regressions, each with its own penalty.

    Parameters
    ----------
    folds : int
        Of the cross-validation; drawn at random.
    n_lambdas, ratio
        Grid of penalties: ``n_lambdas`` of them, from the smallest at which every coefficient is zero down to ``ratio`` times
        that, equally spaced on the log scale. Half as many if the model is not least squares and a fit costs more.
    """

    compared_with_lasso: ClassVar[bool] = False
    lines_only: ClassVar[bool] = True

    def __init__(self, folds: int = 5, *, n_lambdas: int = 100, ratio: float = 1e-3) -> None:
        self.folds = folds
        self.n_lambdas = n_lambdas
        self.ratio = ratio

    def _check_settings(self) -> None:
        check_grid(self.n_lambdas, self.ratio, type(self).__name__)
        if not isinstance(self.folds, numbers.Integral) or self.folds < 2:
            raise Grip2Error(
                f"{type(self).__name__}: folds must be a whole number between 2 and the number of rows, got {self.folds!r}."
            )

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        Z = members.standardised()
        folds = self._drawn_folds(response, rng)
        fit = {"least squares": self._least_squares, "logistic": self._logistic, "likelihood": self._likelihood}
        with threads_for(Z):
            strength, details = fit[response.linear_model](Z, response, folds)
        return Importance(members.layout.norms(strength), Facts(details=details))

    def _drawn_folds(self, response: Response, rng: np.random.Generator) -> list[np.ndarray]:
        """Random folds, balanced in the strata of the response; refuses more folds than rows."""
        try:
            return draw_folds(len(response), self.folds, rng, labels=response.strata)
        except ValueError as error:
            raise Grip2Error(f"{type(self).__name__}: {error}") from None

    def _logistic(
        self, Z: np.ndarray, response: Response, folds: list[np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        n_lambdas = -(-self.n_lambdas // 2)
        # Without the fold that holds the only row of a class, none is left to fit; the user has been warned of such classes.
        labels = [label for label in response.contrasts if 2 <= label.sum() <= len(label) - 2]
        if not labels:
            raise Grip2Error(
                f"{type(self).__name__}: cross-validation needs a class with at least 2 rows against the rest."
            )
        fits = [logistic_cv(Z, label, folds=folds, n_lambdas=n_lambdas, ratio=self.ratio) for label in labels]
        strength = np.sum([np.abs(fit.coefficients) for fit in fits], axis=0)
        return strength, {"lambda": [fit.lambda_ for fit in fits]}

    def _likelihood(
        self, Z: np.ndarray, response: Response, folds: list[np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        fit = likelihood_cv(Z, response, folds=folds, n_lambdas=-(-self.n_lambdas // 2), ratio=self.ratio)
        return np.abs(fit.coefficients), {"lambda": fit.lambda_}

    def _least_squares(
        self, Z: np.ndarray, response: Response, folds: list[np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        fit = lasso_cv(Z, response.y, folds=folds, n_lambdas=self.n_lambdas, ratio=self.ratio)
        return np.abs(fit.coefficients), {"lambda": fit.lambda_, "r2": fit.r2, "converged": fit.converged}
