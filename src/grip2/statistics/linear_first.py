"""A cross-validated lasso before the network (not in the paper): it takes the linear part, the network what is left.

The lasso is hard to beat on linear signals and blind to all others; the network sees both but pays for its freedom.
Their importances are added in one unit: the share of the response's variance (of the deviance, for classes) that each
explains on held-out rows, divided among features in proportion to |S_j - S_j+p|. A part that predicts nothing weighs
nothing. (The lasso's share is cross-validated; the rows held out for the network took part in the lasso.) All columns, so
both members of every pair, are treated alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LassoCV

from grip2.statistics.base import standardise
from grip2.statistics.inputs import one_against_rest, threads_for
from grip2.statistics.lasso_cv import draw_folds, gram_fits, lasso_cv
from grip2.statistics.logistic_path import logistic_cv

FOLDS = 5


@dataclass(frozen=True)
class Part:
    """A lasso on all columns of [X, Xk] or on functions of them, and what it leaves to those that come after it."""

    name: str
    strength: np.ndarray  # (2p,) |coefficient|
    explained: float  # cross-validated share of the variance or deviance of the whole response
    response: np.ndarray  # (rows,) standardised residual, or the class numbers
    offset: np.ndarray | None  # (rows, outputs) logits, for classes
    penalty: list[float]  # the lasso's lambda, one for each fit


def fit_lasso(Z: np.ndarray, y: np.ndarray, *, task: str, rng: np.random.Generator) -> Part:
    """Cross-validated lasso of ``y`` on the standardised columns ``Z``; l1-logistic regressions for classes."""
    Z = np.asarray(Z, dtype=float)
    with threads_for(Z):
        if task == "classification":
            return _logistic(Z, y, rng)
        return _least_squares(Z, y, draw_folds(len(Z), min(FOLDS, len(Z)), rng))


def _least_squares(Z: np.ndarray, y: np.ndarray, folds: list[np.ndarray]) -> Part:
    if gram_fits(Z.shape[1]):
        fit = lasso_cv(Z, y, folds=folds)
        coefficients, intercept, penalty, explained = fit.coefficients, fit.intercept, fit.lambda_, fit.r2
    else:
        splits = [(np.setdiff1d(np.arange(len(Z)), rows), rows) for rows in folds]
        model = LassoCV(cv=splits, precompute=False).fit(Z, y)
        coefficients, intercept, penalty = model.coef_, float(model.intercept_), float(model.alpha_)
        explained = 1.0 - float(model.mse_path_.mean(axis=1).min() / max(y.var(), np.finfo(float).tiny))
    residual = standardise(y - Z @ coefficients - intercept)
    return Part("lasso", np.abs(coefficients), max(0.0, explained), residual, None, [penalty])


def _logistic(Z: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Part:
    """One against the rest; classes with fewer rows than folds get their share and no coefficients."""
    labels = one_against_rest(y)
    strength, offset, penalties = np.zeros(Z.shape[1]), np.empty((len(Z), len(labels))), []
    null = deviance = 0.0
    for k, label in enumerate(labels):
        share = float(label.mean())
        of_share = -float(share * np.log(share) + (1 - share) * np.log1p(-share))
        null += of_share
        if min(label.sum(), len(label) - label.sum()) < FOLDS:
            offset[:, k] = np.log(share / (1 - share))
            deviance += of_share
            continue
        fit = logistic_cv(Z, label, folds=draw_folds(len(Z), FOLDS, rng, labels=label))
        offset[:, k] = Z @ fit.coefficients + fit.intercept
        deviance += float(fit.errors.mean(axis=1).min())
        strength += np.abs(fit.coefficients)
        penalties.append(fit.lambda_)
    if len(labels) > 1:
        offset = _as_softmax(offset, y)
    return Part("lasso", strength, max(0.0, 1.0 - deviance / null), y, offset, penalties)


def _as_softmax(logits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One-against-rest logits as logits of a softmax: one common slope and an intercept for each class, by likelihood.

    Without it the shares of unequal classes would be wrong, and the network be credited for mending them.
    """
    truth = np.eye(logits.shape[1])[y.astype(int)]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scores = parameters[0] * logits + parameters[1:]
        gap = softmax(scores, axis=1) - truth
        value = float(np.mean(logsumexp(scores, axis=1) - (scores * truth).sum(axis=1)))
        return value, np.concatenate([[(gap * logits).sum(axis=1).mean()], gap.mean(axis=0)])

    start = np.concatenate([[1.0], np.zeros(logits.shape[1])])
    slope, *intercepts = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return slope * logits + np.array(intercepts)


def combined(parts: list[tuple[np.ndarray, float]]) -> np.ndarray:
    """Importances (2p,) of several parts, each with its explained share, in units of explained share."""
    total = np.zeros_like(parts[0][0], dtype=float)
    if not any(explained > 0 for _, explained in parts):
        # Nothing predicts: the parts count alike.
        parts = [(strength, 1.0) for strength, _ in parts]
    for strength, explained in parts:
        p = len(strength) // 2
        size = float(np.abs(strength[:p] - strength[p:]).sum())
        if size > 0:
            total += explained * strength / size
    return total


def describe(parts: Sequence[Part], network_explained: float) -> dict[str, Any]:
    """What was chosen, for the result's settings."""
    return {
        "rule": ", then ".join([f"cross-validated {part.name}" for part in parts] + ["a network on what is left"]),
        "lambda": {part.name: part.penalty for part in parts},
        **{f"explained_by_{part.name}": part.explained for part in parts},
        "explained_by_network": network_explained,
    }
