"""How the levels of a selected category differ: a description for people, without an error guarantee."""

from __future__ import annotations

import numpy as np

from grip2.facts import LevelContrast
from grip2.responses import Response
from grip2.tables import PreparedTable, Role

# Relative ridge of the least-squares fit: only there so that collinear columns do not make it fail.
_RIDGE = 1e-6


def level_contrasts(table: PreparedTable, response: Response, selected: np.ndarray) -> tuple[LevelContrast, ...]:
    """Differences of the levels of every selected category to its reference.

    Least squares of the null model's working residual on the columns of all selected units (a mask); for a measurement the unit
    is the standard deviation of y, for two classes the probability of the second. Missing values are at the column's mean.
    Empty for responses with several outputs.
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
    return tuple(
        LevelContrast(
            variable.name,
            level,
            variable.levels[0],
            int(np.nansum(table.X[:, column])),
            float(effect[place[column]]),
            float(error[place[column]]),
        )
        for variable in chosen
        for level, column in zip(variable.levels[1:], variable.columns, strict=True)
    )
