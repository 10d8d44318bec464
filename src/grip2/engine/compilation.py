"""Persistent compilation cache: a network compiled once is not compiled again by the next process.

On by default, in the user's cache folder. ``GRIP2_COMPILATION_CACHE=off`` switches it off, a path moves it; a cache
folder that JAX has already been given (``JAX_COMPILATION_CACHE_DIR``) is left as it is.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import jax

from grip2.engine.cache_entries import remove_damaged
from grip2.engine.forks import before_computing
from grip2.user_cache import user_cache

VARIABLE = "GRIP2_COMPILATION_CACHE"


def default_folder() -> Path | None:
    """Below the user's cache folder; None for a user without a home."""
    base = user_cache()
    return None if base is None else base / f"jax-{jax.__version__}-{_processor_key()}"


def enable_cache() -> Path | None:
    """Point JAX at the cache folder; return it, or None where there is none to use.

    To be called before anything is computed.
    """
    before_computing()
    choice = os.environ.get(VARIABLE, "")
    if choice.lower() in ("off", "0", "no", "false"):
        return None
    given = jax.config.values["jax_compilation_cache_dir"]
    if given is not None:
        return Path(given)
    folder = Path(choice) if choice else default_folder()
    if folder is None or not _usable(folder):
        return None  # no home folder, or a read-only one, costs some compilation time, nothing else
    remove_damaged(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
    return folder


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _processor_key() -> str:
    """Compiled code fits one kind of processor; a home folder may be shared between several."""
    text = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        text += platform.processor()
    return hashlib.sha256(text.encode()).hexdigest()[:10]
