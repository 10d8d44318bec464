"""Features that were nearly selected: at which fdr they would be, and what kept them out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grip2.empty_selection import count_features, rounded_up
from grip2.filter import estimated_fdp
from grip2.result import SelectionResult

MOST_SHOWN = 8
# If no feature is selected at rates up to LARGEST_FDR, only so many of the strongest are shown.
LARGEST_FDR, SHOWN_BEYOND = 0.5, 3


@dataclass(frozen=True)
class NearMiss:
    """A feature that was not selected but did better than its knockoffs."""

    name: str
    q_value: float  # the smallest fdr that selects it; 1: none below 1
    frequency: float | None  # share of the draws that select it by themselves
    why: str

    @property
    def selected_from(self) -> float:
        """The q-value in three digits, rounded up so that this fdr does select."""
        return rounded_up(self.q_value)


def near_misses(result: SelectionResult) -> list[NearMiss]:
    """The features that would be selected next, nearest first; if none is near, a few of the strongest."""
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
    """From the counts that the filter compares at the best threshold that includes this feature."""
    W, copies, fdr, offset = result.W, result.copies, result.fdr, result.offset
    candidates, estimates = estimated_fdp(W, offset, copies)
    reached = np.flatnonzero(candidates <= W[j])
    best = reached[np.flatnonzero(estimates[reached] == estimates[reached].min())[-1]]
    n_above, n_beaten = int(np.sum(candidates[best] <= W)), int(np.sum(W <= -candidates[best]))
    estimate = f"({offset} + {n_beaten}) / ({copies} x {n_above}) = {estimates[best]:.2g}"
    if n_beaten == 0 and offset == 1:
        enough = math.ceil(round(1 / (n_above * fdr), 9))
        verb = "is" if n_above == 1 else "are"
        return (
            f"No knockoff came as far, but {count_features(n_above)} {verb} too few to select: {estimate} is above {fdr:g}. With "
            f"{enough} copies {'it' if n_above == 1 else 'they'} would pass, if no knockoff came as far again."
        )
    others = "alone" if n_above == 1 else f"together with {n_above - 1} {'other' if n_above == 2 else 'others'}"
    beaten = "1 knockoff" if n_beaten == 1 else f"{n_beaten} knockoffs"
    return f"It would come in {others}, and {beaten} came as far: the estimated share of false ones is {estimate}, above {fdr:g}."


def _why_in_draws(result: SelectionResult, j: int) -> str:
    assert result.e_values is not None
    if result.e_values[j] == 0:
        return "It was above the threshold in fewer than half of the draws, and so does not count."
    return f"Its mean e-value {result.e_values[j]:.3g} is too small among so few others that are large."
