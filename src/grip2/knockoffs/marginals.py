"""The marginal distribution of one column: maps its values to uniform ranks and back (appendix B.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from grip2.engine.lookups import Guide, guide_of, interpolate, positions

# Up to _KEEP_ALL rows every order statistic is kept, as in the paper. With more rows, a grid of _GRID order statistics and
# the _EXTREMES smallest and largest are enough: the interpolation error is far below the sampling error 1 / sqrt(n), and
# memory stays small beside X.
_KEEP_ALL, _GRID, _EXTREMES = 20_000, 10_000, 100
# A value shared by at least this fraction of the rows is a spike: its normal score is known only up to an interval.
_SPIKE = 0.01
# A spike is shared by at least this many rows too: a few ties in a short table mean nothing.
_FEWEST_TIES = 5
# From so many values on, lookups use a guide table.
_LONG = 2_000
# Points of the numerical integration over normal scores.
_POINTS = 4001


@dataclass(frozen=True)
class ContinuousMarginal:
    """Order statistics ``x`` with their ranks ``u = (k + 1/2) / n``, interpolated linearly.

    Repeated values are kept: ``to_uniform`` draws their rank at random from the ranks they occupy, and ``from_uniform`` maps
    any of these back to the value. ``spiked``: 1 % of the rows or more, and at least five, share one value.
    """

    x: np.ndarray
    u: np.ndarray
    discrete: bool = False

    def to_uniform(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The rank of each value; a tied value gets a random one of the ranks it occupies."""
        u, first = self._position(values)
        if self.tied:
            many, low, high = self._runs(values, first)
            u[many] = low + (high - low) * rng.random(len(low))
        return u

    def cell(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of ranks that each value stands for; a value without ties has an interval of width zero."""
        u, first = self._position(values)
        low, high = u, u.copy()
        if self.tied:
            many, start, end = self._runs(values, first)
            # A run of ties at the minimum or maximum also covers all ranks beyond it: they map back to the same value.
            low[many] = np.where(start == self.u[0], 0.0, start)
            high[many] = np.where(end == self.u[-1], 1.0, end)
        return low, high

    def _position(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolated ranks, and the position of the first order statistic that is not below each value."""
        # One search serves both: interpolate by hand between the neighbours, clamp beyond the extremes.
        first = self._first(values)
        above, below = np.minimum(first, len(self.x) - 1), np.maximum(first - 1, 0)
        x, width = self.x[below], (self.x[above] - self.x[below]).astype(float)
        share = np.where(width > 0, (values - x) / np.where(width > 0, width, 1.0), 0.0)
        low, high = self.u[below], self.u[above]
        return low + np.clip(share, 0.0, 1.0) * (high - low), first

    def _first(self, values: np.ndarray) -> np.ndarray:
        if len(values) < _LONG:
            return np.searchsorted(self.x, values, side="left")
        found = np.empty(len(values), dtype=np.intp)
        positions(values, self.x, *self._guides[0], found)
        return found

    @cached_property
    def _guides(self) -> tuple[Guide, Guide]:
        """Where to look for a value and for a rank."""
        return guide_of(self.x), guide_of(self.u)

    def __getstate__(self) -> dict[str, object]:
        """Guides are made anew in another process."""
        return {name: value for name, value in self.__dict__.items() if name != "_guides"}

    def _runs(self, values: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mask of the tied values, and the first and last rank of each one's run of ties."""
        last = np.searchsorted(self.x, values, side="right") - 1
        many = last > first
        return many, self.u[first[many]], self.u[last[many]]

    @cached_property
    def tied(self) -> bool:
        return bool(np.any(self.x[1:] == self.x[:-1]))

    @cached_property
    def spiked(self) -> bool:
        if not self.tied:
            return False
        _, low, high = self._runs(self.x, np.searchsorted(self.x, self.x, side="left"))
        return bool((high - low).max() >= max(_SPIKE, (_FEWEST_TIES - 1) / len(self.x)) - 1e-12)

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        """The value at each rank."""
        if len(u) < _LONG:
            return np.asarray(np.interp(u, self.u, self.x))
        found = np.empty(len(u))
        interpolate(u, self.u, self.x, *self._guides[1], found)
        return found

    def hermite(self, terms: int) -> np.ndarray:
        """(1 + terms,) coefficients of the map from normal scores to standardised values in normalised Hermite polynomials."""
        t = np.linspace(-6.0, 6.0, _POINTS)
        weight = np.exp(-(t**2) / 2)
        weight /= weight.sum()
        x = self.from_uniform(ndtr(t))
        x = x - weight @ x
        x /= np.sqrt(weight @ x**2)
        return np.asarray(_hermite_polynomials(t, 1 + terms) @ (weight * x))


@dataclass(frozen=True)
class DiscreteMarginal:
    """Distinct values ``x`` with their cumulative frequencies ``upper``: each value owns an interval of ranks.

    The interval is as wide as the relative frequency of the value. ``to_uniform`` draws uniformly from it (the randomised
    rank); ``from_uniform`` returns the value that owns the rank, hence always an observed value.
    """

    x: np.ndarray
    upper: np.ndarray
    discrete: bool = True
    spiked: bool = False

    def cell(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of ranks that each value owns."""
        edges = np.concatenate([[0.0], self.upper])
        # A value that was not observed in fit gets the common edge of its two neighbours: an interval of width zero.
        low = edges[np.searchsorted(self.x, values, side="left")]
        return low, edges[np.searchsorted(self.x, values, side="right")]

    def to_uniform(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random rank from the interval that each value owns."""
        low, high = self.cell(values)
        return np.asarray(low + (high - low) * rng.random(len(values)))

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        """The value that owns each rank."""
        return np.asarray(self.x[np.minimum(np.searchsorted(self.upper, u, side="left"), len(self.x) - 1)])

    def hermite(self, terms: int) -> np.ndarray:
        """(1 + terms,) coefficients of the map from normal scores to standardised values in normalised Hermite polynomials.

        It is a step function with jumps at t_i: coefficient m is ``sum_i jump_i phi(t_i) H_{m-1}(t_i) / sqrt(m)``.
        """
        t = ndtri(self.upper[:-1])
        share = np.diff(self.upper, prepend=0.0)
        spread = np.sqrt(share @ (self.x - share @ self.x) ** 2)
        jump = np.diff(self.x) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) / spread
        return np.concatenate([[0.0], _hermite_polynomials(t, terms) @ jump / np.sqrt(np.arange(1, terms + 1))])


def _hermite_polynomials(t: np.ndarray, count: int) -> np.ndarray:
    """(count, points) the first Hermite polynomials, orthonormal under the standard normal distribution."""
    found = [np.ones_like(t), t]
    for m in range(1, count - 1):
        found.append((t * found[m] - np.sqrt(m) * found[m - 1]) / np.sqrt(m + 1))
    return np.array(found[:count])


Marginal = ContinuousMarginal | DiscreteMarginal


def learn_marginal(column: np.ndarray, *, discrete: bool) -> Marginal:
    """The marginal distribution of the values of a column that are not missing (NaN).

    ``discrete=False`` treats every column as continuous.
    """
    column = column[~np.isnan(column)]
    x, counts = np.unique(column, return_counts=True)
    if discrete and looks_discrete(x, counts):
        return DiscreteMarginal(x, np.cumsum(counts) / len(column))
    return _continuous(np.sort(column), counts)


def looks_discrete(x: np.ndarray, counts: np.ndarray) -> bool:
    """Whether values occur four times or more on average, or are all whole numbers and at least one repeats."""
    whole = bool(counts.max() > 1) and bool(np.all(x == np.round(x)))
    return whole or counts.sum() >= 4 * len(x)


def _continuous(ordered: np.ndarray, counts: np.ndarray) -> ContinuousMarginal:
    n = len(ordered)
    if n <= _KEEP_ALL:
        return ContinuousMarginal(ordered, (np.arange(n) + 0.5) / n)
    # Both ends of long runs of one value (a spike at zero, say) are kept, so that the frequency of the value is exact.
    last = np.cumsum(counts)
    long = counts > n / _GRID
    ranks = np.unique(
        np.concatenate(
            [
                np.linspace(0, n - 1, _GRID).astype(int),
                np.arange(_EXTREMES),
                np.arange(n - _EXTREMES, n),
                last[long] - counts[long],
                last[long] - 1,
            ]
        )
    )
    return ContinuousMarginal(ordered[ranks], (ranks + 0.5) / n)
