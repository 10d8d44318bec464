"""A matplotlib figure that notebooks show by themselves, whether or not pyplot was imported."""

from __future__ import annotations

from matplotlib.figure import Figure

from grip2.figure_style import to_png


class NotebookFigure(Figure):
    """Made without pyplot, so that it needs no display and is freed when nobody holds it."""

    def _repr_png_(self) -> bytes:
        return to_png(self)
