"""Tables that all contestants of a task share: drawn from the same seeds by NumPy alone, in every environment."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

FDR = 0.1


class Design(NamedTuple):
    X: np.ndarray
    Xk: np.ndarray  # exact knockoffs
    y: np.ndarray
    support: np.ndarray  # numbers of the features that y depends on


def ar1(p: int, rho: float) -> np.ndarray:
    """The correlations rho^|i - j|."""
    place = np.arange(p)
    found: np.ndarray = float(rho) ** np.abs(place[:, None] - place)
    return found


def correlated(n: int, p: int, *, rho: float = 0.5, true: int, curved: bool, seed: int = 1) -> Design:
    """Normal columns with AR(1) correlations, equicorrelated knockoffs, and y linear in some of them, or in their squares."""
    rng = np.random.default_rng(seed)
    Sigma = ar1(p, rho)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(Sigma).T
    s = 0.999 * min(1.0, 2 * float(np.linalg.eigvalsh(Sigma)[0]))
    # Knockoffs given X are normal with mean X - X Sigma^-1 S and covariance 2S - S Sigma^-1 S.
    inverse = np.linalg.inv(Sigma)
    spread = np.linalg.cholesky(2 * s * np.eye(p) - s**2 * inverse)
    Xk = X - s * X @ inverse + rng.standard_normal((n, p)) @ spread.T
    support = np.sort(rng.choice(p, true, replace=False))
    sizes = rng.uniform(0.5, 1.0, true) * rng.choice([-1.0, 1.0], true)
    acting = X[:, support] ** 2 - 1 if curved else X[:, support]
    return Design(X, Xk, acting @ sizes + rng.standard_normal(n), support)


def independent(n: int, p: int, *, true: int = 10, seed: int = 1) -> Design:
    """Independent normal columns in single precision, of which fresh draws are exact knockoffs; for large tables."""
    rng = np.random.default_rng(seed)
    X, Xk = (rng.standard_normal((n, p), dtype=np.float32) for _ in range(2))
    support = np.arange(min(true, p))
    signal = X[:, support].sum(axis=1) / np.sqrt(len(support))
    return Design(X, Xk, signal + rng.standard_normal(n, dtype=np.float32), support)


def found_by(W: np.ndarray, support: np.ndarray) -> dict[str, Any]:
    """Power and false discovery proportion of the knockoff filter with offset 1 at FDR."""
    for threshold in np.sort(np.abs(W[W != 0])):
        if (1 + np.sum(threshold <= -W)) / max(1, np.sum(threshold <= W)) <= FDR:
            return of_selection(np.flatnonzero(threshold <= W), support)
    return of_selection(np.array([], dtype=int), support)


def of_selection(selected: np.ndarray, support: np.ndarray) -> dict[str, Any]:
    true = len(np.intersect1d(selected, support))
    return {"power": true / len(support), "fdp": (len(selected) - true) / max(1, len(selected))}


def mvr_objective(S: np.ndarray, Sigma: np.ndarray, copies: int) -> float:
    """trace(D^-1) + m^2 trace(S^-1) with D = (m + 1)/m Sigma - S; least is best, not a number outside the domain."""
    S = np.diag(S) if S.ndim == 1 else S
    D = (copies + 1) / copies * Sigma - S
    if min(np.linalg.eigvalsh(D)[0], np.linalg.eigvalsh(S)[0]) <= 0:
        return float("nan")
    return float(np.trace(np.linalg.inv(D)) + copies**2 * np.trace(np.linalg.inv(S)))
