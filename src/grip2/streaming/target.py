"""The target of a stored table: one column, of all rows, which is held in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grip2.streaming.stored import StoredTable, numbers_of
from grip2.tables.records import TableError
from grip2.tables.roles import MAX_LEVELS


def read_whole_target(table: StoredTable, name: str) -> np.ndarray:
    """(rows,) numbers, or texts of few classes."""
    found, who = pa.chunked_array([batch.column(0) for batch in table.batches([name], 0, table.n_rows)]), table.who
    absent = found.null_count
    if pa.types.is_floating(found.type):
        absent += int(pc.sum(pc.is_nan(found)).as_py() or 0)
    if absent:
        raise TableError(
            f"{who}: the target {name!r} is missing in {absent:,} of {len(found):,} rows, and rows cannot be left out of a table "
            "that is read block by block. Write a file without these rows."
        )
    if pa.types.is_boolean(found.type) or pa.types.is_integer(found.type) or pa.types.is_floating(found.type):
        values = np.concatenate([numbers_of(chunk) for chunk in found.chunks])
        return values.astype(bool) if pa.types.is_boolean(found.type) else values
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    if not (pa.types.is_string(found.type) or pa.types.is_large_string(found.type)):
        raise TableError(
            f"{who}: the target {name!r} holds {found.type}, neither numbers nor texts. Turn it into numbers first."
        )
    encoded = found.combine_chunks().dictionary_encode()
    classes = np.array(encoded.dictionary.to_pylist(), dtype=str)
    if len(classes) > MAX_LEVELS:
        raise TableError(
            f"{who}: the target {name!r} is text with {len(classes)} distinct values (such as {str(classes[0])!r}): identifiers "
            "rather than classes. Choose another target."
        )
    return np.asarray(classes[encoded.indices.to_numpy(zero_copy_only=False)])
