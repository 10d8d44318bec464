"""A long table: blocks of rows, the response of all rows, and a random sample of rows that is held in memory.

Whatever needs a table in memory uses the sample: the choice and the fit of the sampler, basis functions, which pairs enter the
model of effects, the rehearsals of the network, and the description of the selection. Sums and correlations are those of all
rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2._random import generator_from, stream
from grip2.facts import StreamFacts
from grip2.responses import Response
from grip2.streaming.blocks import Block, RowBlocks

# A table in memory with so many rows or more is read block by block too.
LONG_ROWS = 200_000
# Rows of the sample. That of a wide table is shorter: at most so many entries, but at least so many rows.
SAMPLE_ROWS = 100_000
SAMPLE_ENTRIES, FEWEST_ROWS = 40_000_000, 20_000


def sampled_rows(n_rows: int, n_columns: int) -> np.ndarray:
    """The numbers of the rows of the sample, ascending: the same for every reader of a table of this shape."""
    sample_rows = min(SAMPLE_ROWS, max(FEWEST_ROWS, SAMPLE_ENTRIES // n_columns))
    if sample_rows >= n_rows:
        return np.arange(n_rows)
    rng = stream(generator_from(0), "rows of the sample")
    return np.sort(rng.choice(n_rows, sample_rows, replace=False, shuffle=False))


@dataclass(frozen=True, eq=False)
class LongTable:
    """A table as blocks of rows. Rows of the sample form a block of their own and are left out of the blocks they come from."""

    source: RowBlocks
    rows: np.ndarray  # numbers of the rows of the sample, ascending
    sample: np.ndarray  # (sample, columns) these rows
    response: Response  # of all rows
    complete: bool  # True: no value is missing
    kind: str = "memory"  # where the table is: "memory", "file", "folder" or "dask"

    def facts(self) -> StreamFacts:
        """The record that a result holds of it."""
        return StreamFacts(self.kind, len(self), len(self.rows), self.source.block_rows)

    def __len__(self) -> int:
        return self.source.n_rows


def without_rows(block: Block, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a block whose numbers are not among ``rows``, and their numbers."""
    first, last = np.searchsorted(rows, [block.rows.start, block.rows.stop])
    numbers = np.arange(block.rows.start, block.rows.stop)
    if first == last:
        return block.X, numbers
    kept = np.ones(len(numbers), dtype=bool)
    kept[rows[first:last] - block.start] = False
    return block.X[kept], numbers[kept]
