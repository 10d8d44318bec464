"""The knockoff filter by exhaustive search, and W member by member."""

from __future__ import annotations

import statistics

import numpy as np


def contrast(scores):
    W = []
    for members in np.asarray(scores).T.tolist():
        largest = max(members)
        if members.count(largest) > 1:
            W.append(0.0)
            continue
        winner = members.index(largest)
        tau = largest - statistics.median(members[:winner] + members[winner + 1 :])
        W.append(tau if winner == 0 else -tau)
    return W


def estimate(W, t, offset, copies):
    return (offset + sum(w <= -t for w in W)) / (copies * max(1, sum(w >= t for w in W)))


def threshold(W, fdr, offset, copies=1):
    for t in sorted(abs(w) for w in W if w != 0):
        if any(w >= t for w in W) and estimate(W, t, offset, copies) <= fdr:
            return t
    return np.inf


def q_value(W, j, offset, copies=1):
    """Smallest fdr at which unit j is selected, by trying every level at which anything can change."""
    counts = range(len(W) + 1)
    levels = sorted({(offset + b) / (copies * max(1, s)) for b in counts for s in counts})
    for level in levels:
        if 0 < level < 1 and W[j] >= threshold(W, level, offset, copies):
            return level
    return 1.0


def fewest_selected(fdr, copies):
    """By trying sizes: the smallest number of units with equal W that is selected."""
    size = 1
    while not np.isfinite(threshold([1.0] * size, fdr, 1, copies)):
        size += 1
    return size
