"""Exponential tilting: a model of one column that takes few values, or many values in bins, given predictors.

``P(v | z) = g_v exp(v z'b) / sum_w g_w exp(w z'b)`` (the proportional likelihood ratio model). Its likelihood equations say
that, over the fitted rows, the expected frequency of every value and the expected products of the column with all predictors
equal the observed ones. So draws have the marginal distribution of the column and its covariances with the predictors, whether
the model is right or not, and take observed values only. With two values it is logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

# Bins of a column with more distinct values than this.
MAX_BINS = 64
# Newton's method starts on this many rows, and ends when another step would gain less than _GAIN log-likelihood units.
_START_ROWS = 1_500
_GAIN = 1e-3
_MAX_STEPS, _START_STEPS = 50, 12
_SETTLED = 0.005  # log-likelihood units per row: with less to gain, the share explained has settled
_MAX_TILT = 50.0  # bound on logarithms of ratios of densities


@dataclass(frozen=True, eq=False)
class Support:
    """The observed values of a column, ascending, in bins of consecutive values."""

    values: np.ndarray  # (k,) distinct observed values
    cumulative: np.ndarray  # (k,) rows with this value or a smaller one
    first: np.ndarray  # (bins,) position in ``values`` of the first value of every bin
    points: np.ndarray  # (bins,) mean of the rows of every bin, in standard deviations of the column from its mean
    widths: np.ndarray  # (bins,) from the first to the last value of the bin, in standard deviations
    centre: float
    scale: float

    @property
    def singles(self) -> bool:
        """Does every bin hold one value?"""
        return len(self.first) == len(self.values)

    def codes(self, column: np.ndarray) -> np.ndarray:
        """The bin of every observed value."""
        return np.asarray(np.searchsorted(self.values[self.first], column, side="right") - 1)

    def place(self, column: np.ndarray, bins: np.ndarray, v: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """The inverse of ``pick``: where in its bin each value lies, from 0 to 1; v places values that several rows share."""
        before = np.concatenate([[0], self.cumulative])
        last = np.append(self.first[1:], len(self.values))
        low, high = before[self.first[bins]], before[last[bins]]
        position = np.clip(np.searchsorted(self.values, column), self.first[bins], last[bins] - 1)
        rank = before[position] + v * (before[position + 1] - before[position])
        share = (rank - low) / (high - low)
        slope = np.clip(tilt * self.widths[bins], -_MAX_TILT, _MAX_TILT)
        flat = np.abs(slope) < 1e-6
        safe = np.where(flat, 1.0, slope)
        return np.asarray(np.where(flat, share, np.expm1(share * safe) / np.expm1(safe)))

    def pick(self, bins: np.ndarray, u: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """A value of each bin; the log density of values inside a bin has the slope ``tilt``."""
        if self.singles:
            return np.asarray(self.values[bins])
        slope = np.clip(tilt * self.widths[bins], -_MAX_TILT, _MAX_TILT)
        flat = np.abs(slope) < 1e-6
        safe = np.where(flat, 1.0, slope)
        share = np.where(flat, u, np.log1p(u * np.expm1(safe)) / safe)
        before = np.concatenate([[0], self.cumulative])
        last = np.append(self.first[1:], len(self.values))
        low, high = before[self.first[bins]], before[last[bins]]
        place = np.searchsorted(self.cumulative, low + share * (high - low), side="right")
        return np.asarray(self.values[np.clip(place, self.first[bins], last[bins] - 1)])


def learn_support(column: np.ndarray, bins: int = MAX_BINS) -> Support:
    """The support of a column; values that a share 1 / bins of the rows have or more get a bin of their own."""
    values, counts = np.unique(np.asarray(column, dtype=float), return_counts=True)
    n, cumulative = len(column), np.cumsum(counts)
    centre, scale = centre_and_scale(column)
    standard = (values - centre) / scale
    if len(values) <= bins:
        first = np.arange(len(values))
    else:
        # Bins are equally spaced halfway between ranks and values; asinh keeps far outliers from using up the bins.
        spread = np.arcsinh(standard)
        place = (cumulative - counts / 2) / n / 2 + (spread - spread[0]) / (spread[-1] - spread[0]) / 2
        key = np.minimum((place * bins).astype(int), bins - 1)
        spike = counts * bins >= n
        starts = np.diff(key, prepend=-1) > 0
        starts |= spike
        starts[1:] |= spike[:-1]
        first = np.flatnonzero(starts)
    size = np.add.reduceat(counts, first)
    points = np.add.reduceat(standard * counts, first) / size
    last = np.append(first[1:], len(values)) - 1
    return Support(values, cumulative, first, points, standard[last] - standard[first], centre, scale)


def centre_and_scale(column: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation without overflow or underflow."""
    column = np.asarray(column, dtype=float)
    centre = float(np.mean(column / 2) * 2)
    if not np.isfinite(centre):
        centre = float(np.median(column))
    largest = float(np.abs(column / 2 - centre / 2).max()) * 2
    return centre, largest * float(np.sqrt(np.mean(((column - centre) / largest) ** 2)))


@dataclass(frozen=True, eq=False)
class TiltedLaw:
    """The distribution of the column in some rows."""

    support: Support
    tilt: np.ndarray  # (rows,) z'b
    cumulative: np.ndarray  # (rows, bins) cumulative probabilities
    mean: np.ndarray  # (rows, 1)

    @property
    def variance(self) -> np.ndarray:
        P = np.diff(self.cumulative, axis=1, prepend=0.0)
        points = self.support.points
        return np.array([np.mean(P @ points**2 - (P @ points) ** 2) * self.support.scale**2])

    def draw(self, u: np.ndarray) -> np.ndarray:
        bins = np.minimum((self.cumulative < u[:, None]).sum(axis=1), self.cumulative.shape[1] - 1)
        if self.support.singles:
            return np.asarray(self.support.values[bins][:, None])
        # The position of u inside the interval of its bin is again uniform: it picks the value.
        low, high = interval(self.cumulative, bins)
        inside = np.clip((u - low) / np.maximum(high - low, np.finfo(float).tiny), 0.0, 1.0)
        return self.support.pick(bins, inside, self.tilt)[:, None]

    def quantiles(self, values: np.ndarray, v: np.ndarray) -> np.ndarray:
        bins = np.maximum(self.support.codes(values[:, 0]), 0)
        low, high = interval(self.cumulative, bins)
        inside = v if self.support.singles else self.support.place(values[:, 0], bins, v, self.tilt)
        return np.asarray(low + inside * (high - low))


def interval(cumulative: np.ndarray, bins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The quantiles between which each row has its bin."""
    rows = np.arange(len(bins))
    return np.where(bins > 0, cumulative[rows, bins - 1], 0.0), cumulative[rows, bins]


@dataclass(frozen=True, eq=False)
class TiltModel:
    """The fitted model: ``log_base`` is log g of every bin, ``slopes`` is b."""

    support: Support
    log_base: np.ndarray
    slopes: np.ndarray

    def given(self, Z: np.ndarray) -> TiltedLaw:
        tilt = Z @ self.slopes
        P, _ = probabilities(self.log_base + np.multiply.outer(tilt, self.support.points))
        mean = self.support.centre + self.support.scale * (P @ self.support.points)
        return TiltedLaw(self.support, tilt, np.cumsum(P, axis=1, out=P), mean[:, None])


def probabilities(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, values) softmax of the scores, which are overwritten, and (rows,) the logarithm of its denominator."""
    top = scores.max(axis=1, keepdims=True)
    scores -= top
    P = np.exp(scores, out=scores)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    return P, (np.log(total) + top)[:, 0]


def learn_tilt(
    Z: np.ndarray, column: np.ndarray, support: Support, ridge: float, most_alike: float = 1.0
) -> TiltModel | None:
    """The model that maximises the likelihood less ``ridge / 2`` times the sum of squared slopes.

    None if the predictors explain a larger share of the variance than ``most_alike``.
    """
    codes = support.codes(column)
    n, d = Z.shape
    frequency = np.bincount(codes, minlength=len(support.first)) / n
    with np.errstate(divide="ignore"):
        log_base = np.log(frequency)
    log_base[frequency == 0] = -_MAX_TILT  # a value seen in other rows only
    start = _Fit(log_base, np.zeros(d))
    step = n // _START_ROWS
    if step >= 2:
        some = slice(None, None, step)
        start = _newton(Z[some], codes[some], support.points, start, ridge / step, _START_STEPS)
    fit = _newton(Z, codes, support.points, start, ridge, _MAX_STEPS, most_alike)
    if fit.alike > most_alike:
        return None
    return TiltModel(support, fit.log_base, fit.slopes)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Parameters on the way to their maximum."""

    log_base: np.ndarray
    slopes: np.ndarray
    alike: float = 0.0  # share of the variance that the predictors explain, once it has settled


def _newton(
    Z: np.ndarray,
    codes: np.ndarray,
    points: np.ndarray,
    fit: _Fit,
    ridge: float,
    max_steps: int,
    most_alike: float = 1.0,
) -> _Fit:
    """Newton's method with halved steps on the concave penalised log-likelihood, for all parameters together.

    It ends early if predictors explain more than ``most_alike``: the slopes would only grow further.
    """
    n, d = Z.shape
    frequency = np.bincount(codes, minlength=len(points)).astype(float)
    # The base of the most frequent value stays fixed: a factor common to all bases cancels. So do those of absent values.
    free = np.flatnonzero((frequency > 0) & (np.arange(len(points)) != frequency.argmax()))
    observed = points[codes] @ Z
    k = len(free)

    def evaluate(fit: _Fit) -> tuple[float, np.ndarray]:
        P, log_total = probabilities(fit.log_base + np.multiply.outer(Z @ fit.slopes, points))
        gain = frequency @ fit.log_base + observed @ fit.slopes - log_total.sum()
        return float(gain - ridge / 2 * fit.slopes @ fit.slopes), P

    value, P = evaluate(fit)
    total = float(np.var(points[codes]))
    for _ in range(max_steps):
        mean = P @ points
        variance = np.maximum(P @ points**2 - mean**2, 0.0)
        expected = P.sum(axis=0)
        gradient = np.concatenate([(frequency - expected)[free], observed - mean @ Z - ridge * fit.slopes])
        H = np.empty((k + d, k + d))
        own = P[:, free]
        H[:k, :k] = np.diag(expected[free]) - own.T @ own
        own *= points[free] - mean[:, None]
        H[:k, k:] = own.T @ Z
        H[k:, :k] = H[:k, k:].T
        H[k:, k:] = Z.T @ (Z * variance[:, None])
        H[np.arange(k, k + d), np.arange(k, k + d)] += ridge
        H[np.arange(k), np.arange(k)] += 1e-9 * n + 1e-9
        move = cho_solve(cho_factor(H, lower=True, check_finite=False), gradient, check_finite=False)
        decrement = float(gradient @ move)
        if decrement < _SETTLED * n:
            fit = replace(fit, alike=1.0 - float(variance.mean()) / total)
        if decrement < _GAIN or fit.alike > most_alike:
            break
        size = 1.0
        while size > 1e-4:
            log_base = fit.log_base.copy()
            log_base[free] += size * move[:k]
            tried = _Fit(log_base, fit.slopes + size * move[k:])
            new_value, new_P = evaluate(tried)
            if new_value > value + 1e-4 * size * decrement:
                break
            size /= 2
        else:
            break
        fit, value, P = tried, new_value, new_P
    return fit
