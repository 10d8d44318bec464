"""The sums of the model of effects over all rows of a long table: knockoffs are drawn for every block and not stored."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from grip2.knockoffs import KnockoffSampler
from grip2.progress import Progress
from grip2.responses import Response
from grip2.statistics.base import Shuffle
from grip2.statistics.effect_design import EffectColumns
from grip2.statistics.effect_sums import EffectSums, sums_of
from grip2.streaming.blocks import Block, RowBlocks, Span
from grip2.streaming.keys import SAMPLE, BlockKey
from grip2.streaming.long_table import LongTable, without_rows
from grip2.streaming.passes import run_pass

_MIXED_BLOCKS = 2  # blocks whose rows are mixed before a network is trained on them
_ROWS_AT_A_TIME = 16_384  # rows of a block that are worked on together: little memory is needed beside the block


def tables_of(X: np.ndarray, sampler: KnockoffSampler, copies: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Rows with their missing values completed, and their knockoff copies."""
    X = sampler.complete(np.ascontiguousarray(X), rng=rng)
    drawn = sampler.sample(X, rng=rng, copies=copies)
    return (X, *(drawn if drawn.ndim == 3 else [drawn]))


@dataclass(frozen=True, eq=False)
class MembersOfBlocks:
    """Standardised members of any rows of a long table, for one draw of knockoffs."""

    sampler: KnockoffSampler
    copies: int
    shuffle: Shuffle
    mean: np.ndarray  # (members p,) of the shuffled members of the sample
    scale: np.ndarray

    @classmethod
    def of(cls, sampler: KnockoffSampler, shuffle: Shuffle, tables: tuple[np.ndarray, ...]) -> MembersOfBlocks:
        """``tables``: the sample and its copies."""
        members = shuffle.members(tables)
        mean = np.concatenate([table.mean(axis=0, dtype=float) for table in members.tables])
        scale = np.concatenate(
            [(table - table.mean(axis=0, dtype=float)).std(axis=0, dtype=float) for table in members.tables]
        )
        return cls(sampler, len(tables) - 1, shuffle, mean, np.where(scale > 0, scale, 1.0))

    def standardised(self, tables: tuple[np.ndarray, ...]) -> np.ndarray:
        """(rows, members p) single precision, of rows and their knockoffs."""
        p = tables[0].shape[1]
        Z = np.empty((len(tables[0]), len(self.mean)), np.float32)
        for k, table in enumerate(self.shuffle.members(tables).tables):
            own = slice(k * p, (k + 1) * p)
            Z[:, own] = (table - self.mean[own]) / self.scale[own]
        return Z

    def of_block(self, block: Block, sample: np.ndarray, key: BlockKey) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Standardised rows of a block and their numbers, some at a time, without those of the sample; the same at every call."""
        X, numbers = without_rows(block, sample)
        rng = key.generator(block.number)
        for start in range(0, len(X), _ROWS_AT_A_TIME):
            some = slice(start, start + _ROWS_AT_A_TIME)
            yield self.standardised(tables_of(X[some], self.sampler, self.copies, rng)), numbers[some]


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a table, for one draw of knockoffs; a `grip2.statistics.effect_sums.WholeTable`."""

    table: LongTable
    tables: tuple[np.ndarray, ...]  # the sample and its copies
    members: MembersOfBlocks
    key: BlockKey
    executor: Executor | None = None

    @property
    def n_rows(self) -> int:
        return len(self.table)

    def sums(self, columns: EffectColumns, progress: Progress | None = None) -> EffectSums:
        table = self.table
        work = _SpanSums(self.members, self.key, columns, table.rows, table.response)
        found = run_pass(table.source, work, executor=self.executor, progress=progress)
        contrasts = np.column_stack(table.response.take(table.rows).contrasts)
        found.add(sums_of(self.members.standardised(self.tables), contrasts, columns))
        return found

    def shuffled_rows(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, Response]]:
        """Two blocks at a time, with the knockoffs that they have in every pass; the rows of the sample are left out."""
        source, table = self.table.source, self.table
        size = source.block_rows
        while True:
            order = rng.permutation(-(-source.n_rows // size))
            for some in np.array_split(order, -(-len(order) // _MIXED_BLOCKS)):
                spans = [Span(int(k), int(k) * size, min((int(k) + 1) * size, source.n_rows)) for k in some]
                parts = [self._rows_of(block) for span in spans for block in source.read(span)]
                Z, numbers = (np.concatenate(values) for values in zip(*parts, strict=True))
                mixed = rng.permutation(len(Z))
                yield Z[mixed], table.response.take(numbers[mixed])

    def _rows_of(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Standardised rows and their numbers."""
        parts = list(self.members.of_block(block, self.table.rows, self.key))
        if not parts:
            return np.empty((0, len(self.members.mean)), np.float32), np.empty(0, np.intp)
        Z, numbers = (np.concatenate(values) for values in zip(*parts, strict=True))
        return Z, numbers


@dataclass(frozen=True, eq=False)
class _SpanSums:
    """The work on a span: sums of the columns of the model, of all rows that are not in the sample."""

    members: MembersOfBlocks
    key: BlockKey
    columns: EffectColumns
    sample: np.ndarray
    response: Response  # of all rows, or of those of the span

    def for_span(self, span: Span) -> _SpanSums:
        first, last = np.searchsorted(self.sample, [span.start, span.stop])
        own = self.response.take(np.arange(span.start, span.stop))
        return replace(self, sample=self.sample[first:last], response=own)

    def __call__(self, source: RowBlocks, span: Span) -> EffectSums:
        contrasts = np.column_stack(self.response.contrasts)
        total = EffectSums.none(len(self.columns), contrasts.shape[1])
        for block in source.read(span):
            for Z, numbers in self.members.of_block(block, self.sample, self.key):
                total.add_rows(Z, contrasts[numbers - span.start], self.columns)
        return total


def sample_tables(table: LongTable, sampler: KnockoffSampler, copies: int, key: BlockKey) -> tuple[np.ndarray, ...]:
    """The rows of the sample and their copies, which are drawn as those of a block of their own."""
    return tables_of(table.sample, sampler, copies, key.generator(SAMPLE))
