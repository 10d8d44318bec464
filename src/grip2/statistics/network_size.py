"""Sizes of a statistic's network: fills in automatic ones, and says how many small networks are trained as one batch."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from grip2.engine.automatic_sizes import AUTOMATIC, automatic_sizes
from grip2.statistics.base import Statistic
from grip2.units import Layout

Sized = TypeVar("Sized", bound=Statistic)

# Below this many multiply-adds per step a network leaves the cores idle, and training several as one batch pays.
BATCH_BELOW_FLOPS = 2e7
BATCH_DRAWS = 8


def with_automatic_sizes(statistic: Sized, n_rows: int) -> Sized:
    """A copy in which automatic sizes of the network are numbers; the statistic itself if none is automatic."""
    sizes = automatic_sizes(n_rows)._asdict()
    chosen = {name: size for name, size in sizes.items() if _is_automatic(getattr(statistic, name, None))}
    if not chosen:
        return statistic
    sized = copy.copy(statistic)  # not a clone: a subclass may take fewer arguments than it has settings
    for name, size in chosen.items():
        setattr(sized, name, size)
    return sized


def draws_of_a_network(statistic: Any, n_rows: int, layout: Layout) -> int:
    """How many knockoff draws to train as one batch, for a statistic whose sizes are numbers."""
    weights = layout.n_columns * statistic.hidden + (statistic.depth - 1) * statistic.hidden**2
    return draws_for(weights * min(statistic.batch_size or n_rows, n_rows))


def draws_for(multiply_adds: float) -> int:
    """How many networks to train as one batch, by the work of one step of one of them."""
    return BATCH_DRAWS if multiply_adds < BATCH_BELOW_FLOPS else 1


def _is_automatic(value: Any) -> bool:
    return isinstance(value, str) and value == AUTOMATIC
