"""Checks of an S that the user gives instead of the name of a solver."""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix._groups import in_form
from grip2.knockoffs.s_matrix._scale import RIDGE, ceiling_of, cholesky_factor, correlation_scale
from grip2.units import Units

_ADVICE = "or name a solver, such as s='mvr'."


def checked(values: np.ndarray, Sigma: np.ndarray, *, who: str, copies: int, units: Units | None) -> np.ndarray:
    """The values if they are feasible; with groups always as a (p, p) matrix, also where a vector was given."""
    ceiling = ceiling_of(copies)
    R, variance = correlation_scale(Sigma)
    p = len(R)
    if units is not None and values.shape == (p, p):
        S = _checked_blocks(values, variance, who=who, units=units)
        correlation = S / np.sqrt(np.outer(variance, variance))
    elif values.shape == (p,) and np.all(values >= 0):
        S, correlation = in_form(values, units), np.diag(values / variance)
    else:
        matrix = "" if units is None else f" or be a block-diagonal matrix of shape ({p}, {p})"
        raise Grip2Error(
            f"{who}: s must hold {p} values, all nonnegative{matrix}, got an array of shape {values.shape} with "
            f"minimum {values.min() if values.size else float('nan'):.3g}."
        )
    if cholesky_factor(ceiling * R - correlation + ceiling * RIDGE * np.eye(p)) is None:
        fewer = "" if copies == 1 else " draw fewer copies (copies=1),"
        raise Grip2Error(
            f"{who}: {ceiling:.4g} Sigma - S must be positive semidefinite for copies={copies}, and is not for the s given. "
            f"Make s smaller,{fewer} {_ADVICE}"
        )
    return S


def _checked_blocks(S: np.ndarray, variance: np.ndarray, *, who: str, units: Units) -> np.ndarray:
    """S if it is symmetric, zero between groups and positive semidefinite inside each."""
    root = np.sqrt(variance)
    relative = S / np.outer(root, root)
    if not np.all(np.isfinite(S)) or np.abs(relative - relative.T).max() > 1e-8:
        raise Grip2Error(f"{who}: s given as a matrix must be finite and symmetric. Symmetrise it, {_ADVICE}")
    between = np.not_equal.outer(units.of_column, units.of_column)
    if np.any(S[between]):
        row, column = np.argwhere(between & (S != 0))[0]
        raise Grip2Error(
            f"{who}: s given as a matrix must be zero between columns of different groups, got {S[row, column]:.3g} at "
            f"[{row}, {column}]. Set these entries to zero, {_ADVICE}"
        )
    for columns in units.columns:
        block = relative[np.ix_(columns, columns)]
        if cholesky_factor(block + RIDGE * np.eye(len(columns))) is None:
            raise Grip2Error(
                f"{who}: every block of s must be positive semidefinite, and the block of columns {columns[:5].tolist()} is "
                f"not. Correct it, {_ADVICE}"
            )
    return np.asarray((S + S.T) / 2)
