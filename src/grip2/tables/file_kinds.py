"""Recognises files by their first bytes, to explain to a user that a file has a wrong ending."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of file that is often given a wrong ending."""

    name: str
    remedy: str
    begins: re.Pattern[bytes]
    endings: tuple[str, ...] = ()  # with which such a file can be read


def _kind(name: str, remedy: str, begins: bytes, *endings: str) -> Kind:
    return Kind(name, remedy, re.compile(begins, re.IGNORECASE | re.DOTALL), endings)


KINDS = (
    _kind("a PDF document", "export its table as .csv", rb"%PDF"),
    _kind("a zip archive or an Excel workbook", "unpack it, or give it the ending .xlsx", rb"PK\x03\x04", ".xlsx"),
    _kind("an old Excel or Word file", "save it as .xlsx or .csv", rb"\xd0\xcf\x11\xe0"),
    _kind("an image", "type the numbers that it shows into a table", rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\x00|MM\x00\*"),
    _kind("compressed by gzip", "give it the ending .csv.gz", rb"\x1f\x8b"),
    _kind("compressed by zstd", "give it the ending .csv.zst", rb"\x28\xb5\x2f\xfd"),
    _kind("a Parquet file", "give it the ending .parquet", rb"PAR1", ".parquet", ".pq"),
    _kind("a Feather file", "give it the ending .feather", rb"ARROW1|FEA1", ".feather", ".arrow"),
    _kind("a web page", "download the table itself, not the page that shows it", rb"\s*(<!doctype html|<html)"),
    _kind("an XML document", "export its table as .csv", rb"\s*<\?xml"),
    _kind("a rich text document", "export its table as .csv", rb"\{\\rtf"),
    _kind("JSON", "give it the ending .json", rb'\s*(\[\s*)?\{\s*"', ".json", ".jsonl", ".ndjson"),
)
# Endings of binary formats, whose files always begin in the same way.
_CERTAIN = frozenset((".xlsx", ".parquet", ".pq", ".feather", ".arrow"))
_HEAD = 1024


def mismatch(ending: str, content: bytes) -> str | None:
    """What a file is and what to do, if it cannot be what its ending says; None if it may be."""
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    found = next((kind for kind in KINDS if kind.begins.match(head)), None)
    if found is not None:
        return None if ending in found.endings else f"is {found.name}, not a {ending} table; {found.remedy}"
    if ending in _CERTAIN:
        return f"is not a {ending} table, whatever its ending says; if it is text, give it the ending .csv"
    return None
