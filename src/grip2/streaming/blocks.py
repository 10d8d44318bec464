"""A table as numbered blocks of rows, which are the same for every reader.

Block k holds the rows ``k BLOCK_ROWS`` to ``(k + 1) BLOCK_ROWS``, however a file is divided. A span is some consecutive blocks,
the unit of work: sums are taken within spans and then over spans in their order, so that they round alike with one thread, with
several, and with the workers of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

BLOCK_ROWS = 65_536
SPAN_BLOCKS = 4


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows."""

    number: int
    start: int  # number of the first row
    X: np.ndarray  # (rows, columns) float32 or float64; NaN where a value is missing

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self.X))


@dataclass(frozen=True)
class Span:
    """Some consecutive blocks: the rows from ``start`` to ``stop``."""

    first_block: int
    start: int
    stop: int


class RowBlocks(ABC):
    """A table of numbers that can be read block by block, any number of times."""

    # True: workers in other processes can read it themselves.
    readable_elsewhere: bool = False

    def __init__(self, n_rows: int, n_columns: int, block_rows: int | None = None) -> None:
        self.n_rows, self.n_columns, self.block_rows = n_rows, n_columns, block_rows or BLOCK_ROWS

    @abstractmethod
    def _slices(self, start: int, stop: int, size: int) -> Iterator[np.ndarray]:
        """The rows from ``start`` to ``stop``, ``size`` at a time; the last slice may be shorter."""

    def for_span(self, span: Span) -> RowBlocks:
        """The same table with what is needed to read one span: it is sent to a worker."""
        return self

    def read(self, span: Span) -> Iterator[Block]:
        """The blocks of a span, one after the other."""
        number, start = span.first_block, span.start
        for X in self._slices(span.start, span.stop, self.block_rows):
            yield Block(number, start, X)
            number, start = number + 1, start + len(X)

    @property
    def spans(self) -> list[Span]:
        size = self.block_rows * SPAN_BLOCKS
        return [
            Span(k * SPAN_BLOCKS, start, min(start + size, self.n_rows))
            for k, start in enumerate(range(0, self.n_rows, size))
        ]


class ArrayBlocks(RowBlocks):
    """A table in memory; blocks are views of it."""

    def __init__(self, X: np.ndarray, block_rows: int | None = None) -> None:
        super().__init__(X.shape[0], X.shape[1], block_rows)
        self.X = X

    def _slices(self, start: int, stop: int, size: int) -> Iterator[np.ndarray]:
        for first in range(start, stop, size):
            yield self.X[first : min(first + size, stop)]
