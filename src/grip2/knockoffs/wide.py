"""Knockoffs of wide tables, with more columns than rows and too many for matrices of all pairs of columns.

The correlation matrix is that of the rows, shrunk toward the identity: ``R = g I + (1 - g) C`` with C of rank below n. All that
knockoffs need follows from the n x n products of rows, exactly: with the eigenvalues l and eigenvectors V (p, rank) of C, R has
the eigenvalues ``r = g + (1 - g) l`` along V and g across. S is ``s I``, one s for all columns, which is also block-diagonal
for any groups; where a full solver would give columns different values, power is lost, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from grip2.errors import Grip2Error
from grip2.knockoffs.s_matrix import ceiling_of

# Tables with more columns than this, and more columns than rows, are wide: matrices of all pairs of columns would take minutes.
WIDE = 1_500
# Eigenvalues of C below this share of the largest are rounding error.
_RANK_TOLERANCE = 1e-10


def is_wide(n_rows: int, n_columns: int) -> bool:
    return n_columns > WIDE and n_columns > n_rows


@dataclass(frozen=True, eq=False)
class WideCorrelation:
    """``R = g I + (1 - g) V diag(l) V'``."""

    vectors: np.ndarray  # (p, rank) V, orthonormal
    eigenvalues: np.ndarray  # (rank,) l of the unshrunk matrix C, whose diagonal is 1
    shrinkage: float  # g

    @classmethod
    def of(cls, Z: np.ndarray, extra_shrinkage: float = 0.0) -> WideCorrelation:
        """Of the columns of ``Z`` (n, p), shrunk by Ledoit and Wolf's weight and some more (appendix B.2)."""
        n, p = Z.shape
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        products = Z @ Z.T  # (n, n)
        # The formula of `grip2.knockoffs.covariance.ledoit_wolf_coefficient`: ||C||^2 is that of the products of rows.
        size = float(np.sum(products**2)) / n**2
        noise = (float(np.mean(np.diag(products) ** 2)) - size) / n
        distance = size - p
        weight = 0.0 if distance <= 0 else noise / distance
        values, left = np.linalg.eigh(products / n)
        kept = values > _RANK_TOLERANCE * values[-1]
        values, left = values[kept], left[:, kept]
        vectors = Z.T @ left / np.sqrt(n * values)
        return cls(vectors, values, float(np.clip(weight + extra_shrinkage, 1e-6, 1.0)))

    @property
    def n_columns(self) -> int:
        return len(self.vectors)

    @cached_property
    def along(self) -> np.ndarray:
        """(rank,) eigenvalues r of R along V."""
        return np.asarray(self.shrinkage + (1 - self.shrinkage) * self.eigenvalues)

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """(columns, p) some rows of R."""
        found = (self.vectors[columns] * (1 - self.shrinkage) * self.eigenvalues) @ self.vectors.T
        found[np.arange(len(columns)), columns] += self.shrinkage
        return np.asarray(found)

    def dense(self) -> np.ndarray:
        """(p, p) R itself, for small examples."""
        return self.rows(np.arange(self.n_columns))

    def solved(self, X: np.ndarray) -> np.ndarray:
        """``X R^-1`` for rows X (rows, p)."""
        inside = (X @ self.vectors) * (1 / self.shrinkage - 1 / self.along)
        return np.asarray(X / self.shrinkage - inside @ self.vectors.T)

    def best_s(self, solver: str, copies: int) -> float:
        """The s of ``S = s I`` by the criterion of a solver (`grip2.knockoffs.s_matrix`), in closed form or by a line search."""
        ceiling, p, across = ceiling_of(copies), self.n_columns, self.n_columns - len(self.along)
        largest = min(1.0, ceiling * min([self.shrinkage] * (across > 0) + [float(self.along.min(initial=np.inf))]))
        if solver in ("equi", "sdp"):
            return largest

        def criterion(s: float) -> float:
            rest = np.concatenate([ceiling * self.along - s, [ceiling * self.shrinkage - s]])
            weights = np.concatenate([np.ones(len(self.along)), [across]])
            if solver == "mvr":
                return float(copies**2 * p / s + np.sum(weights / rest))
            return float(-copies * p * np.log(s) - np.sum(weights * np.log(rest)))

        found = minimize_scalar(
            criterion, bounds=(1e-6 * largest, (1 - 1e-6) * largest), method="bounded", options={"xatol": 1e-9}
        )
        return float(found.x)

    def completed(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows whose missing values (NaN) are drawn given the others, for normal rows with mean zero and correlations R.

        R is that of a factor model, ``x = B f + sqrt(g) e`` with ``B = V diag(sqrt((1 - g) l))``: the factors are drawn given the
        observed values of a row, and missing values given the factors.
        """
        B = self.vectors * np.sqrt((1 - self.shrinkage) * self.eigenvalues)
        found = X.copy()
        for row in found:
            missing = np.isnan(row)
            if not missing.any():
                continue
            seen = B[~missing]
            precision = np.eye(B.shape[1]) + seen.T @ seen / self.shrinkage
            factor = np.linalg.cholesky(precision)
            mean = np.linalg.solve(precision, seen.T @ row[~missing] / self.shrinkage)
            f = mean + np.linalg.solve(factor.T, rng.standard_normal(len(mean)))
            row[missing] = B[missing] @ f + np.sqrt(self.shrinkage) * rng.standard_normal(int(missing.sum()))
        return found


class WideGaussian:
    """Copies of rows with mean zero and correlations R, given these rows; the construction of `ConditionalGaussian`.

    With S = s I and c = (m + 1)/m, ``M = c S - S R^-1 S`` has the eigenvalues ``s (c - s / r)`` along V and ``s (c - s / g)``
    across, so that its symmetric root is known.
    """

    jitter = 0.0

    def __init__(self, correlation: WideCorrelation, s: float, copies: int) -> None:
        self._correlation, self._s, self._copies = correlation, s, copies
        ceiling = ceiling_of(copies)
        self._across = np.sqrt(max(0.0, s * (ceiling - s / correlation.shrinkage)))
        self._along = np.sqrt(np.maximum(0.0, s * (ceiling - s / correlation.along)))

    @property
    def S(self) -> np.ndarray:
        return np.full(self._correlation.n_columns, self._s)

    def draw(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(copies, rows, p) copies of some rows. Random numbers are used row by row: drawing in blocks changes nothing."""
        n, p = Z.shape
        noise = rng.standard_normal((n, 1 if self._copies == 1 else 1 + self._copies, p))
        vectors = self._correlation.vectors
        own = noise[:, 0]
        common = self._across * own + ((own @ vectors) * (self._along - self._across)) @ vectors.T
        common += Z - self._s * self._correlation.solved(Z)
        if self._copies == 1:
            return np.asarray(common[np.newaxis])
        deviations = noise[:, 1:]
        deviations -= deviations.mean(axis=1, keepdims=True)
        return np.stack([common + np.sqrt(self._s) * deviations[:, k] for k in range(self._copies)])


class WideLaws:
    """The distributions of the knockoffs of a wide table for all numbers of copies; like `KnockoffLaws`."""

    jitter = 0.0

    def __init__(self, correlation: WideCorrelation, s: str | np.ndarray, *, who: str) -> None:
        if not isinstance(s, str):
            raise Grip2Error(
                f"{who}: tables of more than {WIDE:,} columns and fewer rows take the name of a solver for s, got an array."
            )
        self.correlation, self._solver = correlation, s

    def for_copies(self, copies: int) -> WideGaussian:
        return WideGaussian(self.correlation, self.correlation.best_s(self._solver, copies), copies)
