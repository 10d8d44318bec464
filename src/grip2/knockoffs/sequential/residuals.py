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

# Residuals come from _WINDOWS windows of neighbouring fitted values, each with the share _SHARE of the rows; from one window if
# these would be fewer rows than _FEWEST.
_WINDOWS, _SHARE, _FEWEST = 10, 0.2, 100
# Quantiles kept of every window.
_LEVELS = 1_000
_GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, are spread evenly


@dataclass(frozen=True, eq=False)
class ResidualLaw:
    """The distribution of the column in some rows: a mean, and residuals of the window of each row."""

    model: ResidualModel
    index: np.ndarray  # (rows,) fitted values, on the standardised scale
    base: np.ndarray  # (rows,) corrected fitted values: the means
    window: np.ndarray  # (rows,) number of the window

    @property
    def mean(self) -> np.ndarray:
        return self.model.restore(self.base)[:, None]

    @property
    def variance(self) -> np.ndarray:
        return np.array([np.mean(self.model.variances[self.window]) * self.model.scale**2])

    def draw(self, u: np.ndarray) -> np.ndarray:
        levels = self.model.noise.shape[1]
        place = np.clip(u * levels - 0.5, 0.0, levels - 1.0)
        below = np.minimum(place.astype(np.intp), max(levels - 2, 0))
        share, first = place - below, self.window * levels + below
        table = self.model.noise.ravel()
        noise = (1 - share) * table[first] + share * table[np.minimum(first + 1, len(table) - 1)]
        return self.model.restore(self.base + noise)[:, None]

    def quantiles(self, values: np.ndarray, v: np.ndarray) -> np.ndarray:
        noise = (values[:, 0] - self.model.centre) / self.model.scale - self.index
        levels, tables = self.model.residuals.shape[1], self.model.residuals
        # One search in all tables, put side by side so far apart that they do not overlap.
        apart = 2 * (float(np.ptp(tables)) + 1.0)
        start = tables.ravel()
        joined = start + np.repeat(np.arange(len(tables)) * apart, levels)
        inside = np.clip(noise, tables[self.window, 0], tables[self.window, -1]) + self.window * apart
        left, right = np.searchsorted(joined, inside, "left"), np.searchsorted(joined, inside, "right")
        offset = self.window * levels
        above = np.clip(left, offset, offset + levels - 1)
        below = np.maximum(above - 1, offset)
        width = joined[above] - joined[below]
        share = np.where(width > 0, (inside - joined[below]) / np.where(width > 0, width, 1.0), 0.0)
        place = below + share - offset
        # A run of equal quantiles: the level is drawn from the run.
        tied = right - left > 1
        place = np.where(tied, left + v * (right - 1 - left) - offset, place)
        return np.asarray((place + 0.5) / levels)


@dataclass(frozen=True, eq=False)
class ResidualModel:
    """A linear regression on the standardised scale, and tables of its residuals."""

    index_slopes: np.ndarray  # (d,) of the fitted value that chooses the window
    slopes: np.ndarray  # (d,) the same, corrected for shifts
    edges: np.ndarray  # (windows - 1,) fitted values between windows
    shifts: np.ndarray  # (windows,) added to fitted values
    residuals: np.ndarray  # (windows, levels) quantiles of the residuals, at the levels (k + 1/2) / levels
    noise: np.ndarray  # (windows, levels) the same, centred and scaled: what draws add to their means
    variances: np.ndarray  # (windows,) of the noise
    centre: float
    scale: float

    def restore(self, standard: np.ndarray) -> np.ndarray:
        """(rows,) on the column's own scale."""
        return np.asarray(self.centre + self.scale * standard)

    def given(self, Z: np.ndarray) -> ResidualLaw:
        index = Z @ self.index_slopes
        window = np.searchsorted(self.edges, index)
        return ResidualLaw(self, index, Z @ self.slopes + self.shifts[window], window)


def learn_residuals(Z: np.ndarray, column: np.ndarray, ridge: float, *, continuous: bool) -> ResidualModel:
    """Least squares with a ridge, and the quantiles of residuals in windows of fitted values.

    Draws of a ``continuous`` column have the mean of the column in every window; draws of other columns have the fitted value as
    their mean. In both cases they may lie outside the observed range: see ``share_outside``.
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
    tables = np.array(
        [np.quantile(residuals[order[start : start + width]], levels, method="hazen") for start in starts]
    )
    # Draws interpolate between the outermost levels, and are constant beyond: the mean of the quantiles is their mean.
    means = tables.mean(axis=1)
    noise = tables - means[:, None]
    window = np.searchsorted(edges, fitted)
    shifts = means if continuous else np.zeros(windows)
    corrected = slopes - regress(shifts[window])
    explained = Z @ corrected + shifts[window]
    shifts = shifts - explained.mean()
    variances = np.mean(noise**2, axis=1)
    left = max(float(np.mean(target**2)) - float(np.var(explained)), 0.0)
    spread = float(np.mean(variances[window]))
    stretch = np.sqrt(left / spread) if spread > 0 else 1.0
    return ResidualModel(
        slopes, corrected, edges, shifts, tables, noise * stretch, variances * stretch**2, centre, scale
    )


def share_outside(model: ResidualModel, Z: np.ndarray, column: np.ndarray) -> float:
    """The share of draws outside the observed range of the column."""
    u = np.modf(np.arange(1, len(Z) + 1) * _GOLDEN)[0]  # evenly spread, without random numbers
    drawn = model.given(Z).draw(u)
    return float(np.mean((drawn < np.min(column)) | (drawn > np.max(column))))
