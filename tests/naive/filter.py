"""The knockoff filter by exhaustive search."""

from __future__ import annotations

import numpy as np


def threshold(W, fdr, offset):
    for t in sorted(abs(w) for w in W if w != 0):
        if (offset + sum(w <= -t for w in W)) / max(1, sum(w >= t for w in W)) <= fdr:
            return t
    return np.inf


def q_value(W, j, offset):
    """Smallest fdr at which feature j is selected, by trying every level at which anything can change."""
    levels = sorted({(offset + b) / max(1, s) for b in range(len(W) + 1) for s in range(len(W) + 1)})
    for level in levels:
        if 0 < level < 1 and W[j] >= threshold(W, level, offset):
            return level
    return 1.0
