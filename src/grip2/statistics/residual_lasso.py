"""Cross-validated lassos of the residuals of a model, and a step of the model along what they fit.

For responses that are modelled by outputs on another scale (logits, logarithms of counts) this is one Newton step: lassos of the
working residuals on some columns, then a step along the fitted residuals whose length is chosen by the loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from grip2.responses import Response
from grip2.statistics.lasso_cv import draw_folds, lasso_cv

FOLDS = 5
LEAST_CURVATURE = 1e-3


class ResidualFit(NamedTuple):
    """Lassos of residuals, one for each output."""

    strength: np.ndarray  # (columns,) norm of the coefficients of a column's functions, summed over outputs
    fitted: np.ndarray  # (rows, outputs); zero where cross-validation finds nothing
    r2: float  # cross-validated share of the residuals' variance
    penalties: tuple[float, ...]


def fit_residuals(
    B: np.ndarray, residuals: np.ndarray, fit_rows: np.ndarray, rng: np.random.Generator, *, functions: int = 1
) -> ResidualFit:
    """Lassos of ``residuals`` (rows, outputs) on some of the rows, applied to all of them.

    ``B`` (rows, functions x columns) holds several functions of every column, one function after the other.
    """
    strength, explained, fitted = np.zeros(B.shape[1] // functions), 0.0, np.zeros_like(residuals)
    penalties: list[float] = []
    if len(fit_rows) < 2:  # too few rows to cross-validate
        return ResidualFit(strength, fitted, explained, ())
    of_rows = B if len(fit_rows) == len(B) else B[fit_rows]
    total = max(float(residuals[fit_rows].var(axis=0).sum()), np.finfo(float).tiny)
    for k, residual in enumerate(residuals[fit_rows].T):
        fit = lasso_cv(of_rows, residual, folds=draw_folds(len(fit_rows), min(FOLDS, len(fit_rows)), rng))
        penalties.append(fit.lambda_)
        if fit.r2 > 0:
            strength += np.sqrt((fit.coefficients.reshape(functions, -1) ** 2).sum(axis=0))
            explained += fit.r2 * float(residual.var()) / total
            fitted[:, k] = B @ fit.coefficients + fit.intercept
    return ResidualFit(strength, fitted, explained, tuple(penalties))


def moved(response: Response, outputs: np.ndarray, fitted: np.ndarray, fit_rows: np.ndarray) -> np.ndarray:
    """Outputs after a step along the fitted residuals, of the length that has the least loss on the given rows."""
    # A Newton step with the mean curvature of the rows: if all rows have the same, the best length is about 1.
    direction = fitted / np.maximum(response.curvature(outputs).mean(axis=0), LEAST_CURVATURE)
    judged = response.take(fit_rows)

    def loss(length: float) -> float:
        return judged.mean_loss(outputs[fit_rows] + length * direction[fit_rows])

    length = float(minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded").x)
    return outputs + length * direction if loss(length) < loss(0.0) else outputs
