"""Measures that need the truth: false discovery proportion, power, and stability of selections over trials."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from grip2.errors import Grip2Error

Selection = Collection[Any] | np.ndarray


def false_discovery_proportion(selected: Selection, truth: Selection) -> float:
    """Share of the selected features that are not in ``truth``; 0 when nothing is selected.

    Both arguments are boolean masks of one length, or collections of indices or names.
    """
    chosen, true = _as_sets(selected, truth)
    return len(chosen - true) / max(1, len(chosen))


def power(selected: Selection, truth: Selection) -> float:
    """Share of the features in ``truth`` that were selected."""
    chosen, true = _as_sets(selected, truth)
    if not true:
        raise Grip2Error("power: truth is empty, so there is nothing to find.")
    return len(chosen & true) / len(true)


def jaccard_stability(selections: Iterable[Selection]) -> float:
    """Mean Jaccard similarity over all pairs of selections (the paper's stability).

    Two empty selections agree completely and count 1: a method that never selects anything has stability 1, so
    read it beside the power.
    """
    sets = [_as_set(selection) for selection in selections]
    if len(sets) < 2:
        raise Grip2Error(f"jaccard_stability: at least two selections are needed, got {len(sets)}.")
    return float(np.mean([_jaccard(first, second) for first, second in combinations(sets, 2)]))


def _jaccard(first: set, second: set) -> float:
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _as_sets(selected: Selection, truth: Selection) -> tuple[set, set]:
    arrays = [np.asarray(value) for value in (selected, truth)]
    if all(array.dtype == bool for array in arrays) and arrays[0].shape != arrays[1].shape:
        raise Grip2Error(f"masks of different lengths: {arrays[0].shape} and {arrays[1].shape}.")
    return _as_set(selected), _as_set(truth)


def _as_set(selection: Selection) -> set:
    if isinstance(selection, set | frozenset):
        return set(selection)
    values = np.asarray(selection)
    if values.dtype == bool:
        return set(np.flatnonzero(values).tolist())
    return set(values.tolist())
