"""How the levels of a selected category differ: a description for people, without an error guarantee."""

from __future__ import annotations

import numpy as np

from grip2.facts import LevelContrast
from grip2.responses import Response
from grip2.tables import PreparedTable, Role
from grip2.tables.records import Variable

# Relative ridge of the least-squares fit: only there so that collinear columns do not make it fail. Combinations of standardised
# columns with a smaller variance than this are decided by the ridge, not by the data.
_RIDGE = 1e-6
# A column with at least this part in such combinations has no estimate of its own; rounding leaves less.
_PART = 1e-4


def level_contrasts(table: PreparedTable, response: Response, selected: np.ndarray) -> tuple[LevelContrast, ...]:
    """Differences of the levels of every selected category to its reference.

    Least squares of the null model's working residual on the columns of all selected units (a mask); for a measurement the unit
    is the standard deviation of y, for two classes the probability of the second. Missing values are at the column's mean.
    Where the other selected columns determine those of a level, as cities do postal codes, it has no difference. Empty for
    responses with several outputs.
    """
    columns = np.flatnonzero(selected[table.units.units.of_column])
    chosen = [variable for variable in table.variables if variable.role == Role.CATEGORY and variable.columns]
    chosen = [variable for variable in chosen if np.isin(variable.columns, columns).all()]
    if not chosen or response.n_outputs != 1:
        return ()
    X = table.X[:, columns].astype(float)
    mean = np.nanmean(X, axis=0)
    X = np.where(np.isnan(X), mean, X) - mean
    constant = np.broadcast_to(response.constant_outputs(), (len(response), 1))
    y = response.working_residual(constant)[:, 0]
    gram = X.T @ X
    inverse = np.linalg.inv(gram + _RIDGE * np.diag(np.maximum(np.diag(gram), 1e-300)))
    effect = inverse @ (X.T @ (y - y.mean()))
    left = y - y.mean() - X @ effect
    error = np.sqrt(np.diag(inverse) * float(left @ left) / max(1, len(y) - X.shape[1] - 1))
    place = {int(column): k for k, column in enumerate(columns)}
    shared = _undecided(gram)

    def contrast(variable: Variable, level: str, column: int) -> LevelContrast:
        k = place[column]
        known = shared[k, k] < _PART
        others = columns[np.abs(shared[k]) >= _PART]
        return LevelContrast(
            variable.name,
            level,
            variable.levels[0],
            int(np.nansum(table.X[:, column])),
            float(effect[k]) if known else None,
            float(error[k]) if known else None,
            () if known else _names(table, others, besides=variable),
        )

    return tuple(
        contrast(variable, level, int(column))
        for variable in chosen
        for level, column in zip(variable.levels[1:], variable.columns, strict=True)
    )


def _undecided(gram: np.ndarray) -> np.ndarray:
    """Projection on the combinations of standardised columns that hardly vary: what least squares cannot decide.

    A coefficient can be estimated if and only if its column has no part in them.
    """
    deviation = np.sqrt(np.diag(gram))
    unit = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(gram / unit / unit[:, None])
    empty = vectors[:, values <= _RIDGE]
    return np.asarray(empty @ empty.T)


def _names(table: PreparedTable, columns: np.ndarray, *, besides: Variable) -> tuple[str, ...]:
    """Of the user's columns behind these, without one."""
    return tuple(
        variable.name
        for variable in table.variables
        if variable.name != besides.name and np.isin(variable.columns, columns).any()
    )
