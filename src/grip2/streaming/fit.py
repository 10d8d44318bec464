"""Refines a sampler that was fitted to the sample of a long table: its covariance becomes that of the scores of all rows."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from grip2._random import generator_from
from grip2.knockoffs import KnockoffSampler
from grip2.knockoffs.base import row_blocks
from grip2.knockoffs.covariance import ScatterSums
from grip2.progress import Progress
from grip2.streaming.blocks import RowBlocks, Span
from grip2.streaming.keys import BlockKey
from grip2.streaming.long_table import LongTable
from grip2.streaming.passes import run_pass


def refine(
    sampler: KnockoffSampler,
    table: LongTable,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> None:
    """Take the sampler's covariance from all rows, if the sampler can and no value is missing."""
    if sampler.refines and table.complete:
        # fit takes no generator: the key is the same in every fit.
        work = _Scores(sampler, BlockKey.of(generator_from(0)))
        sampler.refine(run_pass(table.source, work, executor=executor, progress=progress))


@dataclass(frozen=True, eq=False)
class _Scores:
    """The work on a span: sums of the scores of its rows."""

    sampler: KnockoffSampler
    key: BlockKey

    def for_span(self, span: Span) -> _Scores:
        return self

    def __call__(self, source: RowBlocks, span: Span) -> ScatterSums:
        sums: ScatterSums | None = None
        for block in source.read(span):
            rng = self.key.generator(block.number)
            for some in row_blocks(block.X):
                found = ScatterSums.of(self.sampler.scores(np.ascontiguousarray(block.X[some]), rng=rng))
                if sums is None:
                    sums = found
                else:
                    sums.add(found)
        assert sums is not None
        return sums
