"""How many units the filter would select at other rates, from q-values, without another fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from grip2.report.svg import axis, drawing, line, path, readable, text, ticks, width_of
from grip2.result import SelectionResult

TABLED = (0.05, 0.1, 0.2)
DRAWN_TO = 0.5
WIDTH, HEIGHT, BOTTOM, TOP, RIGHT = 360.0, 200.0, 38.0, 10.0, 14.0


@dataclass(frozen=True)
class Level:
    """The selection at one fdr."""

    fdr: float
    count: int
    new: tuple[str, ...]  # selected here but not at the next smaller fdr, the smallest q-values first
    asked: bool  # True: the fdr that was asked for


def levels(result: SelectionResult) -> list[Level]:
    """The usual rates and the one that was asked for."""
    asked = [] if any(abs(result.fdr - fdr) < 1e-12 for fdr in TABLED) else [result.fdr]
    found: list[Level] = []
    before = np.zeros(len(result.W), dtype=bool)
    for fdr in sorted((*TABLED, *asked)):
        chosen = selected_at(result, fdr)
        found.append(Level(fdr, int(chosen.sum()), _names(result, chosen & ~before), abs(fdr - result.fdr) < 1e-12))
        before = chosen
    return found


def selected_at(result: SelectionResult, fdr: float) -> np.ndarray:
    """(units,) mask of what is selected at another fdr; at the fdr of the result, its own selection."""
    own = abs(fdr - result.fdr) < 1e-12
    return result.selected_mask if own else result.q_values <= fdr


def _names(result: SelectionResult, mask: np.ndarray) -> tuple[str, ...]:
    chosen = np.flatnonzero(mask)
    order = chosen[np.lexsort((-result.W[chosen], result.q_values[chosen]))]
    return tuple(result.feature_names[j] for j in order)


def levels_drawing(result: SelectionResult) -> Markup:
    """The number of selected units as a step function of fdr, with a line at the fdr that was asked for."""
    bound = max(DRAWN_TO, min(1.0, result.fdr))
    q = np.sort(result.q_values[result.q_values <= bound])
    up = axis((0.0, max(1.0, float(len(q)))), HEIGHT - BOTTOM, TOP)
    marks = [mark for mark in ticks(up.low, up.high, 4) if mark == int(mark)]
    left = 28 + max(width_of(readable(mark)) for mark in marks)
    across = axis((0.0, bound), left, WIDTH - RIGHT)
    parts = []
    for mark in marks:
        parts.append(line(left, up(mark), WIDTH - RIGHT, up(mark), "zero" if mark == 0 else "grid"))
        parts.append(text(left - 5, up(mark) + 4, readable(mark), anchor="end"))
    below = HEIGHT - BOTTOM + 14
    parts += [text(across(mark), below, readable(mark), anchor="middle") for mark in ticks(0.0, bound, 5)]
    points = [(across(0.0), up(0.0))]
    for level in np.unique(q):
        points += [(across(level), points[-1][1]), (across(level), up(float(np.sum(q <= level))))]
    points.append((across(bound), points[-1][1]))
    parts.append(line(across(result.fdr), TOP, across(result.fdr), HEIGHT - BOTTOM, "asked"))
    parts.append(path(points, "curve"))
    parts.append(text((left + WIDTH - RIGHT) / 2, HEIGHT - 6, "target false discovery rate", anchor="middle"))
    parts.append(text(12, (TOP + HEIGHT - BOTTOM) / 2, "selected", anchor="middle", turned=True))
    return drawing(WIDTH, HEIGHT, parts, label="Number of selected features against the target false discovery rate")
