"""Growth of time and memory with the size of the task, on log axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from grip2.bench.summary import Series
from grip2.figure_style import AMBER, BLACK, BLUE, GREEN, ORANGE, PINK, SKY, WINE, new_figure, to_svg

_COLOURS = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, WINE, BLACK)
_WIDTH, _ROW = 7.4, 2.6
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
                _plain_ticks(panel)
            seconds.legend(fontsize=6.5, frameon=False)
        return to_svg(figure)


def _drawn(series: Series) -> bool:
    return any(point.seconds for point in series.points)


def _draw(panel: Any, series: Series, colour: str, *, times: bool) -> None:
    shown = [point for point in series.points if point.seconds and point.peak_gigabytes]
    sizes = [point.size for point in shown]
    slope = series.seconds_slope if times else series.memory_slope
    label = series.subject.split(" by ")[0] + ("" if slope is None else f" (slope {slope:.2f})")
    if not times:
        panel.plot(sizes, [point.peak_gigabytes for point in shown], "o-", color=colour, markersize=3.5, label=label)
        return
    spread = [point.seconds for point in shown if point.seconds]
    panel.plot(sizes, [each.median for each in spread], "o-", color=colour, markersize=3.5, label=label)
    panel.vlines(sizes, [each.low for each in spread], [each.high for each in spread], color=colour, linewidth=1)


def _plain_ticks(panel: Any) -> None:
    """Powers of ten as numbers; where an axis spans less than one, only its ends would be labelled otherwise."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis, limits in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim())):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value < 1e4 else f"{value:.0e}"))
        wide = math.log10(limits[1] / limits[0]) > 1.2
        axis.set_minor_formatter(NullFormatter() if wide else FuncFormatter(lambda value, _: f"{value:g}"))
