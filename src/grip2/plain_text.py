"""Makes text from outside harmless for terminals, pages and spreadsheets.

Names of columns may hold anything. An escape sequence can move a terminal's cursor, a character that changes the direction of
writing can disguise a name, and a spreadsheet computes a cell that begins with ``=``. Such characters are written out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Control characters of terminals; marks that change the direction of writing or break lines; unpaired surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_BREAKS = re.compile(r"[\t\n]")
# Spreadsheets take cells that begin like this, perhaps after white space, for formulas.
_FORMULA = re.compile(r"\s*[=+\-@\t\r\n]")


def visible(text: str) -> str:
    """The text with control characters written out, as ``\\x1b``; line breaks and tabs stay."""
    return _UNSEEN.sub(_written_out, text)


def visible_line(text: str) -> str:
    """As `visible`, with line breaks and tabs written out too: for names."""
    return _BREAKS.sub(_written_out, visible(text))


def short_name(name: str, most: int = 60) -> str:
    """A name on one line; if it is longer than ``most`` characters, its middle is left out."""
    name = visible_line(name)
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def for_spreadsheet(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay as they are."""
    if not _FORMULA.match(text) or _is_number(text):
        return visible_line(text)
    return f"'{visible_line(text)}"


def spreadsheet_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV for spreadsheets: texts and headings that look like formulas have an apostrophe before them."""
    safe = frame.rename(columns={name: for_spreadsheet(name) for name in frame.columns if isinstance(name, str)})
    for j in (j for j, kind in enumerate(safe.dtypes) if kind.kind not in "biufc"):
        safe.isetitem(j, [for_spreadsheet(cell) if isinstance(cell, str) else cell for cell in safe.iloc[:, j]])
    return str(safe.to_csv(index=False))


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(found[0]) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
