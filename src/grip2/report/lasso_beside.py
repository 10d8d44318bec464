"""Compares the selection with that of the lasso on the same knockoffs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.result import SelectionResult


@dataclass(frozen=True)
class LassoBeside:
    """Names by who selects them."""

    both: tuple[str, ...]
    only_here: tuple[str, ...]
    only_lasso: tuple[str, ...]

    @property
    def n_lasso(self) -> int:
        return len(self.both) + len(self.only_lasso)


def lasso_beside(result: SelectionResult) -> LassoBeside | None:
    """The comparison; None if the lasso was not fitted."""
    if result.lasso is None:
        return None
    here, lasso = result.selected_mask, np.array(result.lasso.q_values) <= result.fdr
    return LassoBeside(_names(result, here & lasso), _names(result, here & ~lasso), _names(result, lasso & ~here))


def _names(result: SelectionResult, mask: np.ndarray) -> tuple[str, ...]:
    return tuple(result.feature_names[j] for j in np.flatnonzero(mask))
