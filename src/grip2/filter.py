"""The knockoff filter: the formulas on one page (Barber & Candes 2015; Candes et al. 2018).

``W_j > 0`` says that feature j beat its knockoff. Signs of null features are fair coins, so the number of
``W_j <= -t`` estimates the number of nulls with ``W_j >= t``, and

    threshold = min { t > 0 : (offset + #{W_j <= -t}) / max(1, #{W_j >= t}) <= fdr }

controls the false discovery rate at ``fdr`` with ``offset=1`` (knockoff+), and a modified rate with ``offset=0``.
"""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error


def knockoff_threshold(W: np.ndarray, fdr: float, offset: int = 1) -> float:
    """The smallest t among the nonzero ``|W_j|`` whose estimated false discovery proportion is at most ``fdr``.

    Returns ``inf`` when there is none: nothing is selected.
    """
    check_fdr(fdr)
    candidates, estimates = estimated_fdp(W, offset)
    passing = np.flatnonzero(estimates <= fdr)
    return float(candidates[passing[0]]) if len(passing) else float("inf")


def q_values(W: np.ndarray, offset: int = 1) -> np.ndarray:
    """For every feature the smallest ``fdr`` at which the filter selects it; 1 where no ``fdr`` below 1 does."""
    W = _checked(W)
    candidates, estimates = estimated_fdp(W, offset)
    q = np.ones(len(W))
    if len(candidates):
        # Feature j is selected at level f when some candidate t <= W_j has an estimate of at most f.
        best_up_to = np.minimum.accumulate(estimates)
        positive = W > 0
        q[positive] = best_up_to[np.searchsorted(candidates, W[positive])]
    return np.minimum(q, 1.0)


def select(W: np.ndarray, threshold: float) -> np.ndarray:
    """Mask of the features with ``W_j >= threshold``."""
    return np.asarray(W) >= threshold


def estimated_fdp(W: np.ndarray, offset: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """All candidate thresholds (the distinct nonzero ``|W_j|``, ascending) and the estimate at each."""
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
    if isinstance(fdr, bool) or not isinstance(fdr, int | float | np.number) or not 0 < fdr < 1:
        raise Grip2Error(f"fdr must be in (0, 1), got {fdr!r}.")


def _checked(W: np.ndarray) -> np.ndarray:
    W = np.asarray(W, dtype=float)
    if W.ndim != 1:
        raise Grip2Error(f"W must be one-dimensional, got shape {W.shape}.")
    if not np.isfinite(W).all():
        raise Grip2Error("W must be finite: a statistic returned NaN or infinity.")
    return W
