"""A cross-validated lasso on the bent basis functions of every column, for sums of curves of single features.

Basis functions depend on the column alone, and a column is kept or dropped in all members, so all members are treated alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grip2.responses import Measurement, Response, share_explained
from grip2.standardise import standardise
from grip2.statistics.augmented import threads_for
from grip2.statistics.basis import CURVED, Basis, column_blocks
from grip2.statistics.held_out import split_rows
from grip2.statistics.lasso_cv import GRAM_COLUMNS_MAX
from grip2.statistics.linear_lasso import LassoPart
from grip2.statistics.residual_lasso import fit_residuals, moved
from grip2.units import Layout

CURVES = 2  # bent basis functions of a column
# Entries of the table of all functions at most; beyond it the least correlated columns are left out.
ENTRIES_MAX = 40_000_000


def fit_curve_lasso(
    Z: np.ndarray,
    layout: Layout,
    before: LassoPart,
    *,
    rng: np.random.Generator,
    fit_rows: np.ndarray | None = None,
) -> LassoPart:
    """Cross-validated lasso of what ``before`` leaves, on the curves of the standardised columns ``Z`` (rows, members p).

    ``fit_rows``: the numbers of the rows to fit on, all by default. Curves do not look at the response; they are made from all
    rows.
    """
    outputs = np.zeros((len(Z), 1)) if before.logits is None else before.logits
    residuals = before.response.working_residual(outputs)
    fit_rows = np.arange(len(Z)) if fit_rows is None else fit_rows
    for_choice = rng.spawn(1)[0]
    with threads_for(Z):
        columns, fit_rows = _promising_columns(Z, layout, residuals, fit_rows, for_choice)
        B = curves_of(Z if len(columns) == Z.shape[1] else Z[:, columns])
        if not B.any():
            return replace(before, strength=np.zeros(Z.shape[1]), share=0.0, penalties=())
        fit = fit_residuals(B, residuals, fit_rows, rng, functions=CURVES)
        strength = np.zeros(Z.shape[1])
        strength[columns] = fit.strength
        if before.logits is None:
            left, share = before.response.y - fit.fitted[:, 0], fit.r2 * (1.0 - before.share)
            residual = Measurement.residual(left, fit_rows)
            return LassoPart(strength, share, residual, None, before.scale * residual.scale, fit.penalties)
        share = _held_out_share(B, residuals, fit_rows, before.response, before.logits, rng) * (1.0 - before.share)
    logits = moved(before.response, before.logits, fit.fitted, fit_rows) if share > 0 else before.logits
    return LassoPart(strength, share, before.response, logits, penalties=fit.penalties)


def curves_of(Z: np.ndarray) -> np.ndarray:
    """``[V, S]`` of every column, (rows, 2 columns): mean 0, deviation 1, uncorrelated with their column and each other."""
    n_columns = Z.shape[1]
    found = np.empty((len(Z), CURVES * n_columns))
    for here in column_blocks(n_columns, len(Z)):
        _, V, S = Basis.fit(Z[:, here], CURVED).evaluate(Z[:, here])
        found[:, here] = V
        found[:, here.start + n_columns : here.stop + n_columns] = S
    return found


def _promising_columns(
    Z: np.ndarray, layout: Layout, residuals: np.ndarray, fit_rows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the columns whose curves are used, and of the rows to fit on: all of both, if they fit into memory.

    Of wide or long tables, the columns whose curves, in any member, correlate most with a residual on a random half of the
    rows. The fit then uses the other half only: on rows that chose the columns it would seem to explain noise.
    """
    p = layout.units.n_columns
    most = max(1, min(GRAM_COLUMNS_MAX, ENTRIES_MAX // len(Z)) // (layout.members * CURVES))
    if p <= most:
        return np.arange(layout.n_columns), fit_rows
    order = rng.permutation(fit_rows)
    judges, fitted = np.sort(order[: len(fit_rows) // 2]), np.sort(order[len(fit_rows) // 2 :])
    against = standardise(residuals[judges])
    promise = np.zeros(layout.n_columns)
    for here in column_blocks(layout.n_columns, len(judges)):
        correlation = np.abs(curves_of(Z[judges, here]).T @ against).max(axis=1)
        promise[here] = correlation.reshape(CURVES, -1).max(axis=0)
    kept = np.sort(np.argsort(-layout.by_member(promise).max(axis=0), kind="stable")[:most])
    return np.concatenate([kept + member * p for member in range(layout.members)]), fitted


def _held_out_share(
    B: np.ndarray,
    residuals: np.ndarray,
    fit_rows: np.ndarray,
    response: Response,
    logits: np.ndarray,
    rng: np.random.Generator,
) -> float:
    """Share of the deviance of held-out rows that a fit to the other rows explains beyond the given logits."""
    kept, held_out = (fit_rows[places] for places in split_rows(len(fit_rows), rng))
    kept = np.sort(kept)
    if len(kept) < 2:
        return 0.0
    fit = fit_residuals(B, residuals, kept, rng, functions=CURVES)
    after = moved(response, logits, fit.fitted, kept)
    judged = response.take(held_out)
    null = judged.mean_loss(logits[held_out])
    return share_explained(judged.mean_loss(after[held_out]), null)
