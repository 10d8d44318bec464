"""Finds the lines of keys in a TOML text, so that an error can point at them."""

from __future__ import annotations

import re
from collections import Counter

Path = tuple[str | int, ...]

_ARRAY = re.compile(r"\s*\[\[\s*([A-Za-z0-9_.-]+)\s*\]\]")
_TABLE = re.compile(r"\s*\[\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*[.=]")


def key_lines(text: str) -> dict[Path, int]:
    """Line numbers (from 1) of headers and keys: ``("method", 1, "name")`` is the name in the second ``[[method]]``.

    Made for the plain layout of plans: keys inside inline tables, and in lists over several lines, have the line where
    their value begins.
    """
    lines: dict[Path, int] = {}
    counts: Counter[str] = Counter()
    here: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _ARRAY.match(line):
            here = (match[1], counts[match[1]])
            counts[match[1]] += 1
            lines[here] = number
        elif match := _TABLE.match(line):
            here = tuple(match[1].split("."))
            lines[here] = number
        elif match := _KEY.match(line):
            lines.setdefault((*here, match[1]), number)
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a key, or of the closest table around it that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)
