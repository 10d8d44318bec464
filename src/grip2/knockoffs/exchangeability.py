"""Exact tests that (X, Xk) are exchangeable: their false-alarm rates hold for every n, p and distribution.

If Xk is a knockoff copy of X and the rows are independent, then swapping x_ij with xk_ij, for any set of columns j and
independently in every row i, does not change the distribution of the data. Every test here uses only this fact. A contrast
that changes sign under a swap is a sum of n terms with random signs, so that given the absolute values of its terms
Hoeffding's inequality bounds it:

    P(|sum_i d_i| >= z sqrt(sum_i d_i^2)) <= 2 exp(-z^2 / 2).

The bound needs neither large samples nor finite moments, so heavy tails and discrete columns are no problem. The data are
used only through ``Pairs``, whose centring and scaling do not change under swaps either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from grip2.units import Units

_CLASSIFIER_ROWS, _CLASSIFIER_FEATURES = 4_000, 250
_ENERGY_ROWS, _ENERGY_FLIPS = 1_000, 4_999
_MARGINAL_LEVELS = 25
N_SWAP_SETS = 4
_SIGNIFICANT = 1e-3
_EIGENVALUE_FLOOR = 1e-3
_CLIP = 4.0  # keeps single rows of heavy-tailed columns from dominating a least-squares fit


@dataclass(frozen=True)
class Pairs:
    """X and Xk, each pair of columns centred and scaled by the mean and standard deviation of the two pooled."""

    X: np.ndarray
    Xk: np.ndarray

    @classmethod
    def standardised(cls, X: np.ndarray, Xk: np.ndarray) -> Pairs:
        mean = (X.mean(axis=0, dtype=float) + Xk.mean(axis=0, dtype=float)) / 2
        scale = np.sqrt((((X - mean) ** 2).mean(axis=0) + ((Xk - mean) ** 2).mean(axis=0)) / 2)
        scale[scale == 0] = 1.0  # a subsample of rows may lack the only rare value of a column
        return cls((X - mean) / scale, (Xk - mean) / scale)

    def take(self, row_indices: np.ndarray) -> Pairs:
        """The pairs of some rows."""
        return Pairs(self.X[row_indices], self.Xk[row_indices])

    def swapped(self, columns: np.ndarray) -> Pairs:
        """The pairs with members exchanged in ``columns`` (a boolean mask)."""
        return Pairs(np.where(columns, self.Xk, self.X), np.where(columns, self.X, self.Xk))


@dataclass(frozen=True)
class Contrast:
    """A family of contrasts that change sign under a swap: the mean of each, its standard error, and their ratio z.

    Entries that are NaN do not belong to the family.
    """

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
        """Error, standard error and position of the contrast to report.

        Among the contrasts rejected at ``level``, the one with the largest absolute error; if none is rejected, the one with
        the largest absolute z. For an empty family the errors are 0 and the position is empty.
        """
        if self.size == 0:
            return 0.0, 0.0, ()
        z = np.where(np.isnan(self.error), -1.0, np.abs(np.nan_to_num(self.z)))
        rejected = (z >= 0) & (2 * self.size * np.exp(-(z**2) / 2) <= level)
        order = np.where(rejected, np.abs(self.error), -1.0) if rejected.any() else z
        where = np.unravel_index(int(np.argmax(order)), order.shape)
        return float(self.error[where]), float(self.standard_error[where]), tuple(int(i) for i in where)

    def p_value(self) -> float:
        """Upper bound on the probability, under exchangeability, that any |z| of the family is as large as the largest here."""
        return union_bound(float(np.abs(np.nan_to_num(self.z)).max()), self.size)


def union_bound(z: float, count: int) -> float:
    """P-value bound for the largest of ``count`` contrasts: Hoeffding's inequality and Bonferroni; 1 if there are none."""
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


def cross_covariance_contrast(pairs: Pairs, units: Units) -> Contrast:
    """Mean of x_j (xk_k - x_k) for j and k of two units: changes sign when the unit of k is swapped."""
    X, D = pairs.X, pairs.Xk - pairs.X
    error = X.T @ D / len(X)
    error[np.equal.outer(units.of_column, units.of_column)] = np.nan
    return Contrast(error, np.sqrt((X**2).T @ (D**2)) / len(X))


def partial_covariance_contrast(pairs: Pairs) -> Contrast:
    """Mean of a_j d_k with d = x - xk and a_j the residual of x_j + xk_j on all other sums: changes sign when all are swapped.

    For exchangeable pairs, sums and differences are uncorrelated. Where features are correlated, a sum has little residual
    variance given the other sums, so the residuals reveal errors that are lost in the noise of the plain covariances.
    """
    sums, differences = pairs.X + pairs.Xk, pairs.X - pairs.Xk
    sums -= sums.mean(axis=0)
    values, vectors = np.linalg.eigh(sums.T @ sums / len(sums))
    # The floor keeps the inverse finite with fewer rows than columns. It is a function of the sums, which do not change
    # under swaps, so the contrast still changes sign.
    floored = np.maximum(values, max(_EIGENVALUE_FLOOR * float(values.mean()), 1e-12))
    unique = _unit(sums @ (vectors / floored) @ vectors.T)
    differences = _unit(differences)
    return Contrast(unique.T @ differences / len(sums), np.sqrt((unique**2).T @ (differences**2)) / len(sums))


def _unit(columns: np.ndarray) -> np.ndarray:
    """Columns scaled to mean square one; columns that are zero up to rounding error become zero."""
    size = np.sqrt((columns**2).mean(axis=0))
    return np.asarray(columns / np.where(size > 1e-10, size, np.inf))


def marginal_contrast(pairs: Pairs) -> Contrast:
    """Share of x_j <= t minus share of xk_j <= t at quantiles t of the two pooled: changes sign when pair j is swapped."""
    levels = (np.arange(_MARGINAL_LEVELS) + 0.5) / _MARGINAL_LEVELS
    n, p = pairs.X.shape
    error, standard_error = np.zeros((p, _MARGINAL_LEVELS)), np.zeros((p, _MARGINAL_LEVELS))
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


def swap_sets(units: Units, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Masks of columns to swap: first all, then those of random halves of the units, none of them empty."""
    sets = [np.ones(units.n_columns, dtype=bool)]
    for _ in range(count - 1):
        mask = rng.random(len(units)) < 0.5
        mask[rng.integers(len(units))] = True
        sets.append(mask[units.of_column])
    return sets


def swap_accuracy(pairs: Pairs, units: Units, rng: np.random.Generator) -> float:
    """The best held-out accuracy of ``classifier_test`` over several sets of swapped units; 0.5 where none is significant."""
    results = [classifier_test(pairs, columns, rng) for columns in swap_sets(units, N_SWAP_SETS, rng)]
    return max((accuracy for accuracy, p_value in results if p_value <= _SIGNIFICANT / len(results)), default=0.5)


def classifier_test(pairs: Pairs, columns: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Held-out accuracy of a classifier that distinguishes rows from swapped rows, and its exact binomial p-value.

    A ridge classifier with weights w on contrasts phi = h(row) - h(swapped row) is trained on half of the rows. It classifies
    each of the other rows as "not swapped" if w'phi > 0, which under exchangeability is correct with probability 1/2,
    whatever weights were learned.
    """
    row_indices = rng.permutation(len(pairs.X))[:_CLASSIFIER_ROWS]
    terms = _contrast_terms(pairs, columns, rng)
    phi = _phi(pairs.take(row_indices), columns, terms)
    half = len(row_indices) // 2
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
    """Products for the classifier as triples (j, k, kind): swapped column j times column k of X (kind 0) or of Xk (kind 1).

    For each j, k runs over the two columns most correlated with it.
    """
    chosen = rng.permutation(np.flatnonzero(columns))[:_CLASSIFIER_FEATURES]
    if pairs.X.shape[1] == 1:
        return np.empty((0, 3), dtype=int)
    # Correlations of the sums x + xk: the choice of columns must not change under swaps.
    total = pairs.X + pairs.Xk
    closeness = np.abs(total[:, chosen].T @ total)
    closeness[np.arange(len(chosen)), chosen] = -1
    partners = np.argsort(-closeness, axis=1)[:, :2]
    return np.array([(j, k, kind) for j, row in zip(chosen, partners, strict=True) for k in row for kind in (0, 1)])


def _phi(pairs: Pairs, columns: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Contrasts h(row) - h(swapped row), h: values, squares, absolute values and the products of ``terms``."""
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
    """``(phi'phi + F I)^-1 phi'1`` for F columns of mean square one, computed with the smaller of the two Gram matrices."""
    n, count = phi.shape
    if count <= n:
        return np.linalg.solve(phi.T @ phi + count * np.eye(count), phi.sum(axis=0))
    return phi.T @ np.linalg.solve(phi @ phi.T + count * np.eye(n), np.ones(n))


def energy_test(pairs: Pairs, columns: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Squared energy distance between rows and swapped rows, as a share of the mean distance, and its exact p-value.

    With a the matrix of distances among rows and b the distances from rows to swapped rows, the squared energy distance is
    the sum of the entries of b - a. Swapping row i alone flips the sign of row i and column i of that matrix, so the null
    distribution is that of e'(b - a)e for random signs e.
    """
    sample = pairs.take(rng.permutation(len(pairs.X))[:_ENERGY_ROWS])
    swapped = sample.swapped(columns)
    observed_rows, swapped_rows = np.hstack([sample.X, sample.Xk]), np.hstack([swapped.X, swapped.Xk])
    among = _distances(observed_rows, observed_rows)
    K = _distances(observed_rows, swapped_rows) - among
    np.fill_diagonal(K, 0.0)  # the diagonal contributes the same for all signs
    observed = float(K.sum())
    exceed, done = 0, 0
    while done < _ENERGY_FLIPS:
        count = min(1000, _ENERGY_FLIPS - done)
        signs = rng.choice(np.array([-1.0, 1.0]), size=(len(observed_rows), count))
        exceed += int(np.count_nonzero(np.einsum("ij,ij->j", signs, K @ signs) >= observed - 1e-9 * abs(observed)))
        done += count
    return observed / float(among.sum()), (1 + exceed) / (1 + _ENERGY_FLIPS)


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
