"""A cross-validated lasso as the linear part of a stage: by least squares, or by the likelihood of the response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr

from grip2.responses import Measurement, Response, share_explained
from grip2.statistics.augmented import threads_for
from grip2.statistics.lasso_cv import draw_folds, lasso_cv
from grip2.statistics.logistic_path import logistic_cv
from grip2.statistics.penalised_path import likelihood_cv, response_folds
from grip2.statistics.residual_lasso import FOLDS

# The prior of slope and intercepts counts as much as this many rows. Without it the slope would be infinite for separable
# classes, and the intercept for an absent class.
PRIOR_ROWS = 5


@dataclass(frozen=True)
class LassoPart:
    """A lasso on the columns of all members or on functions of them, and what it leaves to the next one."""

    strength: np.ndarray  # (members p,) |coefficient|
    share: float  # cross-validated, of the variance or deviance of the whole response
    response: (
        Response  # for the next model: the standardised residual, or the response itself if that model adds to `logits`
    )
    logits: np.ndarray | None  # (rows, outputs) to which the next model adds; None: a residual is left
    scale: float = 1.0  # deviation of the residual, where that of the whole response is 1
    penalties: tuple[float, ...] = ()  # the lasso's lambda, one for each contrast


def fit_linear_lasso(
    Z: np.ndarray, response: Response, *, rng: np.random.Generator, fit_rows: np.ndarray | None = None
) -> LassoPart:
    """Cross-validated lasso of the response on the standardised columns ``Z``.

    ``fit_rows``: the numbers of the rows to fit on, all by default. The residual, or the logits, are those of all rows.
    """
    Z = np.asarray(Z, dtype=float)
    fit_rows = np.arange(len(Z)) if fit_rows is None else fit_rows
    fit = {"least squares": _residual, "logistic": _logistic, "likelihood": _likelihood}[response.linear_model]
    with threads_for(Z):
        return fit(Z, response, fit_rows, rng)


def _likelihood(Z: np.ndarray, response: Response, fit_rows: np.ndarray, rng: np.random.Generator) -> LassoPart:
    """By the loss of a response whose one output is the linear predictor."""
    fitted = response.take(fit_rows)
    if len(fit_rows) < FOLDS:  # too few rows to cross-validate
        constant = np.tile(fitted.constant_outputs(prior_rows=1.0), (len(Z), 1))
        return LassoPart(np.zeros(Z.shape[1]), 0.0, response, constant)
    fit = likelihood_cv(Z[fit_rows], fitted, folds=response_folds(fitted, FOLDS, rng))
    outputs = (Z @ fit.coefficients + fit.intercept)[:, None]
    share = share_explained(float(fit.errors.mean(axis=1).min()), float(fit.errors[0].mean()))
    return LassoPart(np.abs(fit.coefficients), share, response, outputs, penalties=(fit.lambda_,))


def _residual(Z: np.ndarray, response: Response, fit_rows: np.ndarray, rng: np.random.Generator) -> LassoPart:
    """By least squares, with the residual for the next model."""
    if len(fit_rows) < 2:  # too few rows to cross-validate
        return LassoPart(np.zeros(Z.shape[1]), 0.0, response, None)
    y = response.y
    folds = draw_folds(len(fit_rows), min(FOLDS, len(fit_rows)), rng)
    own, target = (Z, y) if len(fit_rows) == len(Z) else (Z[fit_rows], y[fit_rows])
    fit = lasso_cv(own, target, folds=folds)
    residual = y - Z @ fit.coefficients - fit.intercept
    left = Measurement.residual(residual, fit_rows)
    return LassoPart(np.abs(fit.coefficients), max(0.0, fit.r2), left, None, left.scale, (fit.lambda_,))


def _logistic(Z: np.ndarray, response: Response, fit_rows: np.ndarray, rng: np.random.Generator) -> LassoPart:
    """Logistic, each class against the rest; classes with fewer rows than folds get their share and no coefficients."""
    own = Z if len(fit_rows) == len(Z) else Z[fit_rows]
    labels = response.contrasts
    strength, logits, penalties = np.zeros(Z.shape[1]), np.empty((len(Z), len(labels))), []
    null = deviance = 0.0
    for k, label in enumerate(labels):
        target = label[fit_rows]
        null_of_class = float(np.sum(entr([target.mean(), 1.0 - target.mean()])))
        null += null_of_class
        if min(target.sum(), len(target) - target.sum()) < FOLDS:
            share = (target.sum() + 1.0) / (len(target) + 2.0)  # finite logits, also for a class that no fitted row has
            logits[:, k] = np.log(share / (1 - share))
            deviance += null_of_class
            continue
        fit = logistic_cv(own, target, folds=draw_folds(len(fit_rows), FOLDS, rng, labels=target))
        logits[:, k] = Z @ fit.coefficients + fit.intercept
        deviance += float(fit.errors.mean(axis=1).min())
        strength += np.abs(fit.coefficients)
        penalties.append(fit.lambda_)
    if len(labels) > 1:
        logits = _as_softmax(logits, response, fit_rows)
    share = share_explained(deviance, null)
    return LassoPart(strength, share, response, logits, penalties=tuple(penalties))


def _as_softmax(logits: np.ndarray, response: Response, fit_rows: np.ndarray) -> np.ndarray:
    """One-against-rest logits as logits of a softmax: one common slope and an intercept for each class, by likelihood.

    Without this the shares of unequal classes would be wrong, and the network would get the credit for correcting them.
    """
    every, logits = logits, logits[fit_rows]
    fitted = response.take(fit_rows)
    start = np.concatenate([[1.0], np.zeros(logits.shape[1])])
    pull = PRIOR_ROWS / len(fit_rows)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scores, away = parameters[0] * logits + parameters[1:], parameters - start
        gap = -fitted.working_residual(scores)
        value = fitted.mean_loss(scores) + 0.5 * pull * away @ away
        gradient = np.concatenate([[(gap * logits).sum(axis=1).mean()], gap.mean(axis=0)])
        return value, gradient + pull * away

    slope, *intercepts = minimize(loss, start, jac=True, method="L-BFGS-B").x
    calibrated: np.ndarray = slope * every + np.array(intercepts)
    return calibrated
