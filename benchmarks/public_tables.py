"""The options of benchmarks on public tables: one command fetches them as CSV files, another reads the folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def parser(about: str | None) -> argparse.ArgumentParser:
    """A parser with ``--fetch`` and ``--tables``."""
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--fetch", type=Path, metavar="FOLDER", help="write the tables there, and stop")
    made.add_argument("--tables", type=Path, metavar="FOLDER", help="where --fetch has written them")
    return made


def parsed(made: argparse.ArgumentParser, fetch: Callable[[Path], None]) -> argparse.Namespace:
    """The options of a run; fetches the tables and stops where that is asked for."""
    given = made.parse_args()
    if given.fetch:
        fetch(given.fetch)
        raise SystemExit(0)
    if given.tables is None:
        made.error("give --tables, the folder that --fetch has written")
    return given
