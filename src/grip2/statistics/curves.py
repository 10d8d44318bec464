"""A second lasso, on bent copies of every column (not in the paper): it takes sums of curves of single features.

An absolute value, a threshold or a wave of single features is invisible to a lasso on the columns, and a network needs
thousands of rows to learn twenty of them. Each column gets the two shapes of `grip2.statistics.basis`. Orthogonal to the
column, they leave the first lasso what is its own. Shapes depend on the column alone, and pairs are kept or dropped as a
whole, so both members of every pair are treated alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from grip2.statistics.augmented import one_against_rest, threads_for
from grip2.statistics.base import standardise
from grip2.statistics.basis import Basis, blocks
from grip2.statistics.lasso_cv import GRAM_COLUMNS_MAX, draw_folds, lasso_cv
from grip2.statistics.lasso_first import FOLDS
from grip2.statistics.parts import Part

SHAPES = 2  # bent ones
# Numbers that the shapes of all columns may take in memory; beyond it the pairs that promise least are left out.
ENTRIES_MAX = 40_000_000
HELD_OUT_SHARE = 0.2


def fit_curves(
    Z: np.ndarray, before: Part, *, task: str, rng: np.random.Generator, rows: np.ndarray | None = None
) -> Part:
    """Cross-validated lasso of what ``before`` leaves on the shapes of the standardised columns ``Z`` (rows, 2p).

    ``rows``: the numbers of those to fit on, all by default; shapes, which do not look at the response, are of all rows.
    """
    residuals = _residuals(before, task)
    rows = np.arange(len(Z)) if rows is None else rows
    for_rows = rng.spawn(1)[0]
    with threads_for(Z):
        columns, rows = _promising_columns(Z, residuals, rows, for_rows)
        B = shapes(Z if len(columns) == Z.shape[1] else Z[:, columns])
        if not B.any():
            return replace(before, name="curves", strength=np.zeros(Z.shape[1]), explained=0.0, penalty=[])
        fit = _fit(B, residuals, rows, rng)
        strength = np.zeros(Z.shape[1])
        strength[columns] = fit.strength
        if task == "regression":
            left, share = before.response - fit.fitted[:, 0], fit.r2 * (1.0 - before.explained)
            scale = before.scale * float(left.std())
            return Part("curves", strength, share, standardise(left), None, fit.penalties, scale)
        share = _held_out_deviance(B, residuals, rows, before, rng) * (1.0 - before.explained)
    offset = _raised(before.offset, fit.fitted, before.response, rows) if share > 0 else before.offset
    return Part("curves", strength, share, before.response, offset, fit.penalties)


class _Fit(NamedTuple):
    strength: np.ndarray  # (columns,)
    fitted: np.ndarray  # (rows, outputs); zero where cross-validation finds nothing
    r2: float  # cross-validated share of the residuals' variance
    penalties: list[float]


def _fit(B: np.ndarray, residuals: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> _Fit:
    """One lasso for each output on some of the rows, applied to all of them."""
    strength, explained, fitted = np.zeros(B.shape[1] // SHAPES), 0.0, np.zeros_like(residuals)
    penalties: list[float] = []
    if len(rows) < 2:  # nothing to validate on
        return _Fit(strength, fitted, explained, penalties)
    of_rows = B if len(rows) == len(B) else B[rows]
    total = max(float(residuals[rows].var(axis=0).sum()), np.finfo(float).tiny)
    for k, residual in enumerate(residuals[rows].T):
        fit = lasso_cv(of_rows, residual, folds=draw_folds(len(rows), min(FOLDS, len(rows)), rng))
        penalties.append(fit.lambda_)
        if fit.r2 > 0:
            strength += np.sqrt((fit.coefficients.reshape(SHAPES, -1) ** 2).sum(axis=0))
            explained += fit.r2 * float(residual.var()) / total
            fitted[:, k] = B @ fit.coefficients + fit.intercept
    return _Fit(strength, fitted, explained, penalties)


def shapes(Z: np.ndarray) -> np.ndarray:
    """``[V, S]`` of every column, (rows, 2 columns): mean 0, deviation 1, uncorrelated with their column and each other."""
    n_columns = Z.shape[1]
    found = np.empty((len(Z), SHAPES * n_columns))
    for here in blocks(n_columns, len(Z)):
        _, V, S = Basis.fit(Z[:, here]).of(Z[:, here])
        found[:, here] = V
        found[:, here.start + n_columns : here.stop + n_columns] = S
    return found


def _promising_columns(
    Z: np.ndarray, residuals: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns to bend, and of the rows to fit on: all of both, where they fit into memory.

    Of wide or long tables, the pairs whose shapes correlate most with a residual on a random half of the rows. The fit then
    takes the other half: on rows that chose the pairs, noise would seem to be explained.
    """
    p = Z.shape[1] // 2
    most = max(1, min(GRAM_COLUMNS_MAX, ENTRIES_MAX // len(Z)) // (2 * SHAPES))
    if p <= most:
        return np.arange(2 * p), rows
    order = rng.permutation(rows)
    judges, fitted = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
    against = standardise(residuals[judges])
    promise = np.zeros(2 * p)
    for here in blocks(2 * p, len(judges)):
        correlation = np.abs(shapes(Z[judges, here]).T @ against).max(axis=1)
        promise[here] = correlation.reshape(SHAPES, -1).max(axis=0)
    kept = np.sort(np.argsort(-np.maximum(promise[:p], promise[p:]), kind="stable")[:most])
    return np.concatenate([kept, kept + p]), fitted


def _residuals(before: Part, task: str) -> np.ndarray:
    """What is left of the response, or of the 0/1 labels of every class, (rows, outputs)."""
    if task == "regression":
        return before.response[:, None]
    labels = np.stack(one_against_rest(before.response), axis=1)
    return labels - _probabilities(before.offset)


def _probabilities(logits: np.ndarray | None) -> np.ndarray:
    assert logits is not None
    return expit(logits) if logits.shape[1] == 1 else softmax(logits, axis=1)


def _held_out_deviance(
    B: np.ndarray, residuals: np.ndarray, rows: np.ndarray, before: Part, rng: np.random.Generator
) -> float:
    """Share of the deviance on rows held out that a fit to the others explains, beyond the logits before it."""
    order = rng.permutation(rows)
    n_held_out = max(1, round(HELD_OUT_SHARE * len(rows)))
    held_out, kept = order[:n_held_out], np.sort(order[n_held_out:])
    if len(kept) < 2:
        return 0.0
    fit = _fit(B, residuals, kept, rng)
    after = _raised(before.offset, fit.fitted, before.response, kept)
    assert before.offset is not None
    null = _deviance(before.offset[held_out], before.response[held_out])
    return max(0.0, 1.0 - _deviance(after[held_out], before.response[held_out]) / null) if null > 0 else 0.0


def _raised(offset: np.ndarray | None, fitted: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Logits after a step along the fitted residuals, whose length has the largest likelihood on the given rows."""
    assert offset is not None
    probability = _probabilities(offset)
    # One Newton step where all rows are alike; the length then is about 1.
    direction = fitted / np.maximum((probability * (1.0 - probability)).mean(axis=0), 1e-3)

    def loss(length: float) -> float:
        return _deviance(offset[rows] + length * direction[rows], y[rows])

    length = float(minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded").x)
    return offset + length * direction if loss(length) < loss(0.0) else offset


def _deviance(logits: np.ndarray, y: np.ndarray) -> float:
    """Mean negative log-likelihood of class numbers."""
    if logits.shape[1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    return -float(log_softmax(logits, axis=1)[np.arange(len(y)), y.astype(int)].mean())
