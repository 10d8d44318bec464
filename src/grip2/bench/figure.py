"""Growth of time and memory with the size of the task, on log axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from grip2.bench.summary import Series
from grip2.figure_style import AMBER, BLACK, BLUE, GREEN, ORANGE, PINK, SKY, WINE, new_figure, to_svg

_COLOURS = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, WINE, BLACK)
_WIDTH, _ROW = 7.4, 2.6
LEAST_SPAN = 4.0  # of the axes of time and memory
# The series of one row of panels share their axis, which the subject names.
_AXES = (("by rows", "rows"), ("by columns", "columns"), ("by copies", "copies"), ("by draws", "draws"))


def growth_figure(series: Sequence[Series]) -> str:
    """Seconds on the left, peak memory on the right; a row of panels for rows, one for columns, and so on. SVG."""
    panels = [(axis, [each for each in series if words in each.subject and _drawn(each)]) for words, axis in _AXES]
    panels = [(axis, shown) for axis, shown in panels if shown]
    with new_figure(_WIDTH, _ROW * max(1, len(panels)), grid=True) as figure:
        axes = figure.subplots(max(1, len(panels)), 2, squeeze=False)
        for (seconds, memory), (axis, shown) in zip(axes, panels, strict=False):
            for each, colour in zip(shown, _COLOURS, strict=False):
                _draw(seconds, each, colour, times=True)
                _draw(memory, each, colour, times=False)
            for panel, label in ((seconds, "seconds"), (memory, "peak memory, GB")):
                panel.set(xscale="log", yscale="log", xlabel=axis, ylabel=label)
                _plain_ticks(panel, sorted({point.size for each in shown for point in each.points if point.seconds}))
            seconds.legend(fontsize=6.5, frameon=False)
        return to_svg(figure)


def _drawn(series: Series) -> bool:
    return any(point.seconds for point in series.points)


def _draw(panel: Any, series: Series, colour: str, *, times: bool) -> None:
    shown = [point for point in series.points if point.seconds and point.peak_gigabytes]
    sizes = [point.size for point in shown]
    slope = series.seconds_slope if times else series.memory_slope
    label = series.subject.rpartition(" by ")[0] + ("" if slope is None else f" (slope {slope:.2f})")
    if not times:
        panel.plot(sizes, [point.peak_gigabytes for point in shown], "o-", color=colour, markersize=3.5, label=label)
        return
    spread = [point.seconds for point in shown if point.seconds]
    panel.plot(sizes, [each.median for each in spread], "o-", color=colour, markersize=3.5, label=label)
    panel.vlines(sizes, [each.low for each in spread], [each.high for each in spread], color=colour, linewidth=1)


def _plain_ticks(panel: Any, sizes: Sequence[float]) -> None:
    """Sizes that were measured, and 1, 2, 5, 10, ... on the other axis, which spans a factor of four or more: less is noise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    panel.set_xticks(sizes, [_short(size) for size in sizes])
    panel.xaxis.set_minor_locator(NullLocator())
    low, high = panel.get_ylim()
    widen = max(1.0, math.sqrt(LEAST_SPAN * low / high))
    panel.set_ylim(low / widen, high * widen)
    wide = math.log10(high / low) > 2
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _short(size: float) -> str:
    """1k for a thousand, 1M for a million."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= unit:
            return f"{size / unit:g}{letter}"
    return f"{size:g}"
