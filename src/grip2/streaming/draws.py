"""The draws of a selection from a long table, one after the other: each is one pass over the table."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from grip2.draws import Drawn
from grip2.knockoffs import KnockoffSampler
from grip2.progress import Progress, share_progress
from grip2.result import Importance
from grip2.statistics.base import Shuffle, Statistic
from grip2.streaming.keys import BlockKey
from grip2.streaming.long_table import LongTable
from grip2.streaming.sums import AllRows, MembersOfBlocks, sample_tables
from grip2.units import Units


def stream_importances(
    statistic: Statistic,
    sampler: KnockoffSampler,
    table: LongTable,
    *,
    units: Units,
    copies: int,
    rngs: Sequence[np.random.Generator],
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Drawn:
    """One draw for each generator; results depend neither on the workers of ``executor`` nor on their number."""
    sampler.s_for(copies)  # solved and factorised once, not in every worker
    return Drawn(
        [
            _importance(statistic, sampler, table, units, copies, rng, executor, share_progress(progress, k, len(rngs)))
            for k, rng in enumerate(rngs)
        ]
    )


def _importance(
    statistic: Statistic,
    sampler: KnockoffSampler,
    table: LongTable,
    units: Units,
    copies: int,
    rng: np.random.Generator,
    executor: Executor | None,
    progress: Progress | None,
) -> Importance:
    key = BlockKey.of(rng)
    tables = sample_tables(table, sampler, copies, key)

    def whole(shuffle: Shuffle) -> AllRows:
        return AllRows(table, tables, MembersOfBlocks.of(sampler, shuffle, tables), key, executor)

    response = table.response.take(table.rows)
    return statistic.streamed_importance(tables, response, whole=whole, rng=rng, units=units, progress=progress)
