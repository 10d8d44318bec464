"""How many knockoff copies to draw together: from the table, the target rate and the cost, never from the response.

At fdr q the filter needs at least ``1 / (m q)`` selections (`grip2.filter`): with one copy and q = 0.1 ten, so that four true
features are never selected however strong they are. More copies lower that number. Their price is that each knockoff must
resemble its original more, and that models are fitted to ``1 + m`` tables instead of two.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grip2.errors import Grip2Error
from grip2.filter import fewest_selected

AUTOMATIC = "auto"

# Enough copies that so few features can be selected, but no more than this many (`results/copies`).
FEWEST_WANTED = 2
COPIES_MAX = 5
# Entries of the table of all members, and columns in it, beyond which copies cost more time than they are worth.
ENTRIES_MAX = 60_000_000
COLUMNS_MAX = 6_000
# Fewer copies are drawn where features and their knockoffs would have a mean correlation above this only because of them.
TOO_ALIKE = 0.95


@dataclass(frozen=True)
class CopiesChoice:
    """The number of copies and why, in words."""

    copies: int
    reason: str


def check_copies(copies: Any, who: str) -> None:
    if isinstance(copies, str) and copies == AUTOMATIC:
        return
    if not isinstance(copies, numbers.Integral) or isinstance(copies, bool) or copies < 1:
        raise Grip2Error(f"{who}: copies must be a whole number of at least 1 or 'auto', got {copies!r}.")


def choose_copies(
    copies: Any,
    *,
    fdr: float,
    n_rows: int,
    n_columns: int,
    draws_copies: bool,
    mean_correlation: Callable[[int], float] | None = None,
) -> CopiesChoice:
    """The number of copies asked for, or the automatic one for a table of this size.

    ``mean_correlation`` of features with their own knockoffs, for a number of copies: what S loses by more of them.
    """
    if copies != AUTOMATIC:
        return CopiesChoice(int(copies), "given")
    if not draws_copies:
        return CopiesChoice(1, "this kind of knockoffs exists in one copy only")
    wanted = max(1, min(COPIES_MAX, math.ceil(round(1 / (FEWEST_WANTED * fdr), 9))))
    affordable = max(1, min(ENTRIES_MAX // (n_rows * n_columns), COLUMNS_MAX // n_columns) - 1)
    chosen = min(wanted, affordable)
    why_fewer = f" ({wanted} copies of {n_rows} x {n_columns} values would cost too much time and memory)"
    if mean_correlation is not None and chosen > 1 and mean_correlation(chosen) > TOO_ALIKE >= mean_correlation(1):
        why_fewer = f" (with {_copies(chosen)} features and knockoffs would be too much alike)"
        while mean_correlation(chosen) > TOO_ALIKE:
            chosen -= 1
    text = f"automatic: with {_copies(chosen)} at fdr {fdr:g} as few as {fewest_selected(fdr, chosen)} can be selected"
    return CopiesChoice(chosen, text + (why_fewer if chosen < wanted else ""))


def _copies(count: int) -> str:
    return "1 copy" if count == 1 else f"{count} copies"
