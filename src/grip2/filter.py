"""The knockoff filter: all formulas on one page (Barber & Candes 2015; Candes et al. 2018).

``W_j > 0`` means that feature j scored higher than its knockoff. For a null feature the sign of W_j is a fair coin flip, so
the number of ``W_j <= -t`` estimates the number of null features with ``W_j >= t``. Selecting all ``W_j >= threshold`` with

    threshold = min { t > 0 : (offset + #{W_j <= -t}) / max(1, #{W_j >= t}) <= fdr }

controls the false discovery rate at ``fdr`` if ``offset=1`` (knockoff+), and a modified rate if ``offset=0``.
"""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error


def knockoff_threshold(W: np.ndarray, fdr: float, offset: int = 1) -> float:
    """The smallest t among the nonzero ``|W_j|`` whose estimated false discovery proportion is at most ``fdr``.

    Returns ``inf`` if there is none; then nothing is selected.
    """
    check_fdr(fdr)
    candidates, estimates = estimated_fdp(W, offset)
    passing = np.flatnonzero(estimates <= fdr)
    return float(candidates[passing[0]]) if len(passing) else float("inf")


def q_values(W: np.ndarray, offset: int = 1) -> np.ndarray:
    """For every feature the smallest ``fdr`` at which the filter selects it; 1 if it is not selected at any ``fdr`` below 1."""
    W = _checked(W)
    candidates, estimates = estimated_fdp(W, offset)
    q = np.ones(len(W))
    if len(candidates):
        # Feature j is selected at level fdr if some candidate t <= W_j has an estimate of at most fdr.
        best_up_to = np.minimum.accumulate(estimates)
        positive = W > 0
        q[positive] = best_up_to[np.searchsorted(candidates, W[positive])]
    return np.minimum(q, 1.0)


def select(W: np.ndarray, threshold: float) -> np.ndarray:
    """Mask of the features with ``W_j >= threshold``."""
    return np.asarray(W) >= threshold


def estimated_fdp(W: np.ndarray, offset: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """All candidate thresholds (the distinct nonzero ``|W_j|``, ascending) and the estimated FDP at each."""
    W = _checked(W)
    if offset not in (0, 1):
        raise Grip2Error(f"offset must be 0 or 1, got {offset!r}.")
    candidates = np.unique(np.abs(W[W != 0]))
    positive = np.sort(W[W > 0])
    negative = np.sort(-W[W < 0])
    n_selected = len(positive) - np.searchsorted(positive, candidates, side="left")
    n_negative = len(negative) - np.searchsorted(negative, candidates, side="left")
    return candidates, (offset + n_negative) / np.maximum(1, n_selected)


def check_fdr(fdr: float) -> None:
    """Raise unless ``fdr`` is a number in (0, 1)."""
    if isinstance(fdr, bool) or not isinstance(fdr, int | float | np.number) or not 0 < fdr < 1:
        raise Grip2Error(f"fdr must be in (0, 1), got {fdr!r}.")


def _checked(W: np.ndarray) -> np.ndarray:
    W = np.asarray(W, dtype=float)
    if W.ndim != 1:
        raise Grip2Error(f"W must be one-dimensional, got shape {W.shape}.")
    if not np.isfinite(W).all():
        raise Grip2Error("W must be finite: a statistic returned NaN or infinity.")
    return W


def contrast(scores: np.ndarray) -> np.ndarray:
    """(units,) W of scores (members, units), the original first."""
    scores = np.asarray(scores)
    first, *others = np.sort(scores, axis=0)[::-1]
    tau = first - np.median(others, axis=0)
    wins = scores[0] == first
    return np.where(first == others[0], 0.0, np.where(wins, tau, -tau))
