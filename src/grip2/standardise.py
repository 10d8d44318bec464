"""Standardises columns to mean 0 and deviation 1, as every statistic gets them."""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error


def standardise(values: np.ndarray) -> np.ndarray:
    """Columns (or one vector) to mean 0 and standard deviation 1; a constant column becomes zero.

    Sums are taken in double precision: in single precision the mean of many rows far from zero is wrong.
    """
    centred = values - values.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore"):
        scale = centred.std(axis=0, dtype=np.float64)
    if not np.isfinite(scale).all():
        raise Grip2Error(
            "values are too large for their squares to be computed; divide the columns by a constant first."
        )
    return np.asarray((centred / np.where(scale > 0, scale, 1.0)).astype(values.dtype, copy=False))
