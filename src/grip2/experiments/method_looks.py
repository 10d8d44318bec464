"""How methods are labelled and drawn: the same label, colour, marker and line in every figure and table of a report.

Labels come from the plan or, if it has none, from the registry of statistics. Colours and markers follow the order of the
registry; a variant of a statistic (a method under another name) has the same colour and a dashed line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grip2.figure_style import AMBER, BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, WINE
from grip2.statistics.registry import STATISTICS

if TYPE_CHECKING:
    from grip2.experiments.plan import Method

# The paper's own method stands out in every figure.
HIGHLIGHTED = "grip2"
_COLOURS = (WINE, AMBER, SKY, GREY, PINK, BLACK, GREEN, BLUE)
_MARKERS = "*s^vpXDdPhx<>"
_VARIANT_MARKERS = "Dd8P<"

# A line style of matplotlib: its name, or lengths of dashes and gaps.
Dash = str | tuple[float, tuple[float, ...]]
# Lines are solid until all colours have been used once, then dashed.
_TURNS: tuple[Dash, ...] = ("-", (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_VARIANTS: tuple[Dash, ...] = ((0, (4, 1.5)), (0, (1, 1.2)), (0, (8, 2)))

# Between the name of a method and the size of its ensemble.
SIZE_IN_NAME = ", K = "


@dataclass(frozen=True)
class Look:
    """How one method is labelled and drawn."""

    label: str
    colour: str
    marker: str
    dash: Dash
    width: float = 1.3


class MethodLooks:
    """The looks of a plan's methods, by name; ``names`` has them in the plan's order."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self.names = tuple(dict.fromkeys(method.name for method in methods))
        entries = STATISTICS.entries()
        elsewhere = [method.statistic for method in methods if method.statistic not in entries]
        # The highlighted method has a colour of its own; the others take theirs in turn.
        ordered = [name for name in dict.fromkeys([*entries, *elsewhere]) if name != HIGHLIGHTED]
        variants: Counter[str] = Counter()
        self._looks: dict[str, Look] = {}
        for method in methods:
            if method.name in self._looks:
                continue
            base = _look(method.statistic, ordered)
            title = entries[method.name].title if method.name in entries else method.name
            if method.name != method.statistic:
                number = variants[method.statistic]
                variants[method.statistic] += 1
                base = Look(
                    base.label,
                    base.colour,
                    _VARIANT_MARKERS[number % len(_VARIANT_MARKERS)],
                    _VARIANTS[number % len(_VARIANTS)],
                )
            self._looks[method.name] = Look(method.label or title, base.colour, base.marker, base.dash, base.width)

    def __getitem__(self, name: str) -> Look:
        return self._looks[name.partition(SIZE_IN_NAME)[0]]

    def label(self, name: str) -> str:
        """The label of a method; of an ensemble, with its size."""
        method, separator, size = name.partition(SIZE_IN_NAME)
        return self._looks[method].label + separator + size


def ensemble_name(method: str, size: int) -> str:
    """A name for the seed ensemble of a method, "name, K = 5"; a single run keeps the method's name."""
    return method if size == 1 else f"{method}{SIZE_IN_NAME}{size}"


def _look(statistic: str, ordered: Sequence[str]) -> Look:
    if statistic == HIGHLIGHTED:
        return Look(statistic, ORANGE, "o", "-", 2.0)
    number = ordered.index(statistic)
    turn = number // len(_COLOURS)
    return Look(
        statistic, _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)], _TURNS[turn % len(_TURNS)]
    )
