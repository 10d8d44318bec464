"""The margin of one column: to a uniform rank and back (appendix B.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Up to this many rows every order statistic is kept, as in the paper. Beyond it a grid of them (with all of
# the extreme ones) does: the error of interpolation is far below the sampling error 1 / sqrt(n), and the
# memory stays small beside X.
_KEEP_ALL, _GRID, _EXTREMES = 20_000, 10_000, 100
# A value that this share of the rows has in common is a spike: a normal score is seen only to lie in its range.
_SPIKE = 0.01


@dataclass(frozen=True)
class ContinuousMargin:
    """Order statistics ``x`` with their ranks ``u = (k + 1/2) / n``, joined by straight lines.

    Repeated values are kept: their ranks are drawn at random on the way in, and come out as the same value.
    ``spiked``: one value owns 1 % of the rows or more.
    """

    x: np.ndarray
    u: np.ndarray
    discrete: bool = False

    def to_uniform(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        u, first = self._position(values)
        if self.tied:
            many, low, high = self._runs(values, first)
            u[many] = low + (high - low) * rng.random(len(low))
        return u

    def cell(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of ranks that each value stands for: of width zero for a value without a tie."""
        u, first = self._position(values)
        low, high = u, u.copy()
        if self.tied:
            many, start, end = self._runs(values, first)
            # The outermost runs have no outer end: ranks beyond them come back as their value too.
            low[many] = np.where(start == self.u[0], 0.0, start)
            high[many] = np.where(end == self.u[-1], 1.0, end)
        return low, high

    def _position(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolated ranks, and where each value would be inserted; a tied value gets the start of its run or before."""
        # One search does for most columns: interpolate by hand between the neighbours, clamp beyond the extremes.
        first = np.searchsorted(self.x, values, side="left")
        above, below = np.minimum(first, len(self.x) - 1), np.maximum(first - 1, 0)
        x, width = self.x[below], (self.x[above] - self.x[below]).astype(float)
        share = np.where(width > 0, (values - x) / np.where(width > 0, width, 1.0), 0.0)
        low, high = self.u[below], self.u[above]
        return low + np.clip(share, 0.0, 1.0) * (high - low), first

    def _runs(self, values: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which values are tied, and the first and last rank of the run of each."""
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
        return bool((high - low).max() >= _SPIKE)

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        return np.interp(u, self.u, self.x)


@dataclass(frozen=True)
class DiscreteMargin:
    """Distinct values with their cumulative shares: every value owns an interval of ranks as wide as its share.

    In: a uniform draw from the interval (the randomised rank). Out: the owner of the rank, so an observed
    value.
    """

    x: np.ndarray
    upper: np.ndarray
    discrete: bool = True
    spiked: bool = False

    def cell(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of ranks that each value owns."""
        edges = np.concatenate([[0.0], self.upper])
        # A value never seen lies between two owners: their common edge, an interval of width zero.
        low = edges[np.searchsorted(self.x, values, side="left")]
        return low, edges[np.searchsorted(self.x, values, side="right")]

    def to_uniform(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        low, high = self.cell(values)
        return low + (high - low) * rng.random(len(values))

    def from_uniform(self, u: np.ndarray) -> np.ndarray:
        return self.x[np.minimum(np.searchsorted(self.upper, u, side="left"), len(self.x) - 1)]


Margin = ContinuousMargin | DiscreteMargin


def learn_margin(column: np.ndarray, *, discrete: bool) -> Margin:
    """The margin of an observed column; ``discrete`` allows the discrete form where the column asks for it."""
    x, counts = np.unique(column, return_counts=True)
    if discrete and looks_discrete(x, counts):
        return DiscreteMargin(x, np.cumsum(counts) / len(column))
    return _continuous(np.sort(column), counts)


def looks_discrete(x: np.ndarray, counts: np.ndarray) -> bool:
    """Whether each value occurs four times or more on average, or all values are whole numbers and one repeats."""
    whole = bool(counts.max() > 1) and bool(np.all(x == np.round(x)))
    return whole or counts.sum() >= 4 * len(x)


def _continuous(ordered: np.ndarray, counts: np.ndarray) -> ContinuousMargin:
    n = len(ordered)
    if n <= _KEEP_ALL:
        return ContinuousMargin(ordered, (np.arange(n) + 0.5) / n)
    # Long runs of one value (a spike at zero, say) keep their two ends, so their share is exact.
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
    return ContinuousMargin(ordered[ranks], (ranks + 0.5) / n)
