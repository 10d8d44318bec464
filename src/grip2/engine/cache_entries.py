"""Damaged entries of the compilation cache, found and removed.

JAX compiles again where it cannot read an entry, but never replaces it, so that a file that was cut off once (a full disk, a
killed process) costs its compilation in every later process. Each entry is read once: those found intact are listed with size
and time of change.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
import zlib
from pathlib import Path

LIST = "intact.json"
_SUFFIX = "-cache"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
# Younger files may still be in the writing, by another process.
_SETTLED_SECONDS = 30.0


def remove_damaged(folder: Path) -> list[str]:
    """Remove what cannot be read from a cache folder; returns the names."""
    known = _listed(folder)
    seen: dict[str, list[int]] = {}
    removed = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        with contextlib.suppress(OSError):  # another process removes it
            found = path.stat()
            identity = [found.st_size, found.st_mtime_ns]
            if abs(time.time() - found.st_mtime) < _SETTLED_SECONDS:
                continue
            if known.get(path.name) == identity or _intact(path.read_bytes()):
                seen[path.name] = identity
            else:
                path.unlink()
                removed.append(path.name)
    if seen != known:
        _list(folder, seen)
    return removed


def _intact(content: bytes) -> bool:
    """Whether compressed content can be read to its end; both formats hold a sum to check."""
    if content.startswith(_ZSTANDARD):
        try:
            import zstandard
        except ImportError:
            return True  # JAX cannot read it here either
        try:
            zstandard.ZstdDecompressor().decompress(content)
        except zstandard.ZstdError:
            return False
        return True
    reader = zlib.decompressobj()
    try:
        reader.decompress(content)
    except zlib.error:
        return False
    return reader.eof


def _listed(folder: Path) -> dict[str, list[int]]:
    try:
        found = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _list(folder: Path, entries: dict[str, list[int]]) -> None:
    with contextlib.suppress(OSError):  # without a list the entries are read again
        handle, name = tempfile.mkstemp(dir=folder, prefix=".intact-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(entries, file)
            os.replace(name, folder / LIST)
        except OSError:
            os.unlink(name)
