"""Random pair swap: what makes the sign-flip property hold exactly, for any statistic.

The knockoff filter needs that swapping a feature with its knockoff flips the sign of its W and touches no other. Networks
hold this only in distribution, and initialisation, minibatch order or the order of a floating-point sum can break it
unseen. Swapping a random subset of pairs before the statistic and back after it restores it for good: given the data up to
swaps, the statistic cannot know which member of a pair is the original.
"""

from __future__ import annotations

import numpy as np


def draw_swap(n_pairs: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of pairs to swap: each with probability 1/2, independently."""
    return rng.random(n_pairs) < 0.5


def swap_pairs(X: np.ndarray, Xk: np.ndarray, swapped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exchange columns ``j`` of ``X`` and ``Xk`` wherever ``swapped[j]``; the inputs are left alone."""
    return np.where(swapped, Xk, X), np.where(swapped, X, Xk)
