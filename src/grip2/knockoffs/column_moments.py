"""Changes the correlations of normal scores so that the columns themselves have their observed correlations.

If scores are bivariate normal with correlation r, the columns ``f_j(Z_j)`` and ``f_k(Z_k)`` made from them have correlation
``sum_m h_jm h_km r^m`` (Mehler's formula), where h_j are the coefficients of the standardised f_j in normalised Hermite
polynomials. Scores drawn by stochastic EM have the correlations that are most likely under a Gaussian copula. Where the copula
does not fit, those of the columns can be far off, and statistics see the columns: knockoffs then miss second moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from grip2.knockoffs.marginals import Marginal

# Terms of the series: those left out matter for correlations near 1 only.
_TERMS = 40
# Weights of the squared change of a score correlation relative to the squared error of a column correlation, tried in this order
# until errors are no larger than standard errors. The weight matters where columns contain little information, as about a
# negative correlation of two rare values, and keeps chance correlations from making knockoffs equal to their originals.
_WEIGHTS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
_ITERATIONS = 200
# With more columns the search would take minutes.
MOST_COLUMNS = 500


@dataclass(frozen=True)
class ColumnCorrelations:
    """The observed correlations of some columns, and what is needed to compute them from those of their scores."""

    observed: np.ndarray  # (p, p)
    hermite: np.ndarray  # (p, 1 + terms)

    def implied(self, R: np.ndarray) -> np.ndarray:
        """(p, p) the correlations of the columns if their scores have the correlations R; ignore the diagonal."""
        return self._with_slopes(R)[0]

    def error(self, R: np.ndarray) -> float:
        """Root mean square, over pairs of columns, of the difference between implied and observed correlations."""
        return float(np.sqrt(np.mean((self.implied(R) - self.observed)[~np.eye(len(R), dtype=bool)] ** 2)))

    def matched(self, R: np.ndarray, floor: float, weight: float) -> np.ndarray:
        """The correlation matrix with no eigenvalue below ``floor`` whose implied correlations are nearest to the observed.

        Least squares, starting from R, with a weight on the squared distance from R. Minimised over B with rows of length
        one in ``(1 - floor) B B^T + floor I``.
        """
        p = len(R)
        start = R
        off = 1.0 - np.eye(p)

        def correlations(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            A = flat.reshape(p, p)
            length = np.sqrt(np.einsum("ij,ij->i", A, A))[:, None]
            B = A / length
            found = (1 - floor) * (B @ B.T)
            np.fill_diagonal(found, 1.0)
            return found, B, length

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            found, B, length = correlations(flat)
            implied, slopes = self._with_slopes(found)
            error, change = (implied - self.observed) * off, (found - start) * off
            gradient = 2 * (1 - floor) * (error * slopes + weight * change) @ B
            gradient -= np.einsum("ij,ij->i", gradient, B)[:, None] * B
            return 0.5 * float(np.sum(error**2) + weight * np.sum(change**2)), (gradient / length).ravel()

        values, vectors = np.linalg.eigh((R - floor * np.eye(p)) / (1 - floor))
        first = vectors * np.sqrt(np.maximum(values, 1e-6))
        found = minimize(
            loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS, "maxcor": 20}
        )
        return correlations(found.x)[0]

    def _with_slopes(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The implied correlations and their derivatives in R: Horner's rule for all pairs at once."""
        value, slope = np.zeros(R.shape), np.zeros(R.shape)
        for h in self.hermite.T[::-1]:
            slope *= R
            slope += value
            value *= R
            value += np.multiply.outer(h, h)
        return value, slope


@dataclass(frozen=True)
class ColumnFit:
    """Root mean square errors of the correlations of the columns that a model implies."""

    likeliest: float  # with the most likely correlations of scores
    used: float  # with those used: smaller if they were matched to the columns
    standard_error: float  # of one correlation, about 1 / sqrt(n)

    @property
    def matched(self) -> bool:
        return self.used < self.likeliest

    def sentence(self) -> str:
        """For a sampler's assumptions, where the likeliest correlations miss those of the columns."""
        then = (
            f"the correlations of their scores were changed, which leaves {self.used:.2g}"
            if self.matched
            else f"with more than {MOST_COLUMNS} columns this is not mended"
        )
        return (
            "A Gaussian copula does not fit the discrete and spiked columns well: it misses their correlations by "
            f"{self.likeliest:.2g} (root mean square), and {then}; the standard error is {self.standard_error:.2g}."
        )


def match_columns(R: np.ndarray, columns: ColumnCorrelations, n: int, floor: float) -> tuple[np.ndarray, ColumnFit]:
    """R itself if the correlations that it implies miss the observed ones by less than their standard error, otherwise matched.

    Sampling error alone stays below that: 0.15 to 0.45 standard errors on simulated tables with Gaussian copula, where
    matching would only add noise. On the 80 ordinal columns of a table of customers, whose copula is not Gaussian, it is 4.4.
    """
    standard_error = 1 / np.sqrt(n)
    likeliest = used = columns.error(R)
    found = R
    for weight in _WEIGHTS if len(R) <= MOST_COLUMNS else ():
        if used <= standard_error:
            break
        found = columns.matched(R, floor, weight)
        used = columns.error(found)
    return found, ColumnFit(likeliest, used, float(standard_error))


def column_correlations(
    X: np.ndarray, Z: np.ndarray, marginals: list[Marginal], as_they_are: np.ndarray
) -> ColumnCorrelations:
    """The correlations of the columns of X, with the normal scores Z in place of those that are not ``as_they_are``.

    Pairs of values of which one is missing (NaN) are left out.
    """
    values = np.where(as_they_are, X, np.where(np.isnan(X), np.nan, Z))
    hermite = np.zeros((X.shape[1], 1 + _TERMS))
    hermite[:, 1] = 1.0
    for j in np.flatnonzero(as_they_are):
        hermite[j] = marginals[j].hermite(_TERMS)
    return ColumnCorrelations(_pairwise_correlations(values), hermite)


def _pairwise_correlations(values: np.ndarray) -> np.ndarray:
    seen = ~np.isnan(values)
    centred = np.where(seen, values - np.nanmean(values, axis=0), 0.0)
    count = np.maximum(seen.T.astype(float) @ seen, 1.0)
    covariance = centred.T @ centred / count
    root = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return np.asarray(covariance / root[:, None] / root)
