"""Linear regression with resampled residuals: a model of one continuous column given predictors.

A draw is the fitted value plus the residual of a row with a similar fitted value, so that spread and skewness may depend on the
fitted value. Residuals near one fitted value need not have mean zero; the slopes are corrected for this, and the residuals
scaled, so that over the fitted rows the draws have the variance of the column and its covariances with all predictors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from grip2.knockoffs.sequential.tilt import centre_and_scale

# Residuals are drawn from this share of the rows, those with the nearest fitted values, but from _FEWEST rows at least.
_SHARE, _FEWEST = 0.2, 100


@dataclass(frozen=True, eq=False)
class ResidualLaw:
    model: ResidualModel
    base: np.ndarray  # (rows,) fitted values, on the standardised scale
    place: np.ndarray  # (rows,) position among the fitted values of the pool

    @property
    def mean(self) -> np.ndarray:
        return self.model.restore(self.base + self.model.local_means[self.place])

    def draw(self, u: np.ndarray) -> np.ndarray:
        model = self.model
        size = len(model.residuals)
        k = self.place + np.floor(u * (2 * model.reach + 1)).astype(np.intp) - model.reach
        k = np.where(k < 0, -1 - k, k)
        k = np.where(k >= size, 2 * size - 1 - k, k)
        local = model.local_means[self.place]
        return model.restore(self.base + local + model.stretch * (model.residuals[k] - local))


@dataclass(frozen=True, eq=False)
class ResidualModel:
    """The pool of residuals is ordered by fitted value."""

    index_slopes: np.ndarray  # (d,) of the fitted value that places a row in the pool
    slopes: np.ndarray  # (d,) the same, corrected for local means
    fitted: np.ndarray  # (pool,) ascending
    residuals: np.ndarray
    local_means: np.ndarray
    reach: int  # residuals come from so many positions to either side
    stretch: float
    centre: float
    scale: float
    low: float
    high: float

    def restore(self, standard: np.ndarray) -> np.ndarray:
        """(rows, 1) on the column's own scale, inside the observed range."""
        return np.clip(self.centre + self.scale * standard, self.low, self.high)[:, None]

    def given(self, Z: np.ndarray) -> ResidualLaw:
        place = np.searchsorted(self.fitted, Z @ self.index_slopes)
        return ResidualLaw(self, Z @ self.slopes, np.minimum(place, len(self.fitted) - 1))


def learn_residuals(Z: np.ndarray, column: np.ndarray, ridge: float, pool: int) -> ResidualModel:
    """Least squares with a ridge, and the pool of at most ``pool`` residuals."""
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
    order = np.argsort(fitted, kind="stable")
    kept = order[:: -(-n // pool)]
    residuals = (target - fitted)[kept]
    residuals -= residuals.mean()
    size = len(kept)
    reach = max(0, min(max(_FEWEST, int(_SHARE * size)), size) - 1) // 2
    local_means, local_squares = _moving_mean(residuals, reach), _moving_mean(residuals**2, reach)
    place = np.minimum(np.searchsorted(fitted[kept], fitted), size - 1)
    corrected = slopes - regress(local_means[place])
    explained = Z @ corrected + local_means[place]
    noise = float(np.mean(np.maximum(local_squares - local_means**2, 0.0)[place]))
    left = max(float(np.mean(target**2)) - float(np.var(explained)), 0.0)
    stretch = float(np.sqrt(left / noise)) if noise > 0 else 1.0
    low, high = float(np.min(column)), float(np.max(column))
    return ResidualModel(slopes, corrected, fitted[kept], residuals, local_means, reach, stretch, centre, scale, low, high)


def _moving_mean(values: np.ndarray, reach: int) -> np.ndarray:
    """Means over ``reach`` positions to either side, reflected at the ends."""
    padded = np.pad(values, reach, mode="symmetric") if reach else values
    total = np.concatenate([[0.0], np.cumsum(padded)])
    width = 2 * reach + 1
    return np.asarray((total[width:] - total[:-width]) / width)
