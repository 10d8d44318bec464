"""What comes before the network (not in the paper), and how importances are added; here, a cross-validated lasso.

A lasso sees linear signals only, with few rows; the network sees all but pays for its freedom. Importances are added in one
unit: the share of the response's variance (of the deviance, for classes) that each part explains on held-out rows, divided
among features in proportion to |S_j - S_j+p|. A part that predicts nothing weighs nothing. All columns, so both members
of every pair, are treated alike.

Where the features found also act together, a network on the residual pays the penalty of every group anew for a small gain.
There it learns the whole response instead, and `magnification` makes the groups that were found cheaper for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import entr, logsumexp, softmax
from sklearn.linear_model import LassoCV

from grip2.statistics.base import standardise
from grip2.statistics.inputs import one_against_rest, threads_for
from grip2.statistics.lasso_cv import draw_folds, gram_fits, lasso_cv
from grip2.statistics.logistic_path import logistic_cv

FOLDS = 5
# A lasso's share counts as evidence in full when it is far above this many n-ths of the response's variance.
CHANCE_ROWS = 20
# Likelihood alone would send the slope to infinity where classes are separable, and the intercept of an absent class.
ROWS_FOR_THE_START = 5


@dataclass(frozen=True)
class Part:
    """A model of all columns of [X, Xk] or of functions of them, and what it leaves to those that come after it."""

    name: str
    strength: np.ndarray  # (2p,) |coefficient| or probability
    explained: float  # share of the variance or deviance of the whole response
    response: np.ndarray  # (rows,) standardised residual, or the class numbers
    offset: np.ndarray | None  # (rows, outputs) logits, for classes
    penalty: list[float]  # the lasso's lambda, one for each fit
    scale: float = 1.0  # deviation of the residual, where that of the whole response is 1
    probability: bool = False  # strength is the probability of having an effect


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


def magnification(parts: Sequence[Part], n_rows: int) -> np.ndarray:
    """(2p,) factors from 1 to 2 for the columns of a network that learns the whole response.

    A magnified column needs smaller weights for the same effect, so its group costs less. Both members of a pair get one
    factor: 1 + the probability that the pair has an effect or, of lassos, 2 for the pair of which they make most; the less
    lassos predict in all, the nearer to 1.
    """
    if all(part.probability for part in parts):
        p = len(parts[0].strength) // 2
        return np.tile(1.0 + np.minimum(1.0, sum(part.strength[:p] + part.strength[p:] for part in parts)), 2)
    strength = combined([(part.strength, part.explained) for part in parts])
    p = len(strength) // 2
    of_pair = strength[:p] + strength[p:]
    explained = sum(part.explained for part in parts)
    if explained <= 0 or of_pair.max() <= 0:
        return np.ones(2 * p)
    trust = explained / (explained + CHANCE_ROWS / n_rows)
    return np.tile(1.0 + trust * of_pair / of_pair.max(), 2)


# How a part is told to a user.
TOLD = {
    "additive": "a Bayesian additive model of pairs",
    "lasso": "cross-validated lasso",
    "curves": "cross-validated lasso on bent columns",
}


def describe(parts: Sequence[Part], network_explained: float, network: str) -> dict[str, Any]:
    """What was chosen, for the result's settings."""
    penalties = {part.name: part.penalty for part in parts if part.penalty}
    return {
        "rule": ", then ".join([*(TOLD[part.name] for part in parts), network]),
        **({"lambda": penalties} if penalties else {}),
        **{f"explained_by_{part.name}": part.explained for part in parts},
        "explained_by_network": network_explained,
    }
