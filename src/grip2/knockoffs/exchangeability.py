"""Exact tests of exchangeability of (X, Xk): their false-alarm rates hold for every n, p and distribution.

If Xk are knockoffs of X and the rows are independent, then swapping x_ij with xk_ij, in any set of columns
and in any row by itself, does not change the distribution of the data. Every test here rests on that alone. A
contrast that changes sign under a swap is a sum of n terms with random signs; given their sizes, Hoeffding's
inequality bounds it:

    P(|sum_i d_i| >= z sqrt(sum_i d_i^2)) <= 2 exp(-z^2 / 2).

No asymptotics, no moments: heavy tails and discrete columns cost nothing. All data enters through ``Pairs``,
whose centring and scaling do not change under swaps either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

_CLASSIFIER_ROWS, _CLASSIFIER_FEATURES = 4_000, 250
_ENERGY_ROWS, _ENERGY_FLIPS = 1_000, 4_999
_MARGIN_LEVELS = 25
_EIGENVALUE_FLOOR = 1e-3
_CLIP = 4.0  # keeps single rows of heavy-tailed columns from ruling a least-squares fit


@dataclass(frozen=True)
class Pairs:
    """X and Xk, centred and scaled per pair by the mean and deviation of both members together."""

    X: np.ndarray
    Xk: np.ndarray

    @classmethod
    def standardised(cls, X: np.ndarray, Xk: np.ndarray) -> Pairs:
        mean = (X.mean(axis=0, dtype=float) + Xk.mean(axis=0, dtype=float)) / 2
        scale = np.sqrt((((X - mean) ** 2).mean(axis=0) + ((Xk - mean) ** 2).mean(axis=0)) / 2)
        scale[scale == 0] = 1.0  # a rare value may be missing from a sample of rows
        return cls((X - mean) / scale, (Xk - mean) / scale)

    def rows(self, index: np.ndarray | slice) -> Pairs:
        return Pairs(self.X[index], self.Xk[index])

    def swapped(self, columns: np.ndarray) -> Pairs:
        """The pairs with members exchanged in ``columns`` (a boolean mask)."""
        return Pairs(np.where(columns, self.Xk, self.X), np.where(columns, self.X, self.Xk))


@dataclass(frozen=True)
class Contrast:
    """A family of sign-changing contrasts: mean error of each, its standard error, and z = error / standard error."""

    error: np.ndarray
    standard_error: np.ndarray

    @property
    def z(self) -> np.ndarray:
        safe = np.where(self.standard_error > 0, self.standard_error, np.inf)
        return self.error / safe

    @property
    def size(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.error)))

    def worst(self, level: float) -> tuple[float, float, tuple[int, ...]]:
        """Error and standard error of one contrast, and where it is.

        The one with the largest absolute error among those that ``level`` rejects; where it rejects none, the one with the
        largest absolute z. An empty family has no error, and no place.
        """
        if self.size == 0:
            return 0.0, 0.0, ()
        z = np.where(np.isnan(self.error), -1.0, np.abs(np.nan_to_num(self.z)))
        rejected = (z >= 0) & (2 * self.size * np.exp(-(z**2) / 2) <= level)
        order = np.where(rejected, np.abs(self.error), -1.0) if rejected.any() else z
        where = np.unravel_index(int(np.argmax(order)), order.shape)
        return float(self.error[where]), float(self.standard_error[where]), tuple(int(i) for i in where)

    def p_value(self) -> float:
        """Bound on the chance that any of the family is as large under exchangeability."""
        return union_bound(float(np.abs(np.nan_to_num(self.z)).max()), self.size)


def union_bound(z: float, count: int) -> float:
    """Hoeffding's inequality for the largest of ``count`` contrasts; none at all reject nothing."""
    if count == 0:
        return 1.0
    return float(min(1.0, 2 * count * np.exp(-(z**2) / 2)))


def mean_contrast(pairs: Pairs) -> Contrast:
    """Mean of x_j - xk_j: changes sign when pair j is swapped."""
    D = pairs.X - pairs.Xk
    return Contrast(D.mean(axis=0), np.sqrt((D**2).sum(axis=0)) / len(D))


def covariance_contrast(pairs: Pairs) -> Contrast:
    """Mean of x_j x_k - xk_j xk_k, upper triangle: changes sign when all pairs are swapped."""
    X, Xk = pairs.X, pairs.Xk
    n = len(X)
    error = (X.T @ X - Xk.T @ Xk) / n
    X2, Xk2, both = X**2, Xk**2, X * Xk
    total = X2.T @ X2 + Xk2.T @ Xk2
    square = total - 2 * (both.T @ both)
    square[square < 1e-10 * total] = 0.0  # the difference of equals is rounding error
    lower = np.tril_indices(X.shape[1], -1)
    error[lower] = np.nan
    return Contrast(error, np.sqrt(square) / n)


def cross_covariance_contrast(pairs: Pairs) -> Contrast:
    """Mean of x_j (xk_k - x_k), j != k: changes sign when pair k is swapped."""
    X, D = pairs.X, pairs.Xk - pairs.X
    error = X.T @ D / len(X)
    np.fill_diagonal(error, np.nan)
    return Contrast(error, np.sqrt((X**2).T @ (D**2)) / len(X))


def partial_covariance_contrast(pairs: Pairs) -> Contrast:
    """Mean of a_j d_k, d = x - xk and a_j what is unique in x_j + xk_j: changes sign when all pairs are swapped.

    Exchangeable pairs have sums that are uncorrelated with differences. Given the other sums the sum of a pair has little
    variance left where features are correlated, so that errors show which the plain covariances drown in it.
    """
    sums, differences = pairs.X + pairs.Xk, pairs.X - pairs.Xk
    sums -= sums.mean(axis=0)
    values, vectors = np.linalg.eigh(sums.T @ sums / len(sums))
    # Floored, for fewer rows than columns. Sums do not change under swaps, so neither does anything computed from them.
    floored = np.maximum(values, max(_EIGENVALUE_FLOOR * float(values.mean()), 1e-12))
    unique = _unit(sums @ (vectors / floored) @ vectors.T)
    differences = _unit(differences)
    return Contrast(unique.T @ differences / len(sums), np.sqrt((unique**2).T @ (differences**2)) / len(sums))


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns of mean square one; those that are zero but for rounding become zero."""
    size = np.sqrt((columns**2).mean(axis=0))
    return columns / np.where(size > 1e-10, size, np.inf)


def margin_contrast(pairs: Pairs) -> Contrast:
    """Share of x_j <= t minus share of xk_j <= t at quantiles t of both together: changes sign when pair j is swapped."""
    levels = (np.arange(_MARGIN_LEVELS) + 0.5) / _MARGIN_LEVELS
    n, p = pairs.X.shape
    error, standard_error = np.zeros((p, _MARGIN_LEVELS)), np.zeros((p, _MARGIN_LEVELS))
    for j in range(p):
        t = np.quantile(np.concatenate([pairs.X[:, j], pairs.Xk[:, j]]), levels, method="lower")
        d = (pairs.X[:, j, None] <= t).astype(np.int8) - (pairs.Xk[:, j, None] <= t).astype(np.int8)
        error[j] = d.mean(axis=0)
        standard_error[j] = np.sqrt(np.count_nonzero(d, axis=0)) / n
    return Contrast(error, standard_error)


def kolmogorov_smirnov(pairs: Pairs) -> np.ndarray:
    """Largest distance between the two empirical distribution functions, per column."""
    n, p = pairs.X.shape
    distance = np.empty(p)
    for j in range(p):
        a, b = np.sort(pairs.X[:, j]), np.sort(pairs.Xk[:, j])
        at = np.concatenate([a, b])
        gap = np.searchsorted(a, at, side="right") - np.searchsorted(b, at, side="right")
        distance[j] = np.abs(gap).max() / n
    return distance


def swap_sets(p: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """All columns, then random halves; never an empty set."""
    sets = [np.ones(p, dtype=bool)]
    for _ in range(count - 1):
        mask = rng.random(p) < 0.5
        mask[rng.integers(p)] = True
        sets.append(mask)
    return sets


def classifier_test(pairs: Pairs, columns: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Held-out accuracy of telling data from swapped data, and its exact binomial p-value.

    A ridge classifier on contrasts phi = h(row) - h(swapped row) is trained on half of the rows. On each of
    the others it says "not swapped" when w'phi > 0: right with probability 1/2 if the pair is exchangeable,
    whatever w was learned.
    """
    rows = rng.permutation(len(pairs.X))[:_CLASSIFIER_ROWS]
    terms = _contrast_terms(pairs, columns, rng)
    phi = _phi(pairs.rows(rows), columns, terms)
    half = len(rows) // 2
    train, test = phi[:half], phi[half:]
    size = np.sqrt((train**2).mean(axis=0))
    keep = size > 1e-12
    if not keep.any():
        return 0.5, 1.0
    train, test = train[:, keep] / size[keep], test[:, keep] / size[keep]
    weights = _ridge(train)
    score = test @ weights
    decided = score[np.abs(score) > 1e-12]
    if not len(decided):
        return 0.5, 1.0
    right = int(np.count_nonzero(decided > 0))
    p_value = float(binomtest(right, len(decided), 0.5, alternative="greater").pvalue)
    return right / len(decided), p_value


def _contrast_terms(pairs: Pairs, columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Triples (j, k, type of k): for some swapped j, its two closest partners, in X and in Xk."""
    chosen = rng.permutation(np.flatnonzero(columns))[:_CLASSIFIER_FEATURES]
    if pairs.X.shape[1] == 1:
        return np.empty((0, 3), dtype=int)
    # Closeness of both members together: the choice must not change under swaps.
    total = pairs.X + pairs.Xk
    closeness = np.abs(total[:, chosen].T @ total)
    closeness[np.arange(len(chosen)), chosen] = -1
    partners = np.argsort(-closeness, axis=1)[:, :2]
    return np.array([(j, k, kind) for j, row in zip(chosen, partners, strict=True) for k in row for kind in (0, 1)])


def _phi(pairs: Pairs, columns: np.ndarray, terms: np.ndarray) -> np.ndarray:
    both, other = _clipped(pairs), _clipped(pairs.swapped(columns))
    X, Xs = both.X[:, columns], other.X[:, columns]
    parts = [X - Xs, X**2 - Xs**2, np.abs(X) - np.abs(Xs)]
    if len(terms):
        j, k, kind = terms.T
        partner = np.where(kind == 0, both.X[:, k], both.Xk[:, k])
        partner_s = np.where(kind == 0, other.X[:, k], other.Xk[:, k])
        parts.append(both.X[:, j] * partner - other.X[:, j] * partner_s)
    return np.hstack(parts)


def _clipped(pairs: Pairs) -> Pairs:
    return Pairs(np.clip(pairs.X, -_CLIP, _CLIP), np.clip(pairs.Xk, -_CLIP, _CLIP))


def _ridge(phi: np.ndarray) -> np.ndarray:
    """``(phi'phi + F I)^-1 phi'1`` for F features of unit size, by the smaller of the two Gram matrices."""
    n, count = phi.shape
    if count <= n:
        return np.linalg.solve(phi.T @ phi + count * np.eye(count), phi.sum(axis=0))
    return phi.T @ np.linalg.solve(phi @ phi.T + count * np.eye(n), np.ones(n))


def energy_test(pairs: Pairs, columns: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Energy distance between rows and swapped rows, as a share of the mean distance, and its exact p-value.

    With a the distances among rows and b the distances from rows to swapped rows, the squared energy distance
    is the sum of b - a. Swapping row i alone flips the sign of row and column i of that matrix, so the null
    distribution is that of e'(b - a)e for random signs e.
    """
    index = rng.permutation(len(pairs.X))[:_ENERGY_ROWS]
    sample = pairs.rows(index)
    swapped = sample.swapped(columns)
    rows, other = np.hstack([sample.X, sample.Xk]), np.hstack([swapped.X, swapped.Xk])
    among = _distances(rows, rows)
    K = _distances(rows, other) - among
    np.fill_diagonal(K, 0.0)  # the same for all signs
    observed = float(K.sum())
    exceed, done = 0, 0
    while done < _ENERGY_FLIPS:
        count = min(1000, _ENERGY_FLIPS - done)
        signs = rng.choice(np.array([-1.0, 1.0]), size=(len(rows), count))
        exceed += int(np.count_nonzero(np.einsum("ij,ij->j", signs, K @ signs) >= observed - 1e-9 * abs(observed)))
        done += count
    return observed / float(among.sum()), (1 + exceed) / (1 + _ENERGY_FLIPS)


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.sqrt(np.maximum(square, 0.0))
