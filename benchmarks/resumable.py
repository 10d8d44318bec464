"""Many independent computations on several processes, written to one CSV file row by row, so that a stopped run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

# One thread each, set before the numerical libraries load: two processes do not fight for two cores.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"), "1"))

Key = tuple[Hashable, ...]


def run(
    file: Path, columns: Sequence[str], keys: Sequence[Key], compute: Callable[..., dict[str, Any]], *, jobs: int = 2
) -> pd.DataFrame:
    """Rows of ``compute(*key)`` for every key, beside the key itself in ``columns``; those in the file are not computed again."""
    done: set[Key] = set()
    if file.exists():
        known = pd.read_csv(file, dtype=dict.fromkeys(columns, str))
        done = set(known[list(columns)].itertuples(index=False, name=None))
    missing = [key for key in keys if tuple(map(str, key)) not in done]
    file.parent.mkdir(parents=True, exist_ok=True)
    from grip2.orphans import leave_with_parent  # after the threads are set

    workers = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=leave_with_parent, initargs=(os.getpid(),)
    )
    with workers as pool:
        futures = {pool.submit(compute, *key): key for key in missing}
        for count, future in enumerate(as_completed(futures), start=1):
            row = pd.DataFrame([{**dict(zip(columns, futures[future], strict=True)), **future.result()}])
            row.to_csv(file, mode="a", index=False, header=not file.exists())
            print(f"{count} of {len(missing)}", end="\r", flush=True)
    return pd.read_csv(file)
