"""Decides whether a table in Parquet files is read block by block: if it would take more than a quarter of the free memory."""

from __future__ import annotations

import os
from pathlib import Path

from grip2.errors import Grip2Error, did_you_mean
from grip2.streaming.parquet import is_parquet, open_parquet

AUTO, ALWAYS, NEVER = "auto", "always", "never"
SHARE_OF_MEMORY = 0.25
_BYTES = 8  # of a number


def streams(path: Path, word: str) -> bool:
    """Is it read block by block? ``word``: "always", "never", or "auto", by the size of the table; folders always are."""
    if word not in (AUTO, ALWAYS, NEVER):
        choices = (AUTO, ALWAYS, NEVER)
        raise Grip2Error(
            f"--stream must be one of {', '.join(choices)}, got {word!r}.{did_you_mean(word, list(choices))}"
        )
    if word == ALWAYS and not is_parquet(path):
        raise Grip2Error(
            f"--stream always: only Parquet files can be read block by block, got {path.name}. Save the table as .parquet."
        )
    if word == NEVER or not is_parquet(path) or not path.exists():
        return False
    if word == ALWAYS or path.is_dir():
        return True
    table = open_parquet(path)
    return table.n_rows * len(table.schema.names) * _BYTES > SHARE_OF_MEMORY * memory_available()


def memory_available() -> float:
    """Bytes of memory that are free now; all memory of the machine if the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
