"""The first pass over Parquet files: facts that a sample of rows cannot show, and the sample itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.rows import row_keys
from grip2.streaming.blocks import RowBlocks, Span


@dataclass(eq=False)
class Scanned:
    """Facts about the columns in some rows, the rows among these that belong to the sample, and a key of every row."""

    missing: np.ndarray  # (columns,) rows without a value
    infinite: np.ndarray  # (columns,) rows with an infinite one
    low: np.ndarray  # (columns,) least value
    high: np.ndarray
    sample: list[np.ndarray]  # parts of (sample, columns)
    keys: list[np.ndarray]  # parts of (rows,)

    def add(self, later: Scanned) -> None:
        self.missing += later.missing
        self.infinite += later.infinite
        self.low, self.high = np.fmin(self.low, later.low), np.fmax(self.high, later.high)
        self.sample += later.sample
        self.keys += later.keys


@dataclass(frozen=True, eq=False)
class Scan:
    """The work on a span."""

    rows: np.ndarray  # of the sample

    def for_span(self, span: Span) -> Scan:
        first, last = np.searchsorted(self.rows, [span.start, span.stop])
        return Scan(self.rows[first:last])

    def __call__(self, source: RowBlocks, span: Span) -> Scanned:
        p = source.n_columns
        total = Scanned(np.zeros(p, int), np.zeros(p, int), np.full(p, np.inf), np.full(p, -np.inf), [], [])
        for block in source.read(span):
            total.add(_of_block(block.X, self._own(block.rows) - block.start))
        return total

    def _own(self, rows: slice) -> np.ndarray:
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return self.rows[first:last]


def _of_block(X: np.ndarray, own: np.ndarray) -> Scanned:
    return Scanned(
        np.isnan(X).sum(axis=0),
        np.isinf(X).sum(axis=0),
        np.fmin.reduce(X, axis=0).astype(float),
        np.fmax.reduce(X, axis=0).astype(float),
        [X[own]],
        [row_keys(X)],
    )
