"""Names on the command line: the defaults, and help texts that list the registries. Imports nothing heavy."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from grip2.registry import Registry
from grip2.statistics.paper_settings import PAPER_SETTINGS

DEFAULT_STATISTIC = "staged"
PAPER_STATISTIC = "grip2"  # what --paper means unless another statistic is named
DEFAULT_KNOCKOFFS = "auto"

PAPER_NAMES = ", ".join(PAPER_SETTINGS)


def command_listing(*registries: Registry) -> type[TyperCommand]:
    """A command whose help ends with the names in ``registries``, which are read only when help is shown."""

    class Listing(TyperCommand):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            super().format_help(ctx, formatter)
            formatter.write("\n".join(map(_listed, registries)))

    return Listing


def _listed(registry: Registry) -> str:
    entries = registry.entries().values()
    width = max(len(entry.name) for entry in entries)
    lines = [f"   {entry.name:<{width}}  {entry.summary}".rstrip() + "\n" for entry in entries]
    return "".join([f" --{registry.what}:\n", *lines])
