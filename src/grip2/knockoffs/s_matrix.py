"""The diagonal s of knockoffs as a pure function of Sigma: larger s, less like the original, more power."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def equicorrelated(Sigma: np.ndarray) -> np.ndarray:
    """``s_j = min(2 lambda_min, 1)`` on the correlation scale, brought back to the scale of Sigma (appendix B.1)."""
    scale = np.diag(Sigma)
    root = np.sqrt(scale)
    smallest = eigh(Sigma / np.outer(root, root), eigvals_only=True, subset_by_index=[0, 0])[0]
    return np.clip(2 * smallest, 0.0, 1.0) * scale
