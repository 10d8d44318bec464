"""Fixed-X knockoffs (appendix B.3): exact for Gaussian linear models and statistics of Gram matrices, any X of full rank."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from scipy.linalg import eigh, qr

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import KnockoffSampler, as_matrix, column_list, refuse_constant
from grip2.knockoffs.s_matrix import choose_s

# Singular values below this share of the largest count as zero.
_RANK_TOLERANCE = 1e-6


class FixedXKnockoffs(KnockoffSampler):
    """Knockoffs with ``Xk'Xk = X'X`` and ``X'Xk = X'X - diag(s)``, as the R package's ``create.fixed``.

    Exact, without any assumption on X, when ``y = X beta + Gaussian noise`` and the statistic depends on the
    data only through ``[X, Xk]'[X, Xk]`` and ``[X, Xk]'y``. A neural statistic does not: no proof covers it
    (``fixed_x`` is True, for callers that must say so).

    Parameters
    ----------
    s : {"equi", "sdp", "mvr", "maxent"} or array
        How the diagonal is chosen on the scale of columns of length one, or its values in units of ``X'X /
        n``.
    center : bool
        True: the model has an intercept. Columns are centred first, the identities hold for the centred
        matrices, and the means are put back (so they hold for the raw ones as well). Needs one row more: n >=
        2p + 1. False: X as it is, as in R; n >= 2p.

    With fewer rows, down to p, extend the data by ``augment_rows`` before ``fit``.

    Attributes
    ----------
    covariance_, s_ : ``X'X / n`` of the (centred) columns, and s on its scale.
    """

    fixed_x: ClassVar[bool] = True
    augments_rows: ClassVar[bool] = True

    def __init__(self, s: str | np.ndarray = "equi", center: bool = True) -> None:
        self.s = s
        self.center = center

    def augment_rows(
        self, X: np.ndarray, y: np.ndarray, *, rng: np.random.Generator, noise_sd: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The data with rows added until there are enough: zeros in (centred) X, noise in y (Barber and Candes, 2015, 2.1.2).

        The noise has the standard deviation of the residuals of y on X, or ``noise_sd``. Data with enough
        rows comes back as it is. Control is then exact only for the true standard deviation of the noise.
        """
        who = type(self).__name__
        matrix, response = as_matrix(X, who), np.asarray(y, dtype=float)
        n, p = matrix.shape
        if response.shape != (n,):
            raise Grip2Error(f"{who}: y must hold one number per row ({n}), got shape {response.shape}.")
        self._check_rows(n, p)
        if n >= 2 * p + self.center:
            return matrix, response
        centred = matrix - matrix.mean(axis=0) if self.center else matrix
        if noise_sd is None:
            noise_sd = _residual_sd(centred, response - response.mean() * self.center, n - p - self.center, who)
        # With an intercept, knockoffs stay orthogonal to the constant on the old rows and on the new ones:
        # two rows more.
        extra = 2 * p + 2 * self.center - n
        noise = noise_sd * stream(rng, "augmented rows").standard_normal(extra)
        zeros = np.zeros((extra, p), matrix.dtype)
        middle = response.mean() if self.center else 0.0
        return np.vstack([centred.astype(matrix.dtype), zeros]), np.concatenate([response, middle + noise])

    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Normalise the columns, decompose, choose s."""
        who = type(self).__name__
        matrix = as_matrix(X, who)
        n, p = matrix.shape
        self._check_rows(n, p)
        Y = matrix.astype(float)
        self._mean = Y.mean(axis=0) if self.center else np.zeros(p)
        Y -= self._mean
        self._norms = np.sqrt(np.einsum("ij,ij->j", Y, Y))
        # A column is constant when nothing but rounding error is left of its own size.
        size = np.sqrt(np.einsum("ij,ij->j", matrix, matrix, dtype=float))
        refuse_constant(X, self._norms <= 1e-12 * size, who)
        _check_rank(X, Y, self._norms, who)
        Y /= self._norms
        self._U, D, Vt = np.linalg.svd(Y, full_matrices=False)
        G = (Vt.T * D**2) @ Vt
        s = choose_s(self._scaled_s(n, p), (G + G.T) / 2, who=who)
        # Xk = X - X G^-1 diag(s) + U_perp C, C'C = 2S - S G^-1 S (appendix B.3). X G^-1 = U D^-1 V'.
        self._shift = (Vt / D[:, None]) * s
        M = 2 * np.diag(s) - self._shift.T @ self._shift
        eigenvalues, vectors = eigh((M + M.T) / 2)
        self._C = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T  # clips rounding error only
        self._X = matrix.copy()
        self._directions = _constant_directions(matrix) if self.center else np.zeros((n, 0))
        self.covariance_ = G * np.outer(self._norms, self._norms) / n
        self.s_ = s * self._norms**2 / n
        self._remember_columns(X, p)
        return self

    def _scaled_s(self, n: int, p: int) -> str | np.ndarray:
        """The parameter ``s`` on the scale of columns of length one; values of a wrong shape as they are, to be refused."""
        if isinstance(self.s, str):
            return self.s
        values = np.asarray(self.s, dtype=float)
        return values * n / self._norms**2 if values.shape == (p,) else values

    def _check_rows(self, n: int, p: int) -> None:
        if n < p + self.center:
            raise Grip2Error(
                f"{type(self).__name__}: X must have at least as many rows as columns"
                f"{' plus one for the intercept' if self.center else ''}, got {n} rows and {p} columns. "
                "Use CopulaKnockoffs or GaussianKnockoffs, which have no such limit."
            )

    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        who = type(self).__name__
        n, p = X.shape
        if X.shape != self._X.shape or not np.array_equal(X, self._X):
            raise Grip2Error(f"{who}: X must be the very matrix of fit, got another one. Fit on it first.")
        if n < 2 * p + self._directions.shape[1]:
            raise Grip2Error(
                f"{who}: at least {2 * p + self._directions.shape[1]} rows are needed for {p} columns"
                f"{' and an intercept' if self.center else ''}, got {n}. "
                "Extend the data first: X, y = sampler.augment_rows(X, y, rng=rng), then fit on that X."
            )
        complement = _random_complement(np.hstack([self._directions, self._U]), p, rng)
        Xk = -self._U @ self._shift
        Xk += complement @ self._C
        Xk *= self._norms
        Xk += X
        return Xk.astype(X.dtype, copy=False)

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        return [
            "X is fixed; the response is linear in X"
            + (" with an intercept" if self.center else " without an intercept")
            + ", with independent Gaussian noise of constant variance.",
            "The statistic depends on the data only through Gram matrices (lasso, least squares): "
            "with a neural statistic there is no proof.",
        ]


def _residual_sd(X: np.ndarray, y: np.ndarray, degrees: int, who: str) -> float:
    if degrees < 1:
        raise Grip2Error(
            f"{who}: the noise cannot be estimated with as many columns as rows. Pass noise_sd to augment_rows."
        )
    coefficients = np.linalg.lstsq(X.astype(float), y, rcond=None)[0]
    return float(np.sqrt(np.sum((y - X @ coefficients) ** 2) / degrees))


def _check_rank(X: object, Y: np.ndarray, norms: np.ndarray, who: str) -> None:
    """Columns that are linear combinations of others have no fixed-X knockoffs."""
    R, order = qr(Y / norms, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    dependent = np.sort(order[: len(diagonal)][diagonal < _RANK_TOLERANCE * diagonal[0]])
    if len(dependent):
        raise Grip2Error(
            f"{who}: columns of X must be linearly independent, got {column_list(X, dependent)} as a combination of "
            "the others. Drop them, or use CopulaKnockoffs."
        )


def _constant_directions(X: np.ndarray) -> np.ndarray:
    """Orthonormal constants to stay away from: all rows, or data rows and added zero rows where ``augment_rows`` was used.

    Added rows are recognised as zero rows at the end of a matrix whose columns are already centred. Where
    that is a coincidence, the second direction costs one row and does no harm.
    """
    n = len(X)
    added = n - 1 - int(np.max(np.flatnonzero(np.any(X != 0, axis=1)), initial=-1))
    centred = bool(np.all(np.abs(X.sum(axis=0, dtype=float)) <= 1e-4 * np.abs(X).sum(axis=0, dtype=float)))
    if added == 0 or not centred:
        return np.full((n, 1), 1 / np.sqrt(n))
    parts = np.zeros((n, 2))
    parts[: n - added, 0] = 1 / np.sqrt(n - added)
    parts[n - added :, 1] = 1 / np.sqrt(added)
    return parts


def _random_complement(basis: np.ndarray, p: int, rng: np.random.Generator) -> np.ndarray:
    """p orthonormal columns, uniformly random in the orthogonal complement of an orthonormal basis."""
    Z = rng.standard_normal((len(basis), p))
    for _ in range(2):  # once leaves rounding error of the size of the condition number; twice is enough
        Z -= basis @ (basis.T @ Z)
    Q, _ = np.linalg.qr(Z)
    Q -= basis @ (basis.T @ Q)
    return Q
