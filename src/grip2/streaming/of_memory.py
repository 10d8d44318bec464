"""Long tables in memory: read in the same blocks and passes, so that a selection does not depend on where a table is."""

from __future__ import annotations

import numpy as np

from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response
from grip2.statistics.base import Statistic
from grip2.streaming.blocks import ArrayBlocks
from grip2.streaming.long_table import LONG_ROWS, LongTable, sampled_rows


def can_stream(response: Response) -> bool:
    """Is the response modelled by contrasts that are known in advance? Other kinds need a model of all rows first."""
    return response.leaves_residual or response.latent_labels


def long_table_of(
    X: np.ndarray, response: Response, statistic: Statistic, sampler: KnockoffSampler
) -> LongTable | None:
    """A table of at least `LONG_ROWS` rows in memory as blocks; None if it is short, or cannot be read block by block."""
    if len(X) < LONG_ROWS or sampler.fixed_x or not statistic.streams or not can_stream(response):
        return None
    rows = sampled_rows(*X.shape)
    source = ArrayBlocks(X)
    complete = not any(np.isnan(block.X).any() for span in source.spans for block in source.read(span))
    return LongTable(source, rows, X[rows], response, complete)
