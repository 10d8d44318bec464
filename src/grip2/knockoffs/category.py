"""A category inside the Gaussian copula: a multinomial probit model of its level, with latent scores of its own.

Every level l of a category has a utility, and the level of a row is the one with the largest. Only differences matter: against
the reference, level 0, they are ``u_k = a_k + z_k``, one for each of the K - 1 indicator columns. The level is the k with the
largest u_k if that is positive, and the reference otherwise. The scores z are jointly normal with those of all other columns.

What is fixed is the covariance of the scores of a category given all other columns: variance 1 and correlation 1/2, that of
``(e_k - e_0) / sqrt(2)`` with independent standard normal e, as in the regression of a level on other columns by independent
utilities. (Fixing the covariance without the word "given" would be no model of many levels: K independent utilities cannot
each have a correlation above 1 / sqrt(K) with the same other column.) The a_k are such that all levels have their observed
frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats.qmc import Sobol

from grip2.errors import Grip2Error
from grip2.knockoffs.base import Categories, column_list
from grip2.knockoffs.latent import truncated_normal
from grip2.units import Units

# Levels are numbered 0 (the reference), 1 .. K - 1 (the indicator columns); this one stands for a missing value.
MISSING = -1
_ROOT = np.sqrt(2.0)
# The largest utility is integrated by the trapezoidal rule, which is exact to rounding error for integrands this smooth.
_REACH, _POINTS = 8.0, 49
# Points of the quasi-random integration over what the other columns explain: frequencies come out to about 1 % with the
# first number, used for the result, and to a few per cent with the second, used on the way to it.
_FINE, _COARSE = 512, 128


@dataclass(frozen=True, eq=False)
class CategoryModel:
    """The multinomial probit model of one category."""

    columns: np.ndarray  # (K - 1,) its indicator columns
    frequencies: np.ndarray  # (K,) of its levels, the reference first, all positive
    a: np.ndarray  # (K - 1,) means of the differences of utilities

    @classmethod
    def alone(cls, columns: np.ndarray, frequencies: np.ndarray) -> CategoryModel:
        """The model of a category that is independent of all other columns."""
        return cls(columns, frequencies, 0.6 * np.log(frequencies[1:] / frequencies[0])).among(_within(len(columns)))

    def among(self, covariance: np.ndarray, *, points: int = _FINE) -> CategoryModel:
        """The model with the same frequencies for scores that have this covariance."""
        return replace(self, a=solve_means(self.frequencies, self._explained(covariance, points), self.a))

    def slopes(self, covariance: np.ndarray) -> np.ndarray:
        """(K - 1, K - 1) J: the derivatives of the probabilities of the levels in the scores.

        By Stein's lemma the covariance of the indicators with another normal score is J times that of the scores with it.
        """
        explained = _ROOT * self._explained(covariance, _COARSE)
        return np.asarray(_ROOT * _level_probabilities(_ROOT * self.a, explained)[1][1:, 1:])

    def _explained(self, covariance: np.ndarray, points: int) -> np.ndarray:
        return _normal_points(covariance - self.within, points)

    @cached_property
    def within(self) -> np.ndarray:
        """The covariance of the scores given all other columns."""
        return _within(len(self.columns))

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

    def start(self, level: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, K - 1) scores that fit the levels, to start a Gibbs sampler: that of the level is swapped with the largest."""
        n, rows = len(level), np.flatnonzero(level != MISSING)
        utility = np.column_stack([np.zeros(n), _ROOT * np.tile(self.a, (n, 1))]) + rng.standard_normal(
            (n, len(self.a) + 1)
        )
        best = utility.argmax(axis=1)[rows]
        utility[rows, best], utility[rows, level[rows]] = utility[rows, level[rows]], utility[rows, best]
        return np.asarray((utility[:, 1:] - utility[:, :1]) / _ROOT - self.a)


@dataclass(eq=False)
class CategoryScores:
    """The scores of a category in some rows whose levels are known or missing, as one step of a Gibbs sampler."""

    model: CategoryModel
    level: np.ndarray  # (n,) 0 .. K - 1, or MISSING

    @property
    def columns(self) -> np.ndarray:
        return self.model.columns

    @property
    def covariance_given_others(self) -> np.ndarray:
        return self.model.within

    def adapt(self, Z: np.ndarray, covariance: np.ndarray) -> None:
        """Let levels have their frequencies under another covariance of all scores; the utilities behind Z do not change."""
        model = self.model.among(covariance[np.ix_(self.columns, self.columns)], points=_COARSE)
        Z[:, self.columns] += self.model.a - model.a
        self.model = model

    def linear_scores(self, covariance: np.ndarray) -> np.ndarray:
        """(n, K - 1) ``J^-1 (indicators - frequencies)``, 0 where the level is missing.

        Its covariance with the score of another column is, in expectation, that of the hidden scores with it. A level of
        few rows has an uncertain one: each level is multiplied by ``J^-1``.
        """
        slopes = self.model.slopes(covariance[np.ix_(self.columns, self.columns)])
        centred = (self.level[:, None] == np.arange(1, len(self.columns) + 1)) - self.model.frequencies[1:]
        centred[self.level == MISSING] = 0.0
        return np.asarray(np.linalg.solve(slopes, centred.T).T * (len(self.level) / np.sum(self.level != MISSING)))

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None:
        """Replace the scores, in place, by draws given the level and all other columns, under N(0, precision^-1).

        Given the other columns the utilities of all K levels are independent normals. Those below the largest are drawn
        together given the largest, and the largest given all others. The utility of the reference, which differences do not
        determine, is drawn first.
        """
        model, n, levels = self.model, len(Z), len(self.model.a) + 1
        rest = Z @ precision[:, self.columns] - Z[:, self.columns] @ precision[np.ix_(self.columns, self.columns)]
        mean = np.zeros((n, levels))
        mean[:, 1:] = _ROOT * (model.a - rest @ model.within)
        difference = _ROOT * (Z[:, self.columns] + model.a)
        reference = (mean[:, 1:] - difference).sum(axis=1) / levels + rng.standard_normal(n) / np.sqrt(levels)
        known = np.flatnonzero(self.level != MISSING)
        level = self.level[known]
        top = np.full(n, np.inf)
        top[known] = reference[known] + np.column_stack([np.zeros(n), difference])[known, level]
        utility = mean + ndtri(np.clip(rng.random((n, levels)) * ndtr(top[:, None] - mean), 1e-300, 1 - 1e-16))
        utility[known, level] = -np.inf
        largest = utility[known].max(axis=1)
        utility[known, level] = truncated_normal(mean[known, level], 1.0, largest, np.full(len(known), np.inf), rng)
        Z[:, self.columns] = (utility[:, 1:] - utility[:, :1]) / _ROOT - model.a


def solve_means(frequencies: np.ndarray, explained: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(K - 1,) the means a for which levels have these probabilities, averaged over the rows w of ``explained``.

    Given w the scores have mean w and the covariance of independent utilities. The expected largest utility is a convex
    function of a whose gradient is the probabilities and whose Hessian is known, so Newton's method with steps of at most 1
    converges. ``a`` is where it starts.
    """
    b = _ROOT * a
    for _ in range(100):
        probabilities, hessian = _level_probabilities(b, _ROOT * explained)
        # The integrated probabilities sum to 1 less some millionths, which are left to the reference.
        error = (frequencies - probabilities)[1:]
        if np.abs(error / frequencies[1:]).max() < 1e-6:
            break
        change = np.linalg.solve(hessian[1:, 1:], error)
        b = b + change / max(1.0, float(np.abs(change).max()))
    return np.asarray(b / _ROOT)


def _level_probabilities(b: np.ndarray, explained: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K,) and (K, K): the probabilities that each utility ``b_l + w_l + e_l`` is the largest, and their derivatives in b.

    The density of "level k has the largest utility, which is s" is ``r_k prod_l Phi(s - b_l)`` with ``r_k = phi / Phi`` at
    ``s - b_k``. The derivative of its integral in b_l is minus the integral of ``r_k r_l prod_l Phi``, and rows sum to zero.
    """
    mean = np.column_stack([np.zeros(len(explained)), explained + b])
    offsets = np.linspace(-_REACH, _REACH, _POINTS)
    t = (mean.max(axis=1)[:, None] - mean)[:, :, None] + offsets  # s - mean of each level, (points, K, grid)
    below = log_ndtr(t)
    hazard = np.exp(-0.5 * t**2 - 0.5 * np.log(2 * np.pi) - below)
    weight = (offsets[1] - offsets[0]) / len(mean)
    density = hazard * np.exp(below.sum(axis=1))[:, None, :] * weight
    levels = mean.shape[1]
    hessian = -density.transpose(1, 0, 2).reshape(levels, -1) @ hazard.transpose(1, 0, 2).reshape(levels, -1).T
    np.fill_diagonal(hessian, 0.0)
    np.fill_diagonal(hessian, -hessian.sum(axis=1))
    return density.sum(axis=(0, 2)), hessian


def _within(k: int) -> np.ndarray:
    return np.full((k, k), 0.5) + 0.5 * np.eye(k)


def _normal_points(covariance: np.ndarray, count: int) -> np.ndarray:
    """Quasi-random points of N(0, covariance), always the same; one point at zero if the covariance is zero."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-10
    if not kept.any():
        return np.zeros((1, len(covariance)))
    points = Sobol(int(kept.sum()), rng=np.random.default_rng(0)).random(count)
    return np.asarray((ndtri(points) * np.sqrt(values[kept])) @ vectors[:, kept].T)


def category_models(
    X: np.ndarray, categories: Categories, units: Units, names: object, who: str
) -> list[CategoryModel]:
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
        models.append(CategoryModel.alone(columns, _frequencies(X[:, columns], listed, who)))
    return models


def _check_columns(columns: np.ndarray, used: set[int], p: int, who: str) -> None:
    if (
        columns.ndim != 1
        or not len(columns)
        or columns.dtype.kind not in "iu"
        or columns.min() < 0
        or columns.max() >= p
    ):
        raise Grip2Error(
            f"{who}: categories must hold, for every category, the numbers of its columns (0 to {p - 1}), got "
            f"{columns.tolist()!r}."
        )
    twice = sorted(used.intersection(columns.tolist()))
    if twice or len(np.unique(columns)) < len(columns):
        raise Grip2Error(
            f"{who}: a column must belong to one category only, and be listed once, got {columns.tolist()!r}."
        )


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
    counts = np.concatenate([[len(known) - known.sum()], known.sum(axis=0)])
    if not np.all(counts):
        raise Grip2Error(
            f"{who}: every level of a category must occur, the reference (zero in all columns) too, got a level without rows "
            f"in {listed}. Drop the column of one level, which becomes the reference, and columns of levels that never occur."
        )
    return np.asarray(counts / counts.sum())
