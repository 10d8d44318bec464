"""The look of every figure: fonts, lines and colours, and how a figure becomes SVG or PNG.

Matplotlib is imported only when something is drawn.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
ORANGE, AMBER, SKY, GREEN, BLUE, PINK, BLACK = (
    "#D55E00", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#CC79A7", "#000000",
)  # fmt: skip
# Beside it: one dark colour, and grey for secondary parts of a figure.
WINE, GREY = "#882255", "#9A9A9A"

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: smaller, searchable, and drawn in the page's font
    "svg.hashsalt": "grip2",  # the same figure gives the same bytes
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
}


@contextmanager
def new_figure(width: float, height: float, *, grid: bool = False) -> Iterator[Figure]:
    """An empty figure of a size in inches, to be filled inside the ``with`` block.

    Made without pyplot, so it neither needs a display nor keeps figures alive; notebooks show it all the same.
    """
    import matplotlib as mpl

    from grip2.notebook_figure import NotebookFigure

    with mpl.rc_context({**_STYLE, "axes.grid": grid}):
        yield NotebookFigure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure) -> str:
    """The figure as an SVG element, for a page."""
    buffer = io.StringIO()
    _save(figure, buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def to_png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    _save(figure, buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _save(figure: Figure, buffer: io.StringIO | io.BytesIO, **options: Any) -> None:
    import matplotlib as mpl

    # A page draws the text in its own font, so it does not matter if matplotlib's font lacks a letter.
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, **options)
