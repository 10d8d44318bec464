"""Checks the shapes of X and y before their contents: a table with rows and columns, and one value for every row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from grip2.errors import Grip2Error
from grip2.tables.records import CellTypeError


def check_shapes(X: Any, y: Any, who: str) -> None:
    """Refuse an X that is no table, and a y that cannot belong to it; every message says what to pass instead."""
    _check_table(X, y, who)
    if isinstance(y, str):
        raise Grip2Error(
            f"{who}: y must hold one value for each row, got the text {y!r}. If it is a column of X, pass y=X[{y!r}] and "
            "leave the column out of X."
        )
    if sparse.issparse(y) or _dimensions(y) == 0:
        raise Grip2Error(
            f"{who}: y must hold one value for each row, got {_kind(y)}. Pass a list, an array or a Series."
        )
    if _dimensions(y) == 2 and np.shape(y)[1] > 2:
        raise Grip2Error(
            f"{who}: y must be one column, or a time and an event, got {np.shape(y)[1]} columns. Fit a selector for each column."
        )
    if _kind_of_numbers(y) == "c":
        raise Grip2Error(f"{who}: Complex data not supported: y holds complex numbers. Pass real ones.")


def check_lengths(n_rows: int, n_values: int, who: str) -> None:
    if n_rows != n_values:
        raise Grip2Error(
            f"{who}: X and y must belong together row by row, got inconsistent lengths: X has {n_rows} rows, y has {n_values} "
            "values. Take both from the same rows."
        )


def _check_table(X: Any, y: Any, who: str) -> None:
    if isinstance(X, str | os.PathLike):
        raise Grip2Error(
            f"{who}: X must be a table, got the name {os.fspath(X)!r}. Read the file first, for example with "
            "pandas.read_csv, or use the command line: grip2 select."
        )
    if sparse.issparse(X):
        raise CellTypeError(f"{who}: X must be dense, got a sparse matrix. Pass X.toarray().")
    if isinstance(X, Mapping):
        raise Grip2Error(f"{who}: X must be a data frame or an array, got {_kind(X)}. Pass pandas.DataFrame(X).")
    if _kind_of_numbers(X) == "c":
        raise Grip2Error(
            f"{who}: Complex data not supported: X holds complex numbers. Pass real and imaginary parts as separate columns."
        )
    dimensions = _dimensions(X)
    if dimensions is None or dimensions == 2 or getattr(getattr(X, "dtype", None), "names", None):
        return
    swapped = dimensions == 1 and _dimensions(y) == 2
    remedy = (
        "Are X and y swapped? It is fit(X, y)."
        if swapped
        else "Pass one row for each sample, one column for each feature."
    )
    shape = "x".join(map(str, np.shape(X)))
    got = {0: "a single value", 1: f"one column of {shape} values"}.get(dimensions, f"an array of {shape} values")
    raise Grip2Error(f"{who}: X must be a table with rows and columns, got {got}. {remedy}")


def _dimensions(values: Any) -> int | None:
    """Number of dimensions; None if it cannot be known without reading the contents."""
    if isinstance(values, list | tuple):
        try:
            return np.ndim(values)
        except ValueError:  # rows of different lengths
            return None
    if isinstance(values, int | float | complex | bool):
        return 0
    dimensions = getattr(values, "ndim", None)
    return dimensions if isinstance(dimensions, int) else None


def _kind_of_numbers(values: Any) -> str:
    """The letter by which numpy calls the kind of an array's entries; "c" for complex ones, also of a frame's columns."""
    if isinstance(values, pd.DataFrame):
        return "c" if any(dtype.kind == "c" for dtype in values.dtypes) else ""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") == "O" and isinstance(values, np.ndarray):
        return "c" if any(isinstance(value, complex | np.complexfloating) for value in values.flat) else "O"
    return str(getattr(dtype, "kind", ""))


def _kind(value: Any) -> str:
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"
