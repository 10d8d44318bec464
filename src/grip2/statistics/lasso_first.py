"""A cross-validated lasso before the network (not in the paper): it takes the linear part of the response.

For classes: l1-penalised logistic regressions, one against the rest, brought together as logits of a softmax.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, logsumexp, softmax
from sklearn.linear_model import LassoCV

from grip2.statistics.augmented import one_against_rest, threads_for
from grip2.statistics.base import standardise
from grip2.statistics.lasso_cv import draw_folds, gram_fits, lasso_cv
from grip2.statistics.logistic_path import logistic_cv
from grip2.statistics.parts import Part

FOLDS = 5
# Likelihood alone would send the slope to infinity where classes are separable, and the intercept of an absent class.
ROWS_FOR_THE_START = 5


def fit_lasso(
    Z: np.ndarray, y: np.ndarray, *, task: str, rng: np.random.Generator, rows: np.ndarray | None = None
) -> Part:
    """Cross-validated lasso of ``y`` on the standardised columns ``Z``; l1-logistic regressions for classes.

    ``rows``: the numbers of those to fit on, all by default. What is left, or the logits, are those of all rows.
    """
    Z = np.asarray(Z, dtype=float)
    rows = np.arange(len(Z)) if rows is None else rows
    with threads_for(Z):
        return _logistic(Z, y, rows, rng) if task == "classification" else _least_squares(Z, y, rows, rng)


def _least_squares(Z: np.ndarray, y: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> Part:
    if len(rows) < 2:  # nothing to validate on
        return Part("lasso", np.zeros(Z.shape[1]), 0.0, y, None, [])
    folds = draw_folds(len(rows), min(FOLDS, len(rows)), rng)
    own, target = (Z, y) if len(rows) == len(Z) else (Z[rows], y[rows])
    if gram_fits(Z.shape[1]):
        fit = lasso_cv(own, target, folds=folds)
        coefficients, intercept, penalty, explained = fit.coefficients, fit.intercept, fit.lambda_, fit.r2
    else:
        splits = [(np.setdiff1d(np.arange(len(rows)), fold), fold) for fold in folds]
        model = LassoCV(cv=splits, precompute=False).fit(own, target)
        coefficients, intercept, penalty = model.coef_, float(model.intercept_), float(model.alpha_)
        explained = 1.0 - float(model.mse_path_.mean(axis=1).min() / max(target.var(), np.finfo(float).tiny))
    residual = y - Z @ coefficients - intercept
    return Part(
        "lasso",
        np.abs(coefficients),
        max(0.0, explained),
        standardise(residual),
        None,
        [penalty],
        float(residual.std()),
    )


def _logistic(Z: np.ndarray, y: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> Part:
    """One against the rest; classes with fewer rows than folds get their share and no coefficients."""
    labels = one_against_rest(y)
    own = Z if len(rows) == len(Z) else Z[rows]
    strength, offset, penalties = np.zeros(Z.shape[1]), np.empty((len(Z), len(labels))), []
    null = deviance = 0.0
    for k, label in enumerate(labels):
        target = label[rows]
        of_share = float(np.sum(entr([target.mean(), 1.0 - target.mean()])))
        null += of_share
        if min(target.sum(), len(target) - target.sum()) < FOLDS:
            share = label.mean()  # of all rows: those fitted may hold none
            offset[:, k] = np.log(share / (1 - share))
            deviance += of_share
            continue
        fit = logistic_cv(own, target, folds=draw_folds(len(rows), FOLDS, rng, labels=target))
        offset[:, k] = Z @ fit.coefficients + fit.intercept
        deviance += float(fit.errors.mean(axis=1).min())
        strength += np.abs(fit.coefficients)
        penalties.append(fit.lambda_)
    if len(labels) > 1:
        offset = _as_softmax(offset, y, rows)
    explained = max(0.0, 1.0 - deviance / null) if null > 0 else 0.0
    return Part("lasso", strength, explained, y, offset, penalties)


def shares_as_logits(y: np.ndarray) -> np.ndarray:
    """(outputs,) what a network that knows the shares of the classes only puts out."""
    share = np.array([label.mean() for label in one_against_rest(y)])
    return np.log(share / (1.0 - share)) if len(share) == 1 else np.log(share)


def _as_softmax(logits: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """One-against-rest logits as logits of a softmax: one common slope and an intercept for each class, by likelihood.

    Without it the shares of unequal classes would be wrong, and the network be credited for mending them.
    """
    every, logits = logits, logits[rows]
    truth = np.eye(logits.shape[1])[y[rows].astype(int)]
    start = np.concatenate([[1.0], np.zeros(logits.shape[1])])
    pull = ROWS_FOR_THE_START / len(rows)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scores, away = parameters[0] * logits + parameters[1:], parameters - start
        gap = softmax(scores, axis=1) - truth
        value = float(np.mean(logsumexp(scores, axis=1) - (scores * truth).sum(axis=1))) + 0.5 * pull * away @ away
        gradient = np.concatenate([[(gap * logits).sum(axis=1).mean()], gap.mean(axis=0)])
        return value, gradient + pull * away

    slope, *intercepts = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return slope * every + np.array(intercepts)
