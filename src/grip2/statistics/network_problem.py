"""What the network of GRIP2 is trained on: the response, what earlier parts leave of it, or all of it led by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from grip2.statistics.lasso_first import shares_as_logits
from grip2.statistics.parts import Part, magnification

# What a network may learn where other parts come before it, and how it is told.
LEARNS = {
    "rest": "a network on what is left",
    "response": "a network on the whole response, led by what was found",
}


class Problem(NamedTuple):
    """One table and what its network is to explain."""

    Z: np.ndarray
    y: np.ndarray
    task: str
    offset: np.ndarray | None = None
    scale: float = 1.0  # deviation of y, where that of the whole response is 1
    magnified: np.ndarray | None = None  # (2p,) what the columns were multiplied by
    parts: tuple[Part, ...] = ()  # what came before the network

    def data(self) -> dict[str, Any]:
        return {"x": self.Z, "y": self.y, "task": self.task, "offset": self.offset}


def after_parts(Z: np.ndarray, y: np.ndarray, task: str, parts: tuple[Part, ...], learns: str) -> Problem:
    """What a network is to explain after other parts: what they leave, or the whole response, led by them."""
    last = parts[-1]
    if learns == "rest":
        return Problem(Z, last.response, task, last.offset, last.scale, parts=parts)
    factors = magnification(parts, len(Z))
    # Shares of classes are known, as in what earlier parts leave: the network is credited with neither.
    offset = None if last.offset is None else np.tile(shares_as_logits(y), (len(y), 1))
    return Problem(Z * factors.astype(Z.dtype), y, task, offset, magnified=factors, parts=parts)


def stacked(offsets: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Offsets of several tables of one task, of which all have one or none has."""
    return None if offsets[0] is None else np.stack([offset for offset in offsets if offset is not None])
