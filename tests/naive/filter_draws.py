"""e-values of a draw and e-BH, straight from their definitions."""

from __future__ import annotations

import numpy as np


def stopping_threshold(W, level, copies):
    for t in sorted(abs(w) for w in W if w != 0):
        n_positive, n_negative = sum(w >= t for w in W), sum(w <= -t for w in W)
        if n_negative == 0 or (n_positive > 0 and (1 + n_negative) / (copies * n_positive) <= level):
            return t
    return np.inf


def e_values(W, level, copies):
    t = stopping_threshold(W, level, copies)
    n_negative = sum(w <= -t for w in W)
    return [copies * len(W) / (1 + n_negative) if w >= t else 0.0 for w in W]


def e_benjamini_hochberg(e, fdr):
    p, best = len(e), 0
    for k in range(1, p + 1):
        if sorted(e, reverse=True)[k - 1] >= p / (fdr * k):
            best = k
    cut = sorted(e, reverse=True)[best - 1] if best else np.inf
    return np.array([value >= cut for value in e])
