"""Linear regression with resampled residuals: a model of one number given predictors.

A draw is the fitted value plus a quantile of the residuals of rows with similar fitted values, so that spread and skewness may
depend on the fitted value. Residuals near one fitted value need not have mean zero. Draws of a continuous column follow these
local means, and the slopes are corrected for them; for other columns the local means are taken out. In both cases residuals are
scaled so that over the fitted rows draws have the variance of the column and its covariances with all predictors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from grip2.knockoffs.sequential.tilt import centre_and_scale

# Residuals come from _WINDOWS windows of neighbouring fitted values, each of this share of the rows, at least _FEWEST.
_WINDOWS, _SHARE, _FEWEST = 10, 0.2, 100
# Quantiles kept of every window.
_LEVELS = 1_000


@dataclass(frozen=True, eq=False)
class ResidualLaw:
    model: ResidualModel
    base: np.ndarray  # (rows,) fitted values, on the standardised scale
    window: np.ndarray  # (rows,)

    @property
    def mean(self) -> np.ndarray:
        return self.model.restore(self.base)[:, None]

    @property
    def variance(self) -> np.ndarray:
        return np.array([np.mean(self.model.variances[self.window]) * self.model.scale**2])

    def draw(self, u: np.ndarray) -> np.ndarray:
        noise = np.empty(len(u))
        for k, own in self._windows():
            noise[own] = np.interp(u[own], self.model.levels, self.model.noise[k])
        return np.clip(self.model.restore(self.base + noise), *self.model.limits)[:, None]

    def quantiles(self, values: np.ndarray, v: np.ndarray) -> np.ndarray:
        noise = (values[:, 0] - self.model.centre) / self.model.scale - self.base
        u = np.empty(len(v))
        for k, own in self._windows():
            table = self.model.noise[k]
            u[own] = np.interp(noise[own], table, self.model.levels)
            # A run of equal quantiles: its level is drawn from the run.
            low, high = np.searchsorted(table, noise[own], "left"), np.searchsorted(table, noise[own], "right") - 1
            tied = high > low
            levels = self.model.levels
            u[own[tied]] = levels[low[tied]] + v[own[tied]] * (levels[high[tied]] - levels[low[tied]])
        return u

    def _windows(self) -> list[tuple[int, np.ndarray]]:
        found = [(k, np.flatnonzero(self.window == k)) for k in range(len(self.model.noise))]
        return [(k, own) for k, own in found if len(own)]


@dataclass(frozen=True, eq=False)
class ResidualModel:
    index_slopes: np.ndarray  # (d,) of the fitted value that chooses the window
    slopes: np.ndarray  # (d,) the same, corrected for shifts
    edges: np.ndarray  # (windows - 1,) fitted values between windows
    shifts: np.ndarray  # (windows,) added to fitted values
    levels: np.ndarray
    noise: np.ndarray  # (windows, levels) quantiles of the residuals less their mean
    variances: np.ndarray  # (windows,)
    centre: float
    scale: float
    limits: tuple[float, float]  # of draws

    def restore(self, standard: np.ndarray) -> np.ndarray:
        """(rows,) on the column's own scale."""
        return np.asarray(self.centre + self.scale * standard)

    def given(self, Z: np.ndarray) -> ResidualLaw:
        window = np.searchsorted(self.edges, Z @ self.index_slopes)
        return ResidualLaw(self, Z @ self.slopes + self.shifts[window], window)


def learn_residuals(Z: np.ndarray, column: np.ndarray, ridge: float, *, continuous: bool) -> ResidualModel:
    """Least squares with a ridge, and the quantiles of residuals in windows of fitted values.

    Draws of a ``continuous`` column follow the mean of the column in every window, and stay inside the observed range.
    Otherwise the fitted value is the mean, residuals give the spread only, and draws may lie anywhere.
    """
    n, d = Z.shape
    centre, scale = centre_and_scale(column)
    target = (column - centre) / scale
    gram = Z.T @ Z
    gram[np.arange(d), np.arange(d)] += ridge
    factor = cho_factor(gram, lower=True) if d else None

    def regress(values: np.ndarray) -> np.ndarray:
        return np.asarray(cho_solve(factor, Z.T @ values)) if factor is not None else np.zeros(0)

    slopes = regress(target)
    fitted = Z @ slopes
    residuals = target - fitted
    order = np.argsort(fitted, kind="stable")
    windows = _WINDOWS if n * _SHARE >= _FEWEST else 1
    width = n if windows == 1 else int(n * _SHARE)
    starts = np.linspace(0, n - width, windows).astype(int)
    middles = starts + width / 2
    edges = fitted[order][((middles[1:] + middles[:-1]) / 2).astype(int)]
    levels = (np.arange(min(width, _LEVELS)) + 0.5) / min(width, _LEVELS)
    noise = np.array([np.quantile(residuals[order[start : start + width]], levels, method="hazen") for start in starts])
    # Draws interpolate between the outermost levels, and are constant beyond: the mean of the quantiles is their mean.
    means = noise.mean(axis=1)
    noise -= means[:, None]
    window = np.searchsorted(edges, fitted)
    shifts = means if continuous else np.zeros(windows)
    corrected = slopes - regress(shifts[window])
    explained = Z @ corrected + shifts[window]
    shifts = shifts - explained.mean()
    variances = np.mean(noise**2, axis=1)
    left = max(float(np.mean(target**2)) - float(np.var(explained)), 0.0)
    spread = float(np.mean(variances[window]))
    stretch = np.sqrt(left / spread) if spread > 0 else 1.0
    limits = (float(np.min(column)), float(np.max(column))) if continuous else (-np.inf, np.inf)
    return ResidualModel(
        slopes, corrected, edges, shifts, levels, noise * stretch, variances * stretch**2, centre, scale, limits
    )
