"""A table that is stored elsewhere, in files or by Dask, and read in batches of rows; and some of its columns as blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from grip2.streaming.blocks import RowBlocks, Span

BATCH_ROWS = 16_384  # decoded at a time


class StoredTable(ABC):
    """Names and types of the columns are known, and how many rows there are; no rows are in memory."""

    who: str  # its name in messages
    kind: str  # "file", "folder" or "dask"
    schema: pa.Schema

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Of all rows."""

    @abstractmethod
    def batches(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The rows from ``start`` to ``stop`` in batches of at most ``BATCH_ROWS``."""

    @abstractmethod
    def only(self, start: int, stop: int) -> StoredTable:
        """The same table with what is needed to read these rows, which keep their numbers: it is sent to a worker."""

    def blocks(self, columns: Sequence[str], dtype: np.dtype, block_rows: int | None = None) -> StoredBlocks:
        """Some columns, all of numbers."""
        return StoredBlocks(self, columns, dtype, block_rows)


class StoredBlocks(RowBlocks):
    """Some columns of a stored table, all of numbers."""

    readable_elsewhere = True

    def __init__(
        self,
        table: StoredTable,
        columns: Sequence[str],
        dtype: np.dtype,
        block_rows: int | None = None,
        n_rows: int | None = None,
    ) -> None:
        super().__init__(table.n_rows if n_rows is None else n_rows, len(columns), block_rows)
        self.table, self.columns, self.dtype = table, tuple(columns), dtype

    def for_span(self, span: Span) -> StoredBlocks:
        return StoredBlocks(
            self.table.only(span.start, span.stop), self.columns, self.dtype, self.block_rows, self.n_rows
        )

    def _slices(self, start: int, stop: int, size: int) -> Iterator[np.ndarray]:
        X: np.ndarray = np.empty((min(size, stop - start), len(self.columns)), self.dtype)
        filled, left = 0, stop - start
        for batch in self.table.batches(self.columns, start, stop):
            for first in range(0, len(batch), size):
                rows = batch.slice(first, size)
                while len(rows):
                    some = min(len(rows), len(X) - filled)
                    _fill(X[filled : filled + some], rows.slice(0, some))
                    rows, filled = rows.slice(some), filled + some
                    if filled == len(X):
                        yield X
                        left -= filled
                        X, filled = np.empty((min(size, left), len(self.columns)), self.dtype), 0


def _fill(X: np.ndarray, batch: pa.RecordBatch) -> None:
    for j, column in enumerate(batch.columns):
        X[:, j] = numbers_of(column)


def numbers_of(column: pa.Array) -> np.ndarray:
    """A column of numbers or truth values; NaN where one is missing."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.null_count and not pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))
