"""A category inside the Gaussian copula: a multinomial probit model of its level, with latent scores of its own.

Every level l of a category has a utility ``b_l + e_l`` with independent standard normal e_l, and the level of a row is the one
with the largest utility. Only differences matter. Against the reference, level 0 with ``b_0 = 0``, they are, scaled to unit
variance, ``u_k = a_k + z_k`` with ``a_k = b_k / sqrt(2)`` and ``z_k = (e_k - e_0) / sqrt(2)``: the scores z of a category have
variance 1 and correlation 1/2. The level is the k with the largest u_k if that is positive, and the reference otherwise.
There is one score for each of the K - 1 indicator columns; the b_k are such that all levels have their observed frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, column_list
from grip2.knockoffs.latent import truncated_normal
from grip2.units import Units

# Levels are numbered 0 (the reference), 1 .. K - 1 (the indicator columns); this one stands for a missing value.
MISSING = -1
_WITHIN = 0.5  # correlation of the scores of a category
_ROOT = np.sqrt(2.0)
# Utilities are integrated by the trapezoidal rule, which is exact to rounding error for integrands this smooth.
_REACH, _POINTS = 9.0, 721


@dataclass(frozen=True, eq=False)
class CategoryModel:
    """The multinomial probit model of one category: its indicator columns, and the means b of the utilities of all levels."""

    columns: np.ndarray  # (K - 1,)
    b: np.ndarray  # (K,), b[0] = 0

    @classmethod
    def from_frequencies(cls, columns: np.ndarray, frequencies: np.ndarray) -> CategoryModel:
        """The model whose levels have these probabilities, all positive."""
        return cls(columns, solve_utilities(frequencies))

    @cached_property
    def a(self) -> np.ndarray:
        """(K - 1,) means of the scaled differences of utilities."""
        return np.asarray(self.b[1:] / _ROOT)

    @property
    def within(self) -> np.ndarray:
        """The covariance of the scores of the category: fixed, because the scale of utilities cannot be observed."""
        k = len(self.columns)
        return np.full((k, k), _WITHIN) + (1 - _WITHIN) * np.eye(k)

    def levels(self, X: np.ndarray) -> np.ndarray:
        """(n,) the level of every row of the table; ``MISSING`` where the indicators are NaN."""
        indicators = X[:, self.columns]
        level = np.where(indicators.max(axis=1) > 0.5, 1 + indicators.argmax(axis=1), 0)
        return np.where(np.isnan(indicators[:, 0]), MISSING, level)

    def indicators(self, Z: np.ndarray) -> np.ndarray:
        """(n, K - 1) the 0/1 columns of the level that the scores of every row stand for: one 1 or none."""
        u = Z[:, self.columns] + self.a
        best = u.argmax(axis=1)[:, None]
        return np.asarray((best == np.arange(len(self.a))) & (np.take_along_axis(u, best, axis=1) > 0), dtype=float)

    def scores_given_level(self, level: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, K - 1) exact draws of the scores given the level alone.

        The largest utility is drawn first, by inversion of its distribution function on a grid. Given it, the other
        utilities are independent normals, truncated from above.
        """
        n, levels = len(level), len(self.b)
        top = np.full(n, np.inf)
        grid, density = _largest_utility(self.b)
        uniform = rng.random(n)
        for each in range(levels):
            rows = np.flatnonzero(level == each)
            below = np.concatenate([[0.0], np.cumsum((density[each, 1:] + density[each, :-1]) / 2)])
            top[rows] = np.interp(uniform[rows], below / below[-1], grid)
        share = np.clip(rng.random((n, levels)) * ndtr(top[:, None] - self.b), 1e-300, 1 - 1e-16)
        utility = self.b + ndtri(share)
        known = np.flatnonzero(level != MISSING)
        utility[known, level[known]] = top[known]
        return np.asarray((utility[:, 1:] - utility[:, :1]) / _ROOT - self.a)


@dataclass(frozen=True, eq=False)
class CategoryScores:
    """The scores of a category in some rows whose levels are known or missing, as one step of a Gibbs sampler."""

    model: CategoryModel
    level: np.ndarray  # (n,) 0 .. K - 1, or MISSING

    @property
    def columns(self) -> np.ndarray:
        return self.model.columns

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None:
        """Replace, in place, every score by a draw given all other scores and the level, under N(0, precision^-1).

        Score k lies above zero and all other u of the category where k is the level, and below the u of the level elsewhere.
        """
        a, columns = self.model.a, self.columns
        n, rows = len(Z), np.arange(len(Z))
        # Utilities of all levels; a last column makes a missing level (-1) bound nothing.
        u = np.column_stack([np.zeros(n), Z[:, columns] + a, np.full(n, np.inf)])
        for k, j in enumerate(columns, start=1):
            winners = np.flatnonzero(self.level == k)
            low, high = np.full(n, -np.inf), u[rows, self.level]
            high[winners] = np.inf
            low[winners] = np.delete(u[winners, :-1], k, axis=1).max(axis=1)
            mean = Z[:, j] - Z @ precision[:, j] / precision[j, j]
            deviation = 1 / np.sqrt(precision[j, j])
            Z[:, j] = truncated_normal(mean, deviation, low - a[k - 1], high - a[k - 1], rng)
            u[:, k] = Z[:, j] + a[k - 1]
        if len(columns) > 1:
            self._shift(Z, u, precision, rng)

    def _shift(self, Z: np.ndarray, u: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None:
        """Draw the common shift of all scores of the category given everything else.

        It is the utility of the reference. One score at a time it would move by about 1 / sqrt(K) in a sweep.
        """
        toward = precision[:, self.columns].sum(axis=1)
        size = float(toward[self.columns].sum())
        of_level = u[np.arange(len(u)), self.level]
        low = np.where(self.level > 0, -of_level, -np.inf)
        high = np.where(self.level == 0, -u[:, 1:-1].max(axis=1), np.inf)
        shift = truncated_normal(-(Z @ toward) / size, 1 / np.sqrt(size), low, high, rng)
        Z[:, self.columns] += shift[:, None]


def solve_utilities(frequencies: np.ndarray) -> np.ndarray:
    """(K,) the means b of the utilities, b_0 = 0, for which the probabilities of the levels are ``frequencies``.

    The expected largest utility is a convex function of b whose gradient is the probabilities and whose Hessian is known,
    so Newton's method with steps of at most 1 converges.
    """
    b = 0.8 * np.log(frequencies / frequencies[0])
    for _ in range(100):
        grid, density = _largest_utility(b)
        step = grid[1] - grid[0]
        probabilities = density.sum(axis=1) * step
        error = frequencies - probabilities
        if np.abs(error / frequencies).max() < 1e-10:
            break
        # dP_k / db_l = -int r_k r_l prod_m Phi(s - b_m) ds for k != l, with r = phi / Phi; rows sum to zero.
        hazard = np.exp(_log_phi(grid - b[:, None]) - log_ndtr(grid - b[:, None]))
        hessian = -(density @ hazard.T) * step
        np.fill_diagonal(hessian, 0.0)
        np.fill_diagonal(hessian, -hessian.sum(axis=1))
        change = np.linalg.solve(hessian[1:, 1:], error[1:])
        b[1:] += change / max(1.0, float(np.abs(change).max()))
    return np.asarray(b)


def _log_phi(t: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * t**2 - 0.5 * np.log(2 * np.pi))


def _largest_utility(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A grid s, and for each level (K, points) the density at s of "this level has the largest utility, which is s"."""
    grid = np.linspace(b.max() - _REACH, b.max() + _REACH, _POINTS)
    below = log_ndtr(grid - b[:, None])
    return grid, np.exp(_log_phi(grid - b[:, None]) - below + below.sum(axis=0))


def category_models(X: np.ndarray, categories: Categories, units: Units, names: object, who: str) -> list[CategoryModel]:
    """The models of the categories of a table, which may have missing values; ``names`` is the table as the user gave it."""
    p = X.shape[1]
    used: set[int] = set()
    models = []
    for category in categories:
        columns = np.asarray(list(category))
        _check_columns(columns, used, p, who)
        used.update(columns.tolist())
        listed = column_list(names, columns)
        if len(np.unique(units.of_column[columns])) > 1:
            raise Grip2Error(
                f"{who}: the columns of a category must lie in one unit, got several for {listed}. Give them one label in groups."
            )
        models.append(CategoryModel.from_frequencies(columns, _frequencies(X[:, columns], listed, who)))
    return models


def _check_columns(columns: np.ndarray, used: set[int], p: int, who: str) -> None:
    if columns.ndim != 1 or not len(columns) or columns.dtype.kind not in "iu" or columns.min() < 0 or columns.max() >= p:
        raise Grip2Error(
            f"{who}: categories must hold, for every category, the numbers of its columns (0 to {p - 1}), got {columns.tolist()!r}."
        )
    twice = sorted(used.intersection(columns.tolist()))
    if twice or len(np.unique(columns)) < len(columns):
        raise Grip2Error(f"{who}: a column must belong to one category only, and be listed once, got {columns.tolist()!r}.")


def _frequencies(indicators: np.ndarray, listed: str, who: str) -> np.ndarray:
    """(K,) the observed share of every level, the reference first."""
    missing = np.isnan(indicators)
    if (missing.any(axis=1) != missing.all(axis=1)).any():
        raise Grip2Error(
            f"{who}: a missing category must be NaN in all its columns, got rows with NaN in only some of {listed}."
        )
    known = indicators[~missing[:, 0]]
    if not np.isin(known, (0.0, 1.0)).all() or (known.sum(axis=1) > 1).any():
        raise Grip2Error(
            f"{who}: the columns of a category must hold 0 and 1, with at most one 1 in a row, got other values in {listed}."
        )
    counts: Sequence[float] | np.ndarray = np.concatenate([[len(known) - known.sum()], known.sum(axis=0)])
    if not np.all(counts):
        raise Grip2Error(
            f"{who}: every level of a category must occur, the reference (zero in all columns) too, got a level without rows "
            f"in {listed}. Drop the column of one level, which becomes the reference, and columns of levels that never occur."
        )
    return np.asarray(counts / np.sum(counts))
