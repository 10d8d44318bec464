"""All sources of data by name: every file of this folder holds one as ``SOURCE``."""

from __future__ import annotations

import importlib
import pkgutil

from grip2.experiments.source import Source


def find_sources() -> dict[str, Source]:
    """The sources of all files of the folder, by name."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {module.SOURCE.name: module.SOURCE for module in modules}


SOURCES: dict[str, Source] = find_sources()
