"""Small drawings as SVG elements in a page, in the page's own colours and font, with texts that are shortened to fit.

Colours are classes of the page's style sheet, so that drawings follow light and dark mode. Drawings are about as wide as a phone:
a page scales them up, never down to unreadable letters.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

from grip2.plain_text import visible_line

FONT = 11.0  # of all texts, in units of the drawing
_WIDTH_OF_LETTER, _WIDTH_OF_WIDE_LETTER = 0.58, 1.05  # of the font size


@dataclass(frozen=True)
class Axis:
    """Maps values to places in a drawing: ``low`` to ``start``, ``high`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)


def axis(values: Iterable[float], start: float, end: float, *, margin: float = 0.0) -> Axis:
    """An axis that covers the values, with a margin as a share of their range; never of length zero."""
    found = list(values)
    low, high = min(found), max(found)
    spread = high - low or abs(high) or 1.0
    room = margin * spread if high > low else 0.5 * spread
    return Axis(low - room, high + room, start, end)


def drawing(width: float, height: float, parts: Iterable[str], *, label: str) -> Markup:
    """The SVG element; ``label`` says to screen readers what it shows."""
    head = f'<svg viewBox="0 0 {number(width)} {number(height)}" role="img" aria-label="{escape(visible_line(label))}">'
    return Markup(head + "".join(parts) + "</svg>")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}"/>'


def path(points: Iterable[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    d = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f'<path class="{kind}" d="M{d}{"Z" if closed else ""}"/>'


def dot(x: float, y: float, kind: str, *, radius: float = 3.5, opacity: float | None = None) -> str:
    how = "" if opacity is None else f' fill-opacity="{number(opacity)}"'
    return f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"{how}/>'


def text(
    x: float, y: float, words: str, *, anchor: str = "start", room: float | None = None, turned: bool = False
) -> str:
    """Words at a place; if they need more than ``room`` they are shortened, and hovering shows the whole text."""
    whole = visible_line(words)
    shown = whole if room is None else fitted(whole, room)
    turn = f' transform="rotate(-90 {number(x)} {number(y)})"' if turned else ""
    title = f"<title>{escape(whole[:300])}</title>" if shown != whole else ""
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{turn}>{title}{escape(shown)}</text>'


def fitted(words: str, room: float, size: float = FONT) -> str:
    """The words, or as much of their beginning as fits into so many units, with an ellipsis."""
    free = room / size
    kept = 0
    for letter in words[:200]:
        free -= _width(letter)
        if free < 0:
            break
        kept += 1
    if kept == len(words):
        return words
    return words[: max(1, kept - 1)].rstrip() + "…"


def width_of(words: str, size: float = FONT) -> float:
    """The approximate width of the words, in units of the drawing."""
    return size * sum(_width(letter) for letter in words)


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers from ``low`` to ``high``: ``most`` at most, and at least one."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    while (high - low) / step > most:
        step *= 2.5 if f"{step:e}".startswith("2") else 2  # 1, 2, 5, 10, ...
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)] or [low]


def readable(value: float) -> str:
    """A number for people."""
    return f"{0.0 if abs(value) < 1e-12 else value:.4g}"


def number(value: float) -> str:
    """A coordinate: to a tenth, or to a hundredth if it is below 1."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


def _width(letter: str) -> float:
    return _WIDTH_OF_WIDE_LETTER if unicodedata.east_asian_width(letter) in "WF" else _WIDTH_OF_LETTER
