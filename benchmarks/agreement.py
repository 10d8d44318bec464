"""How well selections agree between seeds: sizes, and the mean Jaccard index over pairs of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np


def jaccard(first: set[str], second: set[str]) -> float:
    """Shared over all; two empty selections agree completely."""
    return len(first & second) / len(first | second) if first | second else 1.0


def mean_jaccard(selections: Sequence[set[str]]) -> float:
    return float(np.mean([jaccard(*pair) for pair in combinations(selections, 2)]))
