"""From the importances of one draw or several to what is selected: the filter for one, e-values for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grip2.derandomize import e_benjamini_hochberg, e_q_values, mean_e_values, selection_frequency
from grip2.filter import knockoff_threshold, q_values
from grip2.result import Importance


@dataclass(frozen=True, eq=False)
class Decision:
    """What is selected, and the numbers that decide it; one entry for every unit."""

    W: np.ndarray  # the mean over draws
    q_values: np.ndarray
    selected: np.ndarray  # mask
    threshold: float  # on W, with several draws on the e-values; inf: nothing was selected
    e_values: np.ndarray | None = None  # with several draws
    frequency: np.ndarray | None = None  # with several draws: share of them that would select the unit by themselves


def decide(importances: Sequence[Importance], *, fdr: float, offset: int) -> Decision:
    """The selection at ``fdr``: section 2.6 for one draw, e-BH on averaged e-values for several."""
    draws, copies = [importance.W for importance in importances], importances[0].copies
    W = np.mean(draws, axis=0)
    if len(draws) == 1:
        threshold = knockoff_threshold(W, fdr, offset, copies)
        return Decision(W, q_values(W, offset, copies), W >= threshold, threshold)
    e = mean_e_values(draws, fdr, copies)
    selected = e_benjamini_hochberg(e, fdr)
    threshold = float(e[selected].min()) if selected.any() else float("inf")
    return Decision(W, e_q_values(draws, copies), selected, threshold, e, selection_frequency(draws, fdr, copies))
