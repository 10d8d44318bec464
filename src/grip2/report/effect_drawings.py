"""How selected features act, as small drawings: curves with bands, levels with bars, and maps of pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup

from grip2.feature_effects import EffectCurve, EffectSurface
from grip2.report.svg import FONT, axis, dot, drawing, fitted, line, path, readable, text, ticks, width_of

WIDTH, HEIGHT = 270.0, 150.0
BOTTOM, TOP, RIGHT = 32.0, 8.0, 10.0
ROW = 19.0  # of one level
MOST_LEVELS = 12
SHADES = 5  # of a map, on either side of zero


def curve_drawing(curve: EffectCurve) -> Markup:
    """Posterior mean and band over the column's values; one row for each level if it has levels or two values."""
    if curve.labels or len(curve.grid) <= 2:
        return _levels(curve)
    heights = axis((*curve.lower, *curve.upper, 0.0), HEIGHT - BOTTOM, TOP, margin=0.05)
    marks = ticks(heights.low, heights.high, 5)
    left = 10 + max(width_of(readable(mark)) for mark in marks)
    across = axis(curve.grid, left, WIDTH - RIGHT)
    parts = []
    for mark in marks:
        parts.append(line(left, heights(mark), WIDTH - RIGHT, heights(mark), "zero" if mark == 0 else "grid"))
        parts.append(text(left - 5, heights(mark) + 4, readable(mark), anchor="end"))
    band = [*zip(curve.grid, curve.upper, strict=True), *reversed([*zip(curve.grid, curve.lower, strict=True)])]
    parts.append(path([(across(x), heights(y)) for x, y in band], "band", closed=True))
    parts.append(path([(across(x), heights(y)) for x, y in zip(curve.grid, curve.mean, strict=True)], "curve"))
    parts += _numbers_below(curve.grid[0], curve.grid[-1], across.start, across.end, HEIGHT - BOTTOM)
    parts.append(text((left + WIDTH - RIGHT) / 2, HEIGHT - 4, curve.column, anchor="middle", room=WIDTH - left))
    return drawing(WIDTH, HEIGHT, parts, label=f"Effect of {curve.column}: {curve.direction}, with its 90 % band")


def surface_drawing(surface: EffectSurface) -> Markup:
    """A map of the joint effect of two columns: warm above, cold below the sum of their curves."""
    labels = [_ends(surface.grid, surface.labels), _ends(surface.partner_grid, surface.partner_labels)]
    low, high = (fitted(label, 60) for label in labels[1])
    left = 22 + max(width_of(low), width_of(high))
    bottom = HEIGHT + 30 - BOTTOM
    n_across, n_up = len(surface.grid), len(surface.partner_grid)
    wide, tall = (WIDTH - RIGHT - left) / n_across, (bottom - TOP) / n_up
    top = max(max(abs(value) for value in row) for row in surface.mean) or 1.0
    cells: dict[int, list[str]] = defaultdict(list)
    for i, row in enumerate(surface.mean):
        for k, value in enumerate(row):
            shade = round(SHADES * value / top)
            if shade:
                cells[shade].append(
                    f"M{left + i * wide:.1f} {bottom - (k + 1) * tall:.1f}h{wide:.1f}v{tall:.1f}h{-wide:.1f}z"
                )
    parts = [
        f'<path class="{"warm" if shade > 0 else "cold"}" fill-opacity="{abs(shade) / SHADES:.1f}" d="{"".join(found)}"/>'
        for shade, found in sorted(cells.items())
    ]
    frame = [(left, TOP), (WIDTH - RIGHT, TOP), (WIDTH - RIGHT, bottom), (left, bottom)]
    parts.append(path(frame, "frame", closed=True))
    middle = (left + WIDTH - RIGHT) / 2
    half = (WIDTH - RIGHT - left) / 2 - 4
    parts.append(text(left, bottom + 14, labels[0][0], room=half))
    parts.append(text(WIDTH - RIGHT, bottom + 14, labels[0][1], anchor="end", room=half))
    parts.append(text(middle, bottom + 28, surface.column, anchor="middle", room=WIDTH - left))
    parts.append(text(left - 5, bottom, labels[1][0], anchor="end", room=60))
    parts.append(text(left - 5, TOP + 9, labels[1][1], anchor="end", room=60))
    parts.append(text(12, (TOP + bottom) / 2, surface.partner_column, anchor="middle", room=bottom - TOP, turned=True))
    words = f"Effect of {surface.column} together with {surface.partner_column}, beyond their own curves"
    return drawing(WIDTH, HEIGHT + 30, parts, label=words)


def _levels(curve: EffectCurve) -> Markup:
    """One row for each level: its name, its effect and the band."""
    names = list(curve.labels) or [readable(value) for value in curve.grid]
    shown = _strongest(curve.mean, MOST_LEVELS)
    left = 12 + min(110.0, max(width_of(fitted(names[k], 110)) for k in shown))
    bands = [value for k in shown for value in (curve.lower[k], curve.upper[k])]
    across = axis((*bands, 0.0), left, WIDTH - RIGHT, margin=0.05)
    bottom = TOP + ROW * len(shown)
    parts = []
    marks = _spaced(ticks(across.low, across.high, 4), across.start, across.end, across.low, across.high)
    for mark in marks:
        parts.append(line(across(mark), TOP, across(mark), bottom, "zero" if mark == 0 else "grid"))
        parts.append(text(across(mark), bottom + 13, readable(mark), anchor="middle"))
    for row, k in enumerate(shown):
        y = TOP + ROW * (row + 0.5)
        parts.append(text(left - 8, y + 4, names[k], anchor="end", room=110))
        parts.append(line(across(curve.lower[k]), y, across(curve.upper[k]), y, "bar"))
        parts.append(dot(across(curve.mean[k]), y, "dot"))
    more = f" ({len(names) - len(shown)} more levels)" if len(names) > len(shown) else ""
    parts.append(text(WIDTH / 2, bottom + 28, curve.column + more, anchor="middle", room=WIDTH - 10))
    return drawing(WIDTH, bottom + BOTTOM, parts, label=f"Effect of the levels of {curve.column}, with 90 % bands")


def _strongest(values: Sequence[float], most: int) -> list[int]:
    """The positions of the values of largest size, ascending."""
    order = sorted(range(len(values)), key=lambda k: -abs(values[k]))[:most]
    return sorted(order)


def _numbers_below(low: float, high: float, start: float, end: float, y: float) -> list[str]:
    """Marks and numbers of a horizontal axis at the height y."""
    scale = axis((low, high), start, end)
    marks = _spaced(ticks(low, high, 4), start, end, scale.low, scale.high)
    parts = []
    for mark in marks:
        place = scale(mark)
        half = width_of(readable(mark)) / 2
        place_of_text = min(max(place, start + half - 12), end + RIGHT - half)
        parts.append(line(place, y, place, y + 3, "grid"))
        parts.append(text(place_of_text, y + 14, readable(mark), anchor="middle"))
    return parts


def _spaced(marks: list[float], start: float, end: float, low: float, high: float) -> list[float]:
    """The marks without those whose numbers would touch."""
    scale = axis((low, high), start, end)
    kept: list[float] = []
    reached = float("-inf")
    for mark in marks:
        half = width_of(readable(mark)) / 2
        if scale(mark) - half >= reached:
            kept.append(mark)
            reached = scale(mark) + half + FONT
    return kept


def _ends(grid: Sequence[float], labels: Sequence[str]) -> tuple[str, str]:
    return (labels[0], labels[-1]) if labels else (readable(grid[0]), readable(grid[-1]))
