"""How strong the signal of the user's own response is: the share of its variance that models explain on held-out rows.

What a model explains on rows it has not seen is, apart from chance, at most what there is to explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from grip2.calibration.plan import MOST_STRENGTH
from grip2.calibration.signals import Functions
from grip2.responses import Measurement, Response
from grip2.standardise import standardise
from grip2.statistics.lasso_cv import GRAM_COLUMNS_MAX, draw_folds
from grip2.statistics.linear_lasso import fit_linear_lasso

# Where held-out rows confirm less than LEAST, the strength is unknown, and as much signal as noise is assumed.
LEAST, FALLBACK = 0.02, 0.5
FOLDS = 5
FEWEST_ROWS = 30
MOST_ROWS = 5_000
# Boosted trees are tried on tables of at most so many entries, and for at most so many variables that stand for y.
_MOST_ENTRIES, _MOST_CONTRASTS = 500_000, 3


@dataclass(frozen=True)
class Strength:
    """A share of variance, and in words where it comes from."""

    share: float
    reason: str


def given_strength(share: float) -> Strength:
    return Strength(float(share), "given")


def estimated_strength(functions: Functions, response: Response, rng: np.random.Generator) -> Strength:
    """The larger of the shares that a lasso on lines and bends and boosted trees explain on held-out rows."""
    n_rows = len(response)
    if n_rows < FEWEST_ROWS:
        return Strength(FALLBACK, f"assumed: {n_rows} rows are too few for an estimate")
    rows = np.sort(rng.permutation(n_rows)[:MOST_ROWS])
    targets = [column[rows] for column in response.contrasts]
    weights = np.array([float(target.var()) for target in targets])
    some = functions.take(rows)
    with threadpool_limits(limits=1):
        found = {"a lasso on lines and bends of the columns": _lasso(some, targets, weights, rng)}
        if some.lines.size <= _MOST_ENTRIES and len(targets) <= _MOST_CONTRASTS:
            found["boosted trees"] = _trees(some.lines, targets, weights, rng)
    model, share = max(found.items(), key=lambda entry: entry[1])
    what = f"the share of the variance of your response that is explained on held-out rows, by {model}"
    if share < LEAST:
        return Strength(FALLBACK, f"assumed: {what}, is below {LEAST:g}, so that nothing is known of its strength")
    # To two digits: nothing is known more exactly, and another order of sums on another machine cannot change it.
    return Strength(min(MOST_STRENGTH, round(share, 2)), what)


def _lasso(functions: Functions, targets: list[np.ndarray], weights: np.ndarray, rng: np.random.Generator) -> float:
    lines = functions.lines
    Z = np.hstack([lines, functions.bends]) if 2 * lines.shape[1] <= GRAM_COLUMNS_MAX else lines
    shares = [fit_linear_lasso(Z, Measurement(standardise(target)), rng=rng).share for target in targets]
    return float(weights @ shares / weights.sum())


def _trees(lines: np.ndarray, targets: list[np.ndarray], weights: np.ndarray, rng: np.random.Generator) -> float:
    folds = draw_folds(len(lines), FOLDS, rng)
    shares = []
    for target in targets:
        left = np.empty(len(target))
        for held_out in folds:
            kept = np.setdiff1d(np.arange(len(target)), held_out)
            model = HistGradientBoostingRegressor(random_state=0).fit(lines[kept], target[kept])
            left[held_out] = target[held_out] - model.predict(lines[held_out])
        shares.append(max(0.0, 1.0 - float(np.mean(left**2)) / max(float(target.var()), np.finfo(float).tiny)))
    return float(weights @ shares / weights.sum())
