"""Dask data frames as blocks of rows: partitions are computed when their rows are read, by whoever reads them.

Nothing is imported from Dask: a data frame brings its own methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from grip2.streaming.stored import BATCH_ROWS, StoredTable
from grip2.tables.records import TableError


def is_dask(table: object) -> bool:
    """Is it a Dask data frame?"""
    return all(hasattr(table, name) for name in ("npartitions", "to_delayed", "map_partitions"))


@dataclass(frozen=True, eq=False)
class DaskTable(StoredTable):
    """The partitions of a Dask data frame, in their order."""

    partitions: tuple[Any, ...]  # delayed pandas data frames; None for those that need not be read here
    bounds: np.ndarray  # (partitions + 1,) numbers of their first rows, and of all rows
    schema: pa.Schema
    who: str = "the Dask data frame"
    kind: str = "dask"

    @classmethod
    def of(cls, frame: Any) -> DaskTable:
        """Counts the rows of all partitions, which computes them once."""
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise TableError(f"{cls.who}: two columns have the same name. Rename one of them.")
        frame = frame.rename(columns=dict(zip(frame.columns, names, strict=True)))
        lengths = np.asarray(frame.map_partitions(len).compute(), dtype=int)
        if not lengths.sum():
            raise TableError(f"{cls.who}: the table has no rows.")
        schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
        return cls(tuple(frame.to_delayed()), np.concatenate([[0], np.cumsum(lengths)]), schema)

    @property
    def n_rows(self) -> int:
        return int(self.bounds[-1])

    def _reached(self, start: int, stop: int) -> range:
        """Numbers of the partitions that hold some of these rows."""
        first = int(np.searchsorted(self.bounds, start, side="right")) - 1
        last = int(np.searchsorted(self.bounds, stop, side="left"))
        return range(max(0, first), last)

    def only(self, start: int, stop: int) -> DaskTable:
        reached = self._reached(start, stop)
        return replace(self, partitions=tuple(p if k in reached else None for k, p in enumerate(self.partitions)))

    def batches(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in columns])
        for k in self._reached(start, stop):
            low, high = int(self.bounds[k]), int(self.bounds[k + 1])
            found = self._computed(k, list(columns))
            if len(found) != high - low:
                raise TableError(
                    f"{self.who}: partition {k} has {len(found):,} rows, and had {high - low:,} when they were counted. Save the "
                    "table, so that it is the same whenever it is read."
                )
            first, last = max(start, low) - low, min(stop, high) - low
            for at in range(first, last, BATCH_ROWS):
                rows = found.iloc[at : min(at + BATCH_ROWS, last)]
                try:
                    yield pa.RecordBatch.from_pandas(rows, schema=schema, preserve_index=False)
                except (pa.ArrowException, ValueError, TypeError) as error:
                    raise TableError(
                        f"{self.who}: partition {k} does not hold what its column types say ({error})."
                    ) from None

    def _computed(self, k: int, columns: list[str]) -> pd.DataFrame:
        try:
            found = self.partitions[k].compute(scheduler="synchronous")
        except Exception as error:
            raise TableError(
                f"{self.who}: partition {k} cannot be computed here ({type(error).__name__}: {str(error)[:200]}). Partitions are "
                "computed where they are read; a data frame that was persisted on a cluster must be saved first (to_parquet)."
            ) from error
        found.columns = [str(name) for name in found.columns]
        return found[columns]
