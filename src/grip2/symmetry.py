"""Random pair swaps: they make the signs of null W fair coin flips for any statistic.

The knockoff filter requires that swapping a feature with its knockoff flips the sign of its W and changes no other W. A
network has this property only in distribution, and its initialisation, the order of minibatches or the order of a
floating-point sum can break it unnoticed. So a random subset of pairs is swapped before the statistic is computed, and its
scores are swapped back afterwards: the statistic then cannot know which member of a pair is the original.
"""

from __future__ import annotations

import numpy as np


def draw_swap(n_pairs: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of the pairs to swap: each independently with probability 1/2."""
    return rng.random(n_pairs) < 0.5


def swap_pairs(X: np.ndarray, Xk: np.ndarray, swapped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X and Xk with column ``j`` exchanged wherever ``swapped[j]`` is True; the inputs are not changed."""
    return np.where(swapped, Xk, X), np.where(swapped, X, Xk)
