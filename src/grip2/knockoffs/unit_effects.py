"""Effects of units for simulated responses: straight or bent, of one column or of a mixture of several."""

from __future__ import annotations

import numpy as np

from grip2.standardise import standardise

# A bent function whose residual deviation after projection on its column is below this fraction of its own is dropped.
_LEAST_BEND = 1e-2


def bends_of(values: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """|x - median| of every column, made orthogonal to the standardised column and standardised.

    Zero if it is a function of the line (0/1 columns).
    """
    bends = np.abs(values - np.median(values, axis=0))
    deviation = bends.std(axis=0)
    bends -= bends.mean(axis=0)
    bends -= lines * (lines * bends).mean(axis=0)
    left = bends.std(axis=0)
    return np.asarray(np.where(left > _LEAST_BEND * deviation, bends / np.where(left > 0, left, 1.0), 0.0))


def unit_effect(
    lines: np.ndarray, bends: np.ndarray, columns: np.ndarray, rng: np.random.Generator, *, bent: bool
) -> np.ndarray:
    """(n,) the standardised effect of a unit: a random mixture of its columns, or of their bends where there are any."""
    source = bends if bent and bool(np.any(bends[:, columns])) else lines
    return standardise(source[:, columns] @ rng.standard_normal(len(columns)))
