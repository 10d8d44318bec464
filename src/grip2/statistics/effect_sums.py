"""Sums over rows from which the moments of the model of `EffectPosterior` follow, for tables that are read block by block.

Sums of some rows can be subtracted from those of all rows, which gives the moments without these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from grip2.progress import Progress
from grip2.responses import Response
from grip2.statistics.effect_design import EffectColumns, EffectMoments

ROWS_AT_A_TIME = 4096
_LEAST_VARIANCE = 1e-6


@dataclass(eq=False)
class EffectSums:
    """Sums over some rows of the products of the columns of a model with each other and with responses."""

    n: int
    products: np.ndarray  # (columns, columns)
    sums: np.ndarray  # (columns,)
    cross: np.ndarray  # (responses, columns)
    of_responses: np.ndarray  # (responses,)
    squares: np.ndarray  # (responses,) of the responses

    @classmethod
    def none(cls, columns: int, responses: int) -> EffectSums:
        return cls(
            0,
            np.zeros((columns, columns)),
            np.zeros(columns),
            np.zeros((responses, columns)),
            np.zeros(responses),
            np.zeros(responses),
        )

    def add_rows(self, Z: np.ndarray, Y: np.ndarray, columns: EffectColumns) -> None:
        """Add some standardised rows ``Z`` (rows, members p) with their responses ``Y`` (rows, responses).

        Products are summed in single precision over some thousand rows at a time, and these sums in double precision.
        """
        for start in range(0, len(Z), ROWS_AT_A_TIME):
            some = slice(start, start + ROWS_AT_A_TIME)
            values = columns.evaluate(Z[some])
            self.products += values.T @ values  # an array times its own transpose takes half the work
            self.sums += values.sum(axis=0, dtype=float)
            self.cross += Y[some].T @ values
        self.n += len(Z)
        self.of_responses += Y.sum(axis=0)
        self.squares += (Y**2).sum(axis=0)

    def add(self, later: EffectSums) -> None:
        self.n += later.n
        for own, other in zip(self._arrays(), later._arrays(), strict=True):
            own += other

    def without(self, part: EffectSums) -> EffectSums:
        """The sums of all rows but those of ``part``."""
        left = [own - other for own, other in zip(self._arrays(), part._arrays(), strict=True)]
        return EffectSums(self.n - part.n, *left)

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.products, self.sums, self.cross, self.of_responses, self.squares

    @property
    def means(self) -> np.ndarray:
        """(responses,) of the responses."""
        return self.of_responses / self.n

    @property
    def deviations(self) -> np.ndarray:
        """(responses,) of the responses; 1 where one is constant."""
        found = np.sqrt(np.maximum(self.squares / self.n - self.means**2, 0.0))
        return np.where(found > 0, found, 1.0)

    def moments(self, size: int) -> EffectMoments:
        """Moments per row of standardised columns and responses; ``size``: with zero placeholders."""
        n, total = self.n, len(self.sums)
        centre = self.sums / n
        unit = 1.0 / np.sqrt(np.maximum(np.diag(self.products) / n - centre**2, _LEAST_VARIANCE))
        gram = np.zeros((size, size), np.float32)
        for j in range(total):  # row by row: a second matrix in double precision would be large
            gram[j, :total] = (self.products[j] / n - centre[j] * centre) * (unit[j] * unit)
        centres, units = np.zeros(size), np.zeros(size)
        centres[:total], units[:total] = centre, unit
        correlation = np.zeros((len(self.means), size), np.float32)
        covariance = self.cross / n - self.means[:, None] * centre
        correlation[:, :total] = covariance * unit / self.deviations[:, None]
        return EffectMoments(gram, correlation, centres, units)


class WholeTable(Protocol):
    """All rows of a table of which a statistic is given a sample."""

    @property
    def n_rows(self) -> int: ...

    def sums(self, columns: EffectColumns, progress: Progress | None = None) -> EffectSums:
        """Over all rows, with the contrasts of the response."""

    def shuffled_rows(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, Response]]:
        """Standardised rows of all members with their responses, some thousand at a time, in random order, without end."""


def sums_of(Z: np.ndarray, Y: np.ndarray, columns: EffectColumns) -> EffectSums:
    """Over the standardised rows ``Z`` (rows, members p) with the responses ``Y`` (rows, responses)."""
    found = EffectSums.none(len(columns), Y.shape[1])
    found.add_rows(Z, Y, columns)
    return found
