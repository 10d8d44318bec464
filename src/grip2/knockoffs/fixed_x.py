"""Fixed-X knockoffs (appendix B.3) for any X of full rank.

Exact for linear models with Gaussian noise and statistics that are functions of Gram matrices.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from scipy.linalg import eigh, qr

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, KnockoffSampler, as_matrix, column_list, refuse_constant, units_of_columns
from grip2.knockoffs.s_matrix import choose_s
from grip2.knockoffs.s_matrix._groups import Groups

# Pivots of the QR decomposition below this fraction of the largest count as zero.
_RANK_TOLERANCE = 1e-6


class FixedXKnockoffs(KnockoffSampler):
    """Knockoffs with ``Xk'Xk = X'X`` and ``X'Xk = X'X - n S``, as in the R package's ``create.fixed``; one copy only.

    Exact, without any assumption on X, when ``y = X beta + Gaussian noise`` and the statistic depends on the data only
    through ``[X, Xk]'[X, Xk]`` and ``[X, Xk]'y``. Neural statistics do not, and no proof covers them.

    Parameters
    ----------
    s : {"equi", "sdp", "mvr", "maxent"} or array
        The solver that chooses S, on columns scaled to length one, or its values in units of ``X'X / n``: the diagonal,
        or with groups the block-diagonal matrix.
    center : bool
        True: the model has an intercept. Columns are centred first and their means are added back at the end; the
        identities hold for the centred and for the original matrices. Needs one row more: n >= 2p + 1.
        False: X is used without centring, as in R; n >= 2p.

    Notes
    -----
    With fewer rows than ``rows_needed``, but more than p, extend the data with ``augment_rows`` before ``fit``.

    Attributes
    ----------
    covariance_, s_ : ``X'X / n`` of the (centred) columns, and S in the same units: its diagonal, or with groups the whole
        matrix.
    units_ : the units of columns.
    """

    fixed_x: ClassVar[bool] = True
    augments_rows: ClassVar[bool] = True
    draws_groups: ClassVar[bool] = True

    def __init__(self, s: str | np.ndarray = "equi", center: bool = True) -> None:
        self.s = s
        self.center = center

    def rows_needed(self, p: int) -> int:
        """2p, and one more for the intercept."""
        return 2 * p + self.center

    def augment_rows(
        self, X: np.ndarray, y: np.ndarray, *, rng: np.random.Generator, noise_sd: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The data, with rows added if there are too few: zeros in (centred) X, noise in y (Barber and Candes, 2015, 2.1.2).

        The noise has standard deviation ``noise_sd``; with None, the residual standard deviation of y regressed on X.
        Control is exact only if this is the true standard deviation of the noise. Data with enough rows are returned
        unchanged.
        """
        who = type(self).__name__
        matrix, response = as_matrix(X, who), np.asarray(y, dtype=float)
        n, p = matrix.shape
        if response.shape != (n,):
            raise Grip2Error(f"{who}: y must hold one number per row ({n}), got shape {response.shape}.")
        self._check_rows(n, p)
        if n >= self.rows_needed(p):
            return matrix, response
        centred = matrix - matrix.mean(axis=0) if self.center else matrix
        if noise_sd is None:
            noise_sd = _residual_sd(centred, response - response.mean() * self.center, n - p - self.center, who)
        # With an intercept, knockoffs must be orthogonal to the constant on the data rows and to the constant on the added
        # rows, which takes two rows more.
        extra = 2 * p + 2 * self.center - n
        noise = noise_sd * stream(rng, "augmented rows").standard_normal(extra)
        zeros = np.zeros((extra, p), matrix.dtype)
        middle = response.mean() if self.center else 0.0
        return np.vstack([centred.astype(matrix.dtype), zeros]), np.concatenate([response, middle + noise])

    def fit(self, X: np.ndarray, y: None = None, *, groups: Groups = None, categories: Categories = ()) -> Self:
        """Scale the columns to length one, decompose the matrix, choose S.

        ``groups`` holds a label for every column: columns with the same label form a unit. None: every column is a unit.
        """
        who = type(self).__name__
        matrix = as_matrix(X, who)
        n, p = matrix.shape
        units = units_of_columns(groups, p, who)
        self._check_rows(n, p)
        Y = matrix.astype(float)
        self._mean = Y.mean(axis=0) if self.center else np.zeros(p)
        Y -= self._mean
        self._norms = np.sqrt(np.einsum("ij,ij->j", Y, Y))
        # A column is constant if centring leaves only rounding error, relative to its own length.
        size = np.sqrt(np.einsum("ij,ij->j", matrix, matrix, dtype=float))
        refuse_constant(X, self._norms <= 1e-12 * size, who)
        _check_rank(X, Y, self._norms, who)
        Y /= self._norms
        self._U, D, Vt = np.linalg.svd(Y, full_matrices=False)
        G = (Vt.T * D**2) @ Vt
        S = choose_s(self._scaled_s(n, p), (G + G.T) / 2, who=who, groups=None if units.all_single else units)
        # Xk = X - X G^-1 S + U_perp C, C'C = 2S - S G^-1 S (appendix B.3). X G^-1 = U D^-1 V'.
        whitened = Vt / D[:, None]
        self._shift = whitened * S if S.ndim == 1 else whitened @ S
        M = 2 * (np.diag(S) if S.ndim == 1 else S) - self._shift.T @ self._shift
        eigenvalues, vectors = eigh((M + M.T) / 2)
        self._C = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T  # clips rounding error only
        self._X = matrix.copy()
        self._directions = _constant_directions(matrix) if self.center else np.zeros((n, 0))
        self.covariance_ = G * np.outer(self._norms, self._norms) / n
        self.s_ = S * self._scale_of(S) / n
        self._remember_columns(X, p, units)
        return self

    def _scaled_s(self, n: int, p: int) -> str | np.ndarray:
        """The parameter ``s`` on the scale of columns of length one; ``choose_s`` refuses values of a wrong shape."""
        if isinstance(self.s, str):
            return self.s
        values = np.asarray(self.s, dtype=float)
        return values * n / self._scale_of(values) if values.shape in ((p,), (p, p)) else values

    def _scale_of(self, S: np.ndarray) -> np.ndarray:
        """What S, a diagonal or a matrix, is multiplied by to undo the scaling of columns to length one."""
        return np.asarray(self._norms**2 if S.ndim == 1 else np.outer(self._norms, self._norms))

    def _check_rows(self, n: int, p: int) -> None:
        if n < p + self.center:
            raise Grip2Error(
                f"{type(self).__name__}: X must have at least as many rows as columns"
                f"{' plus one for the intercept' if self.center else ''}, got {n} rows and {p} columns. "
                "Use CopulaKnockoffs or GaussianKnockoffs, which have no such limit."
            )

    def _sample(self, X: np.ndarray, rng: np.random.Generator, copies: int) -> np.ndarray:
        who = type(self).__name__
        n, p = X.shape
        if X.shape != self._X.shape or not np.array_equal(X, self._X):
            raise Grip2Error(f"{who}: X must be the same matrix as in fit, got another one. Fit on it first.")
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
        return np.asarray(Xk, dtype=X.dtype)[np.newaxis]

    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""
        return [
            "X is fixed; the response is linear in X"
            + (" with an intercept" if self.center else " without an intercept")
            + ", with independent Gaussian noise of constant variance.",
            "The statistic depends on the data only through Gram matrices (lasso, least squares): "
            "with a neural statistic there is no proof.",
            *self._about_units(),
        ]


def _residual_sd(X: np.ndarray, y: np.ndarray, degrees: int, who: str) -> float:
    """Residual standard deviation of y regressed on X, with ``degrees`` of freedom."""
    if degrees < 1:
        raise Grip2Error(
            f"{who}: the standard deviation of the noise can be estimated only with more rows than coefficients, got "
            f"{len(X)} rows. Pass noise_sd to augment_rows."
        )
    coefficients = np.linalg.lstsq(X.astype(float), y, rcond=None)[0]
    return float(np.sqrt(np.sum((y - X @ coefficients) ** 2) / degrees))


def _check_rank(X: object, Y: np.ndarray, norms: np.ndarray, who: str) -> None:
    """Raise if columns are linear combinations of others: these have no fixed-X knockoffs."""
    R, order = qr(Y / norms, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    dependent = np.sort(order[: len(diagonal)][diagonal < _RANK_TOLERANCE * diagonal[0]])
    if len(dependent):
        raise Grip2Error(
            f"{who}: columns of X must be linearly independent, got {column_list(X, dependent)} as a combination of "
            "the others. Drop them, or use CopulaKnockoffs."
        )


def _constant_directions(X: np.ndarray) -> np.ndarray:
    """Orthonormal columns, constant over rows, to which the knockoffs' noise must be orthogonal.

    One column for all rows; two, for the data rows and for the added ones, if ``augment_rows`` was used. Added rows are
    recognised as zero rows at the end of a matrix whose columns are already centred. If that is a coincidence, the second
    column costs one row and does no harm.
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
    """p orthonormal columns, uniformly distributed in the orthogonal complement of an orthonormal basis."""
    Z = rng.standard_normal((len(basis), p))
    for _ in range(2):  # one projection leaves rounding error proportional to the condition number; two are enough
        Z -= basis @ (basis.T @ Z)
    Q, _ = np.linalg.qr(Z)
    Q -= basis @ (basis.T @ Q)
    return Q
