"""A second lasso, on bent copies of every column (not in the paper): it takes sums of curves, the network what is left.

An absolute value, a threshold or a wave of single features is invisible to a lasso on the columns, and a network needs
thousands of rows to learn twenty of them. Each column gets two shapes of its own, cut at its quartiles: a V, which
follows what is even, and an S, which follows what flattens out or turns back. Made orthogonal to the column, they leave the
first lasso what is its own. Shapes depend on the column alone, and pairs are kept or dropped as a whole, so both members
of every pair are treated alike.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from grip2.statistics.base import standardise
from grip2.statistics.inputs import one_against_rest, threads_for
from grip2.statistics.lasso_cv import GRAM_COLUMNS_MAX, draw_folds, lasso_cv
from grip2.statistics.linear_first import FOLDS, Part

SHAPES = 2
# Numbers that the shapes of all columns may take in memory; beyond it the pairs that promise least are left out.
ENTRIES_MAX = 40_000_000
QUARTILE_ROWS = 10_000
# A shape that the column itself explains but for this share (0/1 columns: all of it) is none.
LEAST_SHAPE = 1e-6


def fit_curves(Z: np.ndarray, before: Part, *, task: str, rng: np.random.Generator) -> Part:
    """Cross-validated lasso of what ``before`` leaves on the shapes of the standardised columns ``Z`` (rows, 2p)."""
    Z = np.asarray(Z, dtype=float)
    residuals = _residuals(before, task)
    strength, explained, penalties = np.zeros(Z.shape[1]), 0.0, []
    fitted = np.zeros_like(residuals)
    total = float(residuals.var(axis=0).sum())
    with threads_for(Z):
        columns, B = _shapes_of_promising_pairs(Z, residuals)
        for k, residual in enumerate(residuals.T if B.any() else []):
            fit = lasso_cv(B, residual, folds=draw_folds(len(B), min(FOLDS, len(B)), rng))
            penalties.append(fit.lambda_)
            if fit.r2 > 0:
                of_shapes = fit.coefficients.reshape(SHAPES, -1)
                strength[columns] += np.sqrt((of_shapes**2).sum(axis=0))
                explained += fit.r2 * float(residual.var()) / total
                fitted[:, k] = B @ fit.coefficients + fit.intercept
    share = explained * (1.0 - before.explained)
    if task == "regression":
        return Part("curves", strength, share, standardise(before.response - fitted[:, 0]), None, penalties)
    offset = _raised(before.offset, fitted, before.response)
    return Part("curves", strength, share, before.response, offset, penalties)


def shapes(Z: np.ndarray) -> np.ndarray:
    """``[V, S]`` of every column, (rows, 2 columns): mean 0, deviation 1, uncorrelated with their column and each other.

    With ``h_q(z) = max(0, z - q)``: V is h at the median, S is h at the lower less h at the upper quartile.
    """
    cuts = np.quantile(Z[:: max(1, len(Z) // QUARTILE_ROWS)], [0.25, 0.5, 0.75], axis=0)
    low, middle, high = (np.maximum(Z - cut, 0.0) for cut in cuts)
    base = [standardise(Z)]
    for shape in (middle, low - high):
        rest = shape - shape.mean(axis=0)
        scale = rest.std(axis=0)
        for earlier in base:
            rest -= earlier * (rest * earlier).mean(axis=0)
        real = rest.std(axis=0) > LEAST_SHAPE * np.maximum(scale, np.finfo(float).tiny)
        base.append(standardise(rest) * real)
    return np.concatenate(base[1:], axis=1)


def _shapes_of_promising_pairs(Z: np.ndarray, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column numbers and their shapes; of wide or long tables, the pairs whose shapes correlate most with a residual."""
    n, p = len(Z), Z.shape[1] // 2
    most = min(GRAM_COLUMNS_MAX, ENTRIES_MAX // n) // (2 * SHAPES)
    if p <= most:
        return np.arange(2 * p), shapes(Z)
    promise = np.zeros(2 * p)
    for start in range(0, 2 * p, 100):
        here = slice(start, min(start + 100, 2 * p))
        correlation = np.abs(shapes(Z[:, here]).T @ standardise(residuals)).max(axis=1)
        promise[here] = correlation.reshape(SHAPES, -1).max(axis=0)
    kept = np.sort(np.argsort(-np.maximum(promise[:p], promise[p:]), kind="stable")[: max(1, most)])
    columns = np.concatenate([kept, kept + p])
    return columns, shapes(Z[:, columns])


def _residuals(before: Part, task: str) -> np.ndarray:
    """What is left of the response, or of the 0/1 labels of every class, (rows, outputs)."""
    if task == "regression":
        return before.response[:, None]
    labels = np.stack(one_against_rest(before.response), axis=1)
    return labels - _probabilities(before.offset)


def _probabilities(logits: np.ndarray | None) -> np.ndarray:
    assert logits is not None
    return expit(logits) if logits.shape[1] == 1 else softmax(logits, axis=1)


def _raised(offset: np.ndarray | None, fitted: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logits after a step along the fitted residuals, whose length has the largest likelihood."""
    assert offset is not None
    probability = _probabilities(offset)
    # One Newton step where all rows are alike; the length then is about 1.
    direction = fitted / np.maximum((probability * (1.0 - probability)).mean(axis=0), 1e-3)

    def loss(length: float) -> float:
        logits = offset + length * direction
        if logits.shape[1] == 1:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        return -float(log_softmax(logits, axis=1)[np.arange(len(y)), y.astype(int)].mean())

    length = float(minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded").x)
    return offset + length * direction if loss(length) < loss(0.0) else offset
