"""The knockoff filter: all formulas on one page (Barber & Candes 2015; Candes et al. 2018; Gimenez & Zou 2019 for copies).

Every unit has 1 + m members, the original and its m knockoff copies, and a statistic gives each member an importance. With
``kappa_j`` the member of unit j that has the largest importance and ``tau_j`` the largest importance minus the median of
the others,

    W_j = tau_j   if the original wins (kappa_j = 0),
    W_j = -tau_j  if a copy wins,
    W_j = 0       if the largest importance is not unique.

With one copy this is ``W_j = S_j - S~_j``. The members of a null unit are exchangeable, so given all tau each of them wins with
probability 1 / (m + 1): among null units copies win m times as often as originals, and ``#{W_j <= -t} / m`` estimates the
number of null units with ``W_j >= t``. Selecting all ``W_j >= threshold`` with

    threshold = min { t > 0 : (offset + #{W_j <= -t}) / (m max(1, #{W_j >= t})) <= fdr }

controls the false discovery rate at ``fdr`` if ``offset=1`` (knockoff+), and a modified rate if ``offset=0``. With ``offset=1``
a selection has at least ``1 / (m fdr)`` units.
"""

from __future__ import annotations

import numpy as np

from grip2.errors import Grip2Error


def contrast(scores: np.ndarray) -> np.ndarray:
    """(units,) W of the importances (members, units); member 0 is the original.

    ``abs(W_j)`` is a symmetric function of the importances of unit j, as the filter requires.
    """
    scores = np.asarray(scores)
    if scores.ndim != 2 or len(scores) < 2:
        raise Grip2Error(f"contrast: expected scores of shape (1 + copies, units), got shape {scores.shape}.")
    *others, largest = np.sort(scores, axis=0)
    middle = (len(others) - 1) // 2
    median = others[middle] if len(others) % 2 else (others[middle] + others[middle + 1]) / 2
    tau = largest - median
    W = np.where(scores[0] == largest, tau, -tau)
    return np.asarray(np.where(others[-1] == largest, np.zeros_like(tau), W))


def knockoff_threshold(W: np.ndarray, fdr: float, offset: int = 1, copies: int = 1) -> float:
    """The smallest t among the nonzero ``|W_j|`` whose estimated false discovery proportion is at most ``fdr``.

    Returns ``inf`` if there is none; then nothing is selected.
    """
    check_fdr(fdr)
    candidates, estimates = estimated_fdp(W, offset, copies)
    passing = np.flatnonzero(estimates <= fdr)
    return float(candidates[passing[0]]) if len(passing) else float("inf")


def q_values(W: np.ndarray, offset: int = 1, copies: int = 1) -> np.ndarray:
    """For every unit the smallest ``fdr`` at which the filter selects it; 1 if it is not selected at any ``fdr`` below 1."""
    W = _checked(W)
    candidates, estimates = estimated_fdp(W, offset, copies)
    q = np.ones(len(W))
    if len(candidates):
        # Unit j is selected at level fdr if some candidate t <= W_j has an estimate of at most fdr.
        best_up_to = np.minimum.accumulate(estimates)
        positive = W > 0
        q[positive] = best_up_to[np.searchsorted(candidates, W[positive])]
    return np.minimum(q, 1.0)


def select(W: np.ndarray, threshold: float) -> np.ndarray:
    """Mask of the units with ``W_j >= threshold``."""
    return np.asarray(W) >= threshold


def estimated_fdp(W: np.ndarray, offset: int = 1, copies: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """All candidate thresholds (the distinct nonzero ``|W_j|``, ascending) and the estimated FDP at each."""
    candidates, n_positive, n_negative = counts_beyond(W)
    return candidates, fdp_from_counts(n_positive, n_negative, offset, copies)


def fdp_from_counts(n_positive: np.ndarray, n_negative: np.ndarray, offset: int = 1, copies: int = 1) -> np.ndarray:
    """The estimated FDP for these numbers of winning originals and winning copies; infinite if no original wins."""
    if offset not in (0, 1):
        raise Grip2Error(f"offset must be 0 or 1, got {offset!r}.")
    check_copies(copies)
    estimates = (offset + n_negative) / (copies * np.maximum(1, n_positive))
    return np.where(n_positive > 0, estimates, np.inf)


def counts_beyond(W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All candidate thresholds t, ascending, with ``#{W_j >= t}`` and ``#{W_j <= -t}`` at each."""
    W = _checked(W)
    size = np.sort(np.abs(W[W != 0]))
    first = np.flatnonzero(np.diff(size, prepend=0.0))  # of equal sizes the first; all are above 0
    candidates, n_beyond = size[first], len(size) - first
    positive = np.sort(W[W > 0])
    n_positive = len(positive) - np.searchsorted(positive, candidates, side="left")
    return candidates, n_positive, n_beyond - n_positive


def fewest_selected(fdr: float, copies: int = 1) -> int:
    """The fewest units that a nonempty selection with ``offset=1`` can have: 1 / (copies fdr), rounded up."""
    check_fdr(fdr)
    check_copies(copies)
    count = max(1, int(1 / (copies * fdr)))
    # The comparison of the filter itself, so that rounding cannot make the two disagree.
    while 1 / (copies * count) > fdr:
        count += 1
    return count


def check_fdr(fdr: float) -> None:
    """Raise unless ``fdr`` is a number in (0, 1)."""
    if isinstance(fdr, bool) or not isinstance(fdr, int | float | np.number) or not 0 < fdr < 1:
        raise Grip2Error(f"fdr must be in (0, 1), got {fdr!r}.{percent_hint(fdr)}")


def percent_hint(fdr: object) -> str:
    """ " For 10 % write 0.1." if a rate looks like a percentage; otherwise an example."""
    text = str(fdr).strip()
    try:
        rate = float(text.removesuffix("%").strip())
    except ValueError:
        rate = float("nan")
    if 0 < rate < 1 and not text.endswith("%"):
        return f" Write the number {rate:g}, without quotes."
    if 0 < rate < 100 and (rate > 1 or text.endswith("%")):
        return f" For {rate:g} % write {rate / 100:g}."
    return " Write 0.1, for example, for one false feature in ten."


def check_copies(copies: int) -> None:
    """Raise unless ``copies`` is a whole number of at least 1."""
    if isinstance(copies, bool) or not isinstance(copies, int | np.integer) or copies < 1:
        raise Grip2Error(f"copies must be a whole number of at least 1, got {copies!r}.")


def _checked(W: np.ndarray) -> np.ndarray:
    W = np.asarray(W, dtype=float)
    if W.ndim != 1:
        raise Grip2Error(f"W must be one-dimensional, got shape {W.shape}.")
    if not np.isfinite(W).all():
        raise Grip2Error("W must be finite: a statistic returned NaN or infinity.")
    return W
