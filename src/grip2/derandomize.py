"""Several knockoff draws on one data set, combined into one selection by e-values (Ren & Barber 2024).

Each draw gives every feature an e-value, evidence against its being null; a mean of e-values is an e-value again, and e-BH on
the means controls the false discovery rate however the draws depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2.filter import check_fdr, knockoff_threshold

# Levels tried for the q-values of several draws.
LEVELS = np.round(np.arange(0.005, 1.0, 0.005), 3)


def e_values(W: np.ndarray, fdr: float) -> np.ndarray:
    """``p 1{W_j >= T} / (1 + #{W_k <= -T})`` with T the knockoff+ threshold at ``fdr``."""
    W = np.asarray(W, dtype=float)
    threshold = knockoff_threshold(W, fdr, offset=1)
    return len(W) * (W >= threshold) / (1.0 + np.sum(W <= -threshold))


def mean_e_values(draws: Sequence[np.ndarray], fdr: float) -> np.ndarray:
    """Mean e-values over draws for a final level ``fdr``; each draw is thresholded at ``fdr / 2``, as the authors advise."""
    check_fdr(fdr)
    return np.asarray(np.mean([e_values(W, fdr / 2) for W in draws], axis=0))


def e_benjamini_hochberg(e: np.ndarray, fdr: float) -> np.ndarray:
    """Mask of the features e-BH selects: the k largest, for the largest k with ``e_(k) >= p / (fdr k)``."""
    # The comparison is with p / (fdr k), where exact ties are common and rounding must not decide.
    return e_levels(e) <= fdr * (1 + 1e-9)


def e_q_values(draws: Sequence[np.ndarray], grid: np.ndarray = LEVELS) -> np.ndarray:
    """For every feature the smallest fdr of ``grid`` at which the whole procedure selects it; 1 where none does.

    The e-values depend on the level, so the procedure is repeated at each.
    """
    q = np.ones(len(draws[0]))
    for fdr in grid[::-1]:
        q[e_benjamini_hochberg(mean_e_values(draws, fdr), fdr)] = fdr
    return q


def e_levels(e: np.ndarray) -> np.ndarray:
    """The smallest level at which e-BH selects each feature, for these very e-values; capped at 1."""
    e = np.asarray(e, dtype=float)
    p = len(e)
    order = np.argsort(-e, kind="stable")
    with np.errstate(divide="ignore"):
        levels = p / (np.arange(1, p + 1) * e[order])
    q = np.empty(p)
    q[order] = np.minimum.accumulate(levels[::-1])[::-1]
    return np.minimum(q, 1.0)
