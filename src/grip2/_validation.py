"""Checks of a user's columns and response that scikit-learn does not make, and the smallest sizes of a table."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error

MIN_ROWS = 10
MIN_FEATURES = 2


def one_sample(n_rows: int) -> str:
    """A number of rows, with the words for one row that scikit-learn's checks of estimators look for."""
    return "one sample" if n_rows == 1 else f"{n_rows}"


def column_names(X: Any, who: str) -> tuple[str, ...] | None:
    """Names of the columns of a frame, whatever their type; None for an array."""
    columns = getattr(X, "column_names", None)  # of pyarrow, whose `columns` are the data
    columns = getattr(X, "columns", None) if columns is None else columns
    if columns is None:
        return None
    names = tuple(str(name) for name in columns)
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise Grip2Error(f"{who}: column names must differ, got {', '.join(repeated[:10])} more than once.")
    return names


def plain_values(y: Any, who: str) -> np.ndarray:
    """A user's y as an array: missing values and dates refused, numbers in an object array made numbers."""
    # A pandas Series may hold NA, which the array of its values may not show.
    missing = np.asarray(pd.isna(y if isinstance(y, pd.Series) else np.asarray(y)))
    if missing.any():
        raise Grip2Error(
            f"{who}: Input y contains NaN in {int(missing.sum())} of {missing.size} rows. Leave these rows out of X and y."
        )
    values = np.asarray(y)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise Grip2Error(
            f"{who}: Input y contains infinity in {int((~np.isfinite(values)).sum())} of {values.size} rows. Correct these rows, "
            "or leave them out of X and y."
        )
    if values.dtype.kind in "mM":
        raise Grip2Error(f"{who}: y holds dates; turn them into numbers first, for example days since a start.")
    if values.dtype.kind == "O" and all(isinstance(value, numbers.Number) for value in values.ravel()):
        return values.astype(float)
    if values.dtype.kind == "O" and len({type(value) for value in values.ravel()} - {str, np.str_}) > 0:
        kinds = sorted({type(value).__name__ for value in values.ravel()})
        if len(kinds) > 1:
            raise Grip2Error(
                f"{who}: y must hold numbers or texts, not both, got {', '.join(kinds)}. Convert it first."
            )
    return values
