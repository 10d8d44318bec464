"""Several knockoff draws on one data set, combined into one selection by e-values (Ren & Barber 2024).

Each draw gives every unit an e-value, evidence against its being null; means of e-values are e-values again, and e-BH on the
means controls the false discovery rate however the draws depend on each other. With p units and m copies, the e-values of one
draw are

    e_j = m p 1{W_j >= T} / (1 + #{W_k <= -T}),    T = min { t : 1 + #{W_k <= -t} <= max(1, m level #{W_k >= t}) }.

T is the knockoff+ threshold at ``level``, except that the search also ends where no copy wins beyond t: no later threshold
could give larger e-values. So a draw that selects nothing at ``level`` because too few units are above the first copy still
counts for those units. A draw gives only zeros if a copy has the largest ``|W_j|``.

**Why e-BH may use them.** It needs ``E sum_{j null} e_j <= p``, which is less than ``E e_j <= 1`` for every null unit. Let
t grow through the distinct ``|W_j|``, and let V+(t) and V-(t) be the numbers of null units with ``W_j >= t`` and ``W_j <= -t``.
Given all ``|W_j|``, the signs of null units are independent and positive with probability 1 / (m + 1), so

1. at the start ``E [V+ / (1 + V-)] <= 1 / m``;
2. given the signs of all units below t, the signs of the others that are not null, and V+(t), all arrangements of the remaining
   null signs are equally likely. If the null unit passed next is positive with probability V+ / (V+ + V-), then
   ``V+ / (1 + V-)`` is expected to stay as it is (to fall, if V- = 0): it is a supermartingale.
3. T is a stopping time: whether to stop at t depends on the two counts at t alone.

So ``E sum_{j null} e_j <= m p E [V+(T) / (1 + V-(T))] <= p``. A unit that is below the threshold in more than half of the draws
gets a mean e-value of zero. That only lowers e-values, so the guarantee stays, and it keeps units of few draws out of a selection
that is meant to be steady. A rule that looks at the sign of the next unit is not a stopping time: "the r-th largest positive W_j"
is of this kind, and with it the sum over null units alone is about r / (r - 1) times p.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2.copies import MAJORITY
from grip2.filter import check_copies, check_fdr, counts_beyond, fdp_from_counts, knockoff_threshold, select

# Levels tried for the q-values of several draws.
LEVELS = np.round(np.arange(0.005, 1.0, 0.005), 3)

# Level of a draw's threshold, as a share of the final fdr. A unit that is found in a share f of the draws passes e-BH if f is
# at least about this share (results/derandomisation).
INNER_SHARE = 0.5
# With many copies the level is lower: beyond a draw's threshold, one more than the winning copies are at most WINNING_COPIES as
# many as the winning originals. Otherwise the evidence is spread over units that differ from draw to draw. But the level is at
# least this share of the final fdr.
WINNING_COPIES, LEAST_INNER_SHARE = 0.5, 0.25


def stopping_thresholds(W: np.ndarray, levels: np.ndarray, copies: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """T and ``#{W_k <= -T}`` for every level; T is ``inf`` if the search does not end."""
    for level in levels:
        check_fdr(level)
    candidates, n_positive, n_negative = counts_beyond(W)
    estimates = fdp_from_counts(n_positive, n_negative, copies=copies)
    # With the running minimum of the estimates, each of the two conditions holds from some candidate on.
    first_passing = np.searchsorted(-np.minimum.accumulate(estimates), -np.asarray(levels))
    first_without_copies = len(candidates) - np.searchsorted(n_negative[::-1], 1)
    stop = np.minimum(first_passing, first_without_copies)
    return np.append(candidates, np.inf)[stop], np.append(n_negative, 0)[stop]


def e_values(W: np.ndarray, level: float, copies: int = 1) -> np.ndarray:
    """(units,) e-values of one draw, thresholded at ``level``."""
    return np.asarray(_e_values_at(W, np.array([level]), copies)[0])


def inner_level(fdr: float, copies: int = 1) -> float:
    """The level at which each draw is thresholded for a final ``fdr``: half of it, or less with many copies."""
    check_fdr(fdr)
    check_copies(copies)
    return max(LEAST_INNER_SHARE * fdr, min(INNER_SHARE * fdr, WINNING_COPIES / copies))


def mean_e_values(draws: Sequence[np.ndarray], fdr: float, copies: int = 1, level: float | None = None) -> np.ndarray:
    """(units,) mean e-values over draws for a final ``fdr``; each draw is thresholded at ``level`` (`inner_level` by default)."""
    level = inner_level(fdr, copies) if level is None else level
    return _mean_where_found_often(np.array([e_values(W, level, copies) for W in draws]))


def e_benjamini_hochberg(e: np.ndarray, fdr: float) -> np.ndarray:
    """Mask of the units e-BH selects: the k largest, for the largest k with ``e_(k) >= p / (fdr k)``."""
    # The comparison is with p / (fdr k), where exact ties are common and rounding must not decide.
    return e_levels(e) <= fdr * (1 + 1e-9)


def e_q_values(draws: Sequence[np.ndarray], copies: int = 1, grid: np.ndarray = LEVELS) -> np.ndarray:
    """For every unit the smallest fdr of ``grid`` at which the whole procedure selects it; 1 if there is none.

    The e-values depend on the level, so the procedure is repeated at each.
    """
    inner = np.array([inner_level(fdr, copies) for fdr in grid])
    means = _mean_where_found_often(np.array([_e_values_at(W, inner, copies) for W in draws]))
    q = np.ones(len(draws[0]))
    for fdr, e in zip(grid[::-1], means[::-1], strict=True):
        q[e_benjamini_hochberg(e, fdr)] = fdr
    return q


def e_levels(e: np.ndarray) -> np.ndarray:
    """The smallest level at which e-BH selects each unit, for these very e-values; capped at 1."""
    e = np.asarray(e, dtype=float)
    p = len(e)
    order = np.argsort(-e, kind="stable")
    with np.errstate(divide="ignore", over="ignore"):  # e-values near zero are never selected
        levels = p / (np.arange(1, p + 1) * e[order])
    q = np.empty(p)
    q[order] = np.minimum.accumulate(levels[::-1])[::-1]
    return np.minimum(q, 1.0)


def selection_frequency(draws: Sequence[np.ndarray], fdr: float, copies: int = 1, offset: int = 1) -> np.ndarray:
    """(units,) share of the draws in which the filter at ``fdr``, applied to that draw alone, selects the unit."""
    selected = [select(W, knockoff_threshold(W, fdr, offset, copies)) for W in draws]
    return np.asarray(np.mean(selected, axis=0))


def _mean_where_found_often(e: np.ndarray) -> np.ndarray:
    """Means over draws, the first axis; zero where fewer than half of the draws have a positive e-value."""
    return np.where(np.mean(e > 0, axis=0) >= MAJORITY, e.mean(axis=0), 0.0)


def _e_values_at(W: np.ndarray, levels: np.ndarray, copies: int) -> np.ndarray:
    """(levels, units) e-values of one draw for every level of its threshold."""
    W = np.asarray(W, dtype=float)
    thresholds, n_negative = stopping_thresholds(W, levels, copies)
    return copies * len(W) * (thresholds[:, None] <= W) / (1.0 + n_negative[:, None])
