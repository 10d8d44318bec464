"""Features that were nearly selected: at which fdr they would be, and what kept them out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grip2.empty_selection import count_features
from grip2.result import SelectionResult

MOST_SHOWN = 8
# Of features that no reasonable rate selects only the strongest are shown.
LARGEST_FDR, SHOWN_BEYOND = 0.5, 3


@dataclass(frozen=True)
class NearMiss:
    """A feature that was not selected but did better than its knockoffs."""

    name: str
    q_value: float  # the smallest fdr that selects it; 1: none below 1
    frequency: float | None  # share of the draws that select it by themselves
    why: str


def near_misses(result: SelectionResult) -> list[NearMiss]:
    """Those that come next, nearest first; a few of the strongest where none is near."""
    rank = np.zeros_like(result.W) if result.frequency is None else result.frequency
    order = np.lexsort((-result.W, -rank, result.q_values))
    order = order[~result.selected_mask[order] & (result.W[order] > 0)]
    near = order[result.q_values[order] <= LARGEST_FDR][:MOST_SHOWN]
    return [_near_miss(result, int(j)) for j in (near if len(near) else order[:SHOWN_BEYOND])]


def _near_miss(result: SelectionResult, j: int) -> NearMiss:
    return NearMiss(
        name=result.feature_names[j],
        q_value=float(result.q_values[j]),
        frequency=None if result.frequency is None else float(result.frequency[j]),
        why=_why_in_draws(result, j) if result.e_values is not None else _why_in_one(result, j),
    )


def _why_in_one(result: SelectionResult, j: int) -> str:
    """From the counts that the filter compares at the W of this feature."""
    W, copies, fdr = result.W, result.copies, result.fdr
    n_above, n_beaten = int(np.sum(W >= W[j])), int(np.sum(-W >= W[j]))
    estimate = (result.offset + n_beaten) / (copies * n_above)
    if n_beaten == 0 and result.offset == 1 and estimate > fdr:
        enough = math.ceil(round(1 / (n_above * fdr), 9))
        return (
            f"No knockoff came as far, but {count_features(n_above)} so far up {'is' if n_above == 1 else 'are'} too few: "
            f"1 / ({copies} x {n_above}) = {estimate:.2g} is above {fdr:g}. With {enough} copies it would have passed, if it "
            "had beaten them all."
        )
    if n_beaten:
        won = "1 knockoff" if n_beaten == 1 else f"{n_beaten} knockoffs"
        return (
            f"{won} came as far as it did, beside {count_features(n_above)}: estimated share of false ones "
            f"({result.offset} + {n_beaten}) / ({copies} x {n_above}) = {estimate:.2g}."
        )
    return "It did not come as far as the threshold."


def _why_in_draws(result: SelectionResult, j: int) -> str:
    assert result.e_values is not None
    if result.e_values[j] == 0:
        return "It was above the threshold in fewer than half of the draws, and so does not count."
    return f"Its mean e-value {result.e_values[j]:.3g} is too small among so few others that are large."
