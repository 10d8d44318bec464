"""The compiled pass that turns raw sums of products into moments of standardised columns."""

from __future__ import annotations

import numpy as np

from grip2.engine.compiled_functions import compiled

_TILE = 64  # rows and columns at a time, so that the mirrored half is written from the cache


@compiled
def fill_moments(
    gram: np.ndarray, raw: np.ndarray, old: int, n_rows: int, centre: np.ndarray, unit: np.ndarray
) -> None:
    """``gram[i, old + j] = (raw[i, j] / n - c_i c_j) u_i u_j`` and its mirror image, for all columns i and the new ones.

    Of ``raw`` only i <= old + j is read.
    """
    total, new = raw.shape
    for top in range(0, total, _TILE):
        for start in range(0, new, _TILE):
            for i in range(top, min(top + _TILE, total)):
                for j in range(start, min(start + _TILE, new)):
                    c = old + j
                    if i > c:
                        continue
                    value = (raw[i, j] / n_rows - centre[i] * centre[c]) * unit[i] * unit[c]
                    gram[i, c] = value
                    gram[c, i] = value
