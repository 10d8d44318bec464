"""Checks of user input that scikit-learn does not make; every message names the columns and says what to do."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error

MIN_ROWS = 10
MIN_FEATURES = 2


def one_sample(n_rows: int) -> str:
    """A number of rows in words that scikit-learn's checks of estimators know."""
    return "one sample" if n_rows == 1 else f"{n_rows}"


def check_table(X: np.ndarray, names: Sequence[str], who: str) -> None:
    """Refuse tables on which no honest selection can be made."""
    n, p = X.shape
    if n < MIN_ROWS:
        raise Grip2Error(f"{who}: at least {MIN_ROWS} rows are needed, got {one_sample(n)}.")
    if p < MIN_FEATURES:
        raise Grip2Error(
            f"{who}: at least {MIN_FEATURES} features are needed, got {p} feature(s): a false discovery rate over a "
            "single feature says nothing. Use an ordinary test of association."
        )
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise Grip2Error(
            f"{who}: {_columns(constant, names)} constant and cannot carry a signal; drop before selecting."
        )
    groups = duplicated_columns(X)
    if groups:
        listed = "; ".join(" = ".join(str(names[j]) for j in group) for group in groups[:5])
        more = f"; and {len(groups) - 5} more" if len(groups) > 5 else ""
        raise Grip2Error(
            f"{who}: exactly equal columns cannot be told apart by any method ({listed}{more}); keep one of each."
        )


def duplicated_columns(X: np.ndarray) -> list[list[int]]:
    """Groups of columns that are equal entry by entry."""
    groups: dict[bytes, list[int]] = {}
    for j in range(X.shape[1]):
        # Adding zero turns -0.0 into 0.0, which is equal to it but has other bytes.
        digest = hashlib.blake2b((X[:, j] + 0.0).tobytes(), digest_size=16).digest()
        groups.setdefault(digest, []).append(j)
    return [group for group in groups.values() if len(group) > 1]


def column_names(X: Any, who: str) -> tuple[str, ...] | None:
    """Names of the columns of a frame, whatever their type; None for an array."""
    columns = getattr(X, "column_names", None)  # pyarrow, whose `columns` are the data
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
    # A pandas Series may hold NA, which an array of its values cannot express.
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


def _columns(which: np.ndarray, names: Sequence[str]) -> str:
    listed = ", ".join(str(names[j]) for j in which[:10])
    more = f" and {len(which) - 10} more" if len(which) > 10 else ""
    return f"column {listed} is" if len(which) == 1 else f"columns {listed}{more} are"
