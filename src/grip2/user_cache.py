"""The user's cache folder, for files that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path | None:
    """The folder of grip2 below XDG_CACHE_HOME or ~/.cache; None for a user without a home, as in some containers."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / "grip2"
    try:
        return Path.home() / ".cache" / "grip2"
    except RuntimeError:
        return None
