"""Covariance matrices and checks shared by the knockoff tests."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from grip2.knockoffs import GaussianKnockoffs
from grip2.knockoffs.conditional import ConditionalGaussian, JointCopiesSampler


def ar1(p: int, rho: float) -> np.ndarray:
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def blocks(p: int, rho: float = 0.9, size: int = 5) -> np.ndarray:
    same = np.equal.outer(np.arange(p) // size, np.arange(p) // size)
    return np.where(same, rho, 0.0) + (1 - rho) * np.eye(p)


def uneven(p: int, seed: int = 0) -> np.ndarray:
    """A correlation matrix without any symmetry that could hide a transposition."""
    rng = np.random.default_rng(seed)
    load = rng.uniform(0.2, 1.0, p)
    Sigma = np.outer(load, load) * 0.9 + ar1(p, 0.6) * 0.3 + np.diag(rng.uniform(0.05, 0.3, p))
    root = np.sqrt(np.diag(Sigma))
    return Sigma / np.outer(root, root)


def scaled(Sigma: np.ndarray, seed: int = 1) -> np.ndarray:
    """The same correlations in units that differ by decades."""
    units = 10 ** np.random.default_rng(seed).uniform(-3, 3, len(Sigma))
    return Sigma * np.outer(units, units)


def duplicated(p: int) -> np.ndarray:
    """Exactly singular: column 1 is column 0."""
    Sigma = ar1(p, 0.5)
    Sigma[1], Sigma[:, 1] = Sigma[0], Sigma[:, 0]
    Sigma[1, 1] = Sigma[0, 0]
    return Sigma


def low_rank(p: int, rank: int, seed: int = 2) -> np.ndarray:
    """Exactly singular: every column is a combination of the others."""
    F = np.random.default_rng(seed).standard_normal((rank, p))
    Sigma = F.T @ F
    root = np.sqrt(np.diag(Sigma))
    return Sigma / np.outer(root, root)


def normal_rows(n: int, Sigma: np.ndarray, rng: np.random.Generator, mean: float = 0.0) -> np.ndarray:
    return rng.standard_normal((n, len(Sigma))) @ np.linalg.cholesky(Sigma).T + mean


def joint(Sigma: np.ndarray, S: np.ndarray, copies: int = 1) -> np.ndarray:
    """The covariance that all members, X and its copies, must have; S is a diagonal or a matrix."""
    S = np.diag(S) if S.ndim == 1 else S
    members = 1 + copies
    return np.kron(np.ones((members, members)), Sigma - S) + np.kron(np.eye(members), S)


def members(X: np.ndarray, Xk: np.ndarray) -> np.ndarray:
    """(n, (1 + m) p) the table of all members, member after member."""
    return np.hstack([X, Xk] if Xk.ndim == 2 else [X, *Xk])


def law_of(sampler: JointCopiesSampler, copies: int = 1) -> ConditionalGaussian:
    return sampler._laws.for_copies(copies)


def largest_z(rows: np.ndarray, target: np.ndarray) -> float:
    """Largest error of the second moments of normal rows of mean zero, in standard errors."""
    n = len(rows)
    found = rows.T @ rows / n
    variance = np.diag(target)
    standard_error = np.sqrt((np.outer(variance, variance) + target**2) / n)
    upper = np.triu_indices(len(target))
    return float((np.abs(found - target) / standard_error)[upper].max())


def z_bound(dimension: int, false_alarm: float = 1e-5) -> float:
    """What the largest of all entries exceeds with probability at most ``false_alarm`` (union bound, normal limit)."""
    return float(norm.isf(false_alarm / (dimension * (dimension + 1))))


def with_transposed_factor(sampler: GaussianKnockoffs, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The classical mistake: noise ``U C`` where ``U C^T`` is right."""
    law = law_of(sampler)
    return X - (X - law.mean) @ law.A + rng.standard_normal(X.shape) @ law.C
