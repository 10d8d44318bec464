"""The regularization surface of the selected feature whose activity in the network most exceeds that of its knockoff."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from grip2.plain_text import short_name
from grip2.report.svg import axis, dot, drawing, line, path, text
from grip2.result import SelectionResult, Surface

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 330.0, 210.0, 44.0, 38.0, 24.0, 12.0


@dataclass(frozen=True)
class NetworkSurface:
    """Two drawings in one scale: of the feature, and of its knockoff."""

    name: str
    original: Markup
    knockoff: Markup


def network_surface(result: SelectionResult) -> NetworkSurface | None:
    """The drawings; None if no network was trained, or if it contributes nothing to any selected feature."""
    surface, chosen = result.surface, np.flatnonzero(result.selected_mask)
    if surface is None or not len(chosen) or not _contributes(result):
        return None
    gap = (surface.original - surface.knockoff).mean(axis=0)
    j = int(chosen[np.argmax(gap[chosen])])
    if gap[j] <= 0:
        return None
    original, knockoff = surface.original[:, j], surface.knockoff[:, j]
    top = float(max(original.max(), knockoff.max()))
    name = result.feature_names[j]
    of_knockoff = "its knockoff" if result.copies == 1 else "its knockoffs, on average"
    return NetworkSurface(
        name, _drawn(surface, original / top, short_name(name)), _drawn(surface, knockoff / top, of_knockoff)
    )


def _contributes(result: SelectionResult) -> bool:
    """Does the network contribute? Always if it is the whole statistic; a stage does if it explains held-out rows."""
    networks = [stage for stage in result.facts.stages if stage.name == "network"]
    return not result.facts.stages or any(stage.held_out_share > 0 for stage in networks)


def _drawn(surface: Surface, activity: np.ndarray, title: str) -> Markup:
    powers = np.log10(surface.lambda_)
    across = axis(powers.tolist(), LEFT, WIDTH - RIGHT, margin=0.04)
    up = axis(surface.a.tolist(), HEIGHT - BOTTOM, TOP, margin=0.06)
    parts = [text(LEFT, 14, title, room=WIDTH - LEFT)]
    frame = [(LEFT, TOP), (LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)]
    parts.append(path(frame, "zero"))
    for end, anchor in ((powers.min(), "start"), (powers.max(), "end")):
        parts.append(line(across(end), HEIGHT - BOTTOM, across(end), HEIGHT - BOTTOM + 3, "zero"))
        parts.append(text(across(end), HEIGHT - BOTTOM + 14, f"{10**end:.2g}", anchor=anchor))
    ends = sorted({float(surface.a.min()), float(surface.a.max())})
    parts += [text(LEFT - 5, up(value) + 4, f"{value:.2g}", anchor="end") for value in ends]
    parts += [
        dot(across(x), up(y), "dot", radius=4.5, opacity=0.06 + 0.94 * float(value))
        for x, y, value in zip(powers, surface.a, activity, strict=True)
    ]
    parts.append(text((LEFT + WIDTH) / 2, HEIGHT - 6, "lambda (penalty strength)", anchor="middle"))
    parts.append(text(12, (TOP + HEIGHT - BOTTOM) / 2, "a (geometry)", anchor="middle", turned=True))
    return drawing(WIDTH, HEIGHT, parts, label=f"Activity of {title} over penalty strength and geometry")
