"""Estimates of the mean and covariance of the rows of X: shrunk toward the diagonal, computed block by block in float64."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grip2.errors import Grip2Error
from grip2.knockoffs.base import NumericalRepairWarning, as_matrix, column_list, refuse_constant, row_blocks
from grip2.knockoffs.s_matrix._scale import correlation_scale, lift, smallest_eigenvalue
from grip2.user_warnings import warn_user

SHRINKAGE = ("least", "numerical", "ledoit_wolf")
# The smallest eigenvalue of the correlation matrix after shrinking by "least" and by "numerical".
FLOOR, NUMERICAL_FLOOR = 0.01, 1e-6


@dataclass(frozen=True)
class CovarianceEstimate:
    """Sample mean, shrunk covariance, and the weight on the shrinkage target: 0 (no shrinkage) to 1 (the target itself)."""

    mean: np.ndarray
    covariance: np.ndarray
    shrinkage: float


@dataclass(frozen=True)
class Scatter:
    """Moments of rows z: their number, mean, sample covariance (divisor n - 1) and the mean of ``||z||^4``."""

    n: int
    mean: np.ndarray
    covariance: np.ndarray
    fourth: float


@dataclass(eq=False)
class ScatterSums:
    """The sums over rows from which a `Scatter` follows; sums of other rows can be added."""

    n: int
    total: np.ndarray
    products: np.ndarray
    fourth: float

    @classmethod
    def of(cls, rows: np.ndarray) -> ScatterSums:
        """The sums of rows that are centred already, up to sampling error."""
        z = np.asarray(rows, dtype=float)
        return cls(len(z), z.sum(axis=0), z.T @ z, float(np.sum(np.einsum("ij,ij->i", z, z) ** 2)))

    def add(self, later: ScatterSums) -> None:
        self.n += later.n
        self.total += later.total
        self.products += later.products
        self.fourth += later.fourth

    def scatter(self) -> Scatter:
        if self.n < 2:
            raise Grip2Error(f"covariance: at least two rows are needed, got {self.n}.")
        mean, n = self.total / self.n, self.n
        return Scatter(n, mean, (self.products - n * np.outer(mean, mean)) / (n - 1), self.fourth / n)


def scatter(blocks: Iterable[np.ndarray]) -> Scatter:
    """The moments in one pass over blocks of rows, which must be centred already, to within sampling error."""
    sums: ScatterSums | None = None
    for block in blocks:
        found = ScatterSums.of(block)
        if sums is None:
            sums = found
        else:
            sums.add(found)
    if sums is None:
        raise Grip2Error("covariance: at least two rows are needed, got 0.")
    return sums.scatter()


def ledoit_wolf_coefficient(moments: Scatter) -> float:
    """The weight on ``mu I``, ``mu = trace / p``, that minimises the expected squared error (Ledoit and Wolf, 2004)."""
    p = len(moments.mean)
    S = moments.covariance * (moments.n - 1) / moments.n
    size = float(np.sum(S**2))
    mu = float(np.trace(S)) / p
    distance = size - p * mu**2
    noise = (moments.fourth - size) / moments.n
    return 0.0 if distance <= 0 else float(np.clip(noise / distance, 0.0, 1.0))


def shrink(moments: Scatter, extra: float = 0.0) -> tuple[np.ndarray, float]:
    """``(1 - a) S + a mu I`` with a = Ledoit-Wolf's coefficient plus ``extra``, clipped to [0, 1] (appendix B.2)."""
    p = len(moments.mean)
    weight = float(np.clip(ledoit_wolf_coefficient(moments) + extra, 0.0, 1.0))
    mu = float(np.trace(moments.covariance)) / p
    shrunk = (1 - weight) * moments.covariance + weight * mu * np.eye(p)
    return (shrunk + shrunk.T) / 2, weight


def shrink_least(moments: Scatter, floor: float = FLOOR) -> tuple[np.ndarray, float]:
    """``(1 - a) S + a diag(S)`` with the smallest a for which no eigenvalue of the correlation matrix is below ``floor``.

    Usually a = 0. Shrinkage biases all correlations toward zero, so the knockoff of a null feature is less correlated with
    strong neighbouring features than the null feature itself, which then looks important. Estimation error has no such bias.
    """
    S = (moments.covariance + moments.covariance.T) / 2
    root = np.sqrt(np.diag(S))
    smallest = smallest_eigenvalue(S / root[:, None] / root)
    weight = 0.0 if smallest >= floor else (floor - smallest) / (1 - smallest)
    return (1 - weight) * S + weight * np.diag(np.diag(S)), weight


def with_block(Sigma: np.ndarray, columns: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Sigma with the covariance ``block`` of some columns; the distribution of the other columns given them stays."""
    rest = np.setdiff1d(np.arange(len(Sigma)), columns)
    old = Sigma[np.ix_(columns, columns)]
    A = np.linalg.solve(old, Sigma[np.ix_(columns, rest)]).T
    changed = Sigma.copy()
    changed[np.ix_(columns, columns)] = block
    changed[np.ix_(rest, columns)] = A @ block
    changed[np.ix_(columns, rest)] = (A @ block).T
    changed[np.ix_(rest, rest)] += A @ (block - old) @ A.T
    return changed


def shrink_by(rule: str, moments: Scatter, extra: float = 0.0) -> tuple[np.ndarray, float]:
    """The covariance shrunk as a sampler's parameter ``shrinkage`` asks, and the weight on the target.

    With fewer than 2p rows all rules use Ledoit-Wolf, "numerical" without ``extra``: the correlation matrix is then singular
    or nearly so, and raising its smallest eigenvalue alone would leave mostly noise.
    """
    if rule != "ledoit_wolf" and moments.n >= 2 * len(moments.mean):
        return shrink_least(moments, FLOOR if rule == "least" else NUMERICAL_FLOOR)
    return shrink(moments, 0.0 if rule == "numerical" else extra)


def check_shrinkage(rule: object, who: str) -> None:
    if rule not in SHRINKAGE:
        raise Grip2Error(f"{who}: shrinkage must be one of {', '.join(map(repr, SHRINKAGE))}, got {rule!r}.")


def shrinkage_sentence(weight: float) -> str:
    """The end of a sampler's sentence about correlations that were estimated from the same rows."""
    if weight == 0:
        return "estimated from the same rows, without shrinkage, so control is approximate; the error falls as rows are added."
    return (
        f"estimated from the same rows and shrunk (weight {weight:.3g} on zero correlation), so control is approximate: "
        "shrinkage toward zero correlation makes nulls next to strong features look like discoveries."
    )


def mean_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column means and standard deviations of the values that are not missing (NaN), accumulated in float64."""
    mean, count = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for block in row_blocks(X):
        mean += np.nansum(X[block], axis=0, dtype=float)
        count += np.sum(~np.isnan(X[block]), axis=0)
    mean /= np.maximum(count, 1)
    square = np.zeros(X.shape[1])
    for block in row_blocks(X):
        square += np.nansum((X[block] - mean) ** 2, axis=0)
    return mean, np.sqrt(square / np.maximum(count - 1, 1))


def check_observed(X: object, matrix: np.ndarray, who: str) -> None:
    """Raise if a column of the matrix made from X has no value at all."""
    empty = np.flatnonzero(np.isnan(matrix).all(axis=0))
    if len(empty):
        raise Grip2Error(
            f"{who}: every column must have observed values, got missing values only in {column_list(X, empty)}. "
            f"Drop {'it' if len(empty) == 1 else 'them'}."
        )


def check_not_constant(X: object, mean: np.ndarray, scale: np.ndarray, who: str) -> None:
    """Raise if a column does not vary beyond rounding error."""
    refuse_constant(X, scale <= 1e-12 * (np.abs(mean) + np.finfo(float).tiny), who)


def shrunk_covariance(X: object, *, shrinkage: str = "least", who: str = "shrunk_covariance") -> CovarianceEstimate:
    """Mean and covariance, shrunk on standardised columns by a rule of ``shrink_by`` and returned in the columns' units.

    The plain Ledoit-Wolf estimator shrinks toward equal variances, which is wrong for columns in different units;
    shrinking the correlation matrix toward the identity does not depend on units.
    """
    check_shrinkage(shrinkage, who)
    matrix = as_matrix(X, who)
    if len(matrix) < 2:
        raise Grip2Error(f"{who}: at least two rows are needed to estimate a covariance, got {len(matrix)}.")
    mean, scale = mean_and_scale(matrix)
    check_not_constant(X, mean, scale, who)
    moments = scatter((matrix[block] - mean) / scale for block in row_blocks(matrix))
    correlation, weight = shrink_by(shrinkage, moments)
    return CovarianceEstimate(mean, correlation * np.outer(scale, scale), weight)


def stabilised(Sigma: np.ndarray, *, who: str) -> tuple[np.ndarray, float]:
    """Sigma, with a ridge on its diagonal if it is singular, and the size of the ridge relative to the variances.

    Warns when the ridge is not zero.
    """
    R, variance = correlation_scale(Sigma)
    lifted, ridge = lift(R)
    root = np.sqrt(variance)
    if ridge == 0.0:
        return (np.asarray(Sigma, dtype=float) + np.asarray(Sigma, dtype=float).T) / 2, 0.0
    warn_user(
        f"{who}: Sigma is singular or nearly so; a ridge of {ridge:.2g} times each variance was added. Knockoffs are "
        "exact for the ridged Sigma, and the effect on the false discovery rate is of that size. But features that are "
        "linear combinations of others get knockoffs that nearly equal them, so they cannot be selected. Drop or group "
        "such features.",
        NumericalRepairWarning,
    )
    return lifted * root[:, None] * root, ridge
