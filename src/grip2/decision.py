"""Decides what is selected from the importances of draws: by the filter for one draw, by e-values for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

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


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything from which a selection at any fdr follows; it does not depend on the fdr, if the number of copies does not."""

    W: np.ndarray  # (units,) the mean over draws
    q_values: np.ndarray  # (units,)
    draws: Sequence[np.ndarray]  # W (units,) of every draw
    copies: int
    offset: int

    @classmethod
    def of(cls, importances: Sequence[Importance], *, offset: int) -> Self:
        draws, copies = [importance.W for importance in importances], importances[0].copies
        W = np.mean(draws, axis=0)
        q = q_values(W, offset, copies) if len(draws) == 1 else e_q_values(draws, copies)
        return cls(W, q, draws, copies, offset)

    def decide(self, fdr: float) -> Decision:
        """The selection at ``fdr``: section 2.6 for one draw, e-BH on averaged e-values for several.

        Each of several draws is thresholded at a level that depends on ``fdr``, so W of every draw is needed, not its e-values.
        """
        if len(self.draws) == 1:
            threshold = knockoff_threshold(self.W, fdr, self.offset, self.copies)
            return Decision(self.W, self.q_values, self.W >= threshold, threshold)
        e = mean_e_values(self.draws, fdr, self.copies)
        selected = e_benjamini_hochberg(e, fdr)
        threshold = float(e[selected].min()) if selected.any() else float("inf")
        return Decision(
            self.W, self.q_values, selected, threshold, e, selection_frequency(self.draws, fdr, self.copies)
        )
