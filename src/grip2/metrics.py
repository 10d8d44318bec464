"""Measures of selections: false discovery proportion and power, which need the truth, and stability over trials."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any

import numpy as np

from grip2.errors import Grip2Error

Selection = Collection[Any] | np.ndarray


def false_discovery_proportion(selected: Selection, truth: Selection) -> float:
    """Share of the selected features that are not in ``truth``; 0 when nothing is selected.

    Both arguments are boolean masks of the same length, or collections of indices or names.
    """
    chosen, true = _as_sets(selected, truth)
    return len(chosen - true) / max(1, len(chosen))


def power(selected: Selection, truth: Selection) -> float:
    """Share of the features in ``truth`` that were selected."""
    chosen, true = _as_sets(selected, truth)
    if not true:
        raise Grip2Error("power: truth must hold at least one feature, but truth is empty.")
    return len(chosen & true) / len(true)


def jaccard_stability(selections: Iterable[Selection]) -> float:
    """Mean Jaccard similarity over all pairs of selections (the paper's stability).

    Two empty selections have similarity 1, so a method that never selects anything has stability 1: always report it
    together with the power.
    """
    sets = [_as_set(selection) for selection in selections]
    if len(sets) < 2:
        raise Grip2Error(f"jaccard_stability: at least two selections are needed, got {len(sets)}.")
    return float(np.mean([_jaccard(first, second) for first, second in combinations(sets, 2)]))


def _jaccard(first: set[Any], second: set[Any]) -> float:
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _as_sets(selected: Selection, truth: Selection) -> tuple[set[Any], set[Any]]:
    arrays = [np.asarray(value) for value in (selected, truth)]
    if all(array.dtype == bool for array in arrays) and arrays[0].shape != arrays[1].shape:
        raise Grip2Error(
            f"selected and truth must be masks of the same length, got different lengths: {arrays[0].shape} and "
            f"{arrays[1].shape}."
        )
    return _as_set(selected), _as_set(truth)


def _as_set(selection: Selection) -> set[Any]:
    if isinstance(selection, set | frozenset):
        return set(selection)
    values = np.asarray(selection)
    if values.dtype == bool:
        return set(np.flatnonzero(values).tolist())
    return set(values.tolist())
