"""How many knockoff copies to draw together: from the table, the target rate and the cost, never from the response.

At fdr q the filter needs at least ``1 / (m q)`` selections (`grip2.filter`): ten with one copy and q = 0.1, so that four true
features are never selected, however strong they are. More copies lower that number. Their price:

- Time: models are fitted to ``1 + m`` tables instead of two.
- A true feature that is weak must beat m knockoffs. If very many features are true, one copy finds more (`results/copies`).
- Each knockoff must resemble its original more, but not by much: if S is feasible for one copy, ``(m + 1)/(2 m) S`` is for m, so
  that S loses at most 40 % of its size for five copies, on any table. The rule therefore ignores this loss.

The number of true features is not known before the selection, so the rule favours small selections: enough copies that two
features can be selected, for which one copy would need ten. For a table with at most 20 units it draws twice as many, enough that
a single one can be selected: among few columns a single true one is common, and the price is small (`results/copies`, 10 and 20
columns).

Several draws that are combined by e-values need twice as many. With k features above every threshold and no copy beyond, e-BH
asks that the mean over draws of m p be at least p / (fdr k): at m = 1 / (fdr k) a feature must be found by every draw, at twice
that by half of them. They get enough for a single feature, if that is affordable: with more copies a draw in which one copy comes
before the features still counts. On a real table whose single draws mostly agree on two features, ten draws of five copies
selected nothing, ten draws of ten copies these two with four of five seeds, and ten draws of 20 copies with every seed
(`results/real-tables`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grip2.errors import Grip2Error
from grip2.filter import fewest_selected

AUTOMATIC = "auto"

# "auto" draws enough copies that FEWEST_WANTED features can be selected, but no more than COPIES_MAX (`results/copies`).
FEWEST_WANTED = 2
COPIES_MAX = 10
# For tables with at most FEW_UNITS units, and for several draws: enough that one feature can be selected, but no more than
# COPIES_MAX_FOR_ONE.
FEW_UNITS, COPIES_MAX_FOR_ONE = 20, 20
# Of several draws, the share in which a unit must be above the threshold to count at all (`grip2.derandomize`).
MAJORITY = 0.5
COPIES_LIMIT = 200  # more are refused
# More than COPIES_OF_WIDE_TABLES only if the table of all members has at most NARROW_COLUMNS columns.
COPIES_OF_WIDE_TABLES, NARROW_COLUMNS = 5, 1_200
# Entries and columns of the table of all members beyond which copies cost too much time.
ENTRIES_MAX = 60_000_000
COLUMNS_MAX = 20_000


class ImpossibleRequestWarning(UserWarning):
    """With so few features and copies nothing can be selected at this fdr, whatever the data are."""


@dataclass(frozen=True)
class CopiesChoice:
    """The number of copies and why, in words."""

    copies: int
    reason: str
    limit: int | None = None  # the most that "auto" draws from this table, at any fdr; None: not known


def automatic_copies(fdr: float, limit: int, n_units: int, n_draws: int = 1) -> int:
    """The copies that "auto" draws at ``fdr``, but no more than ``limit``: enough that two features can be selected.

    Enough for one feature if there are few units, or if there are several draws and ``limit`` allows it. With several draws,
    enough for features that half of the draws find.
    """
    share = 1.0 if n_draws == 1 else MAJORITY
    for_one, for_two = (math.ceil(round(1 / (fewest * fdr * share), 9)) for fewest in (1, FEWEST_WANTED))
    if n_units <= FEW_UNITS:
        return max(1, min(for_one, limit))
    if n_draws > 1 and for_one <= limit:
        return for_one
    most = limit if n_draws > 1 else min(limit, COPIES_MAX)
    return max(1, min(for_two, most))


def check_copies(copies: Any, who: str) -> None:
    if isinstance(copies, str) and copies == AUTOMATIC:
        return
    if not isinstance(copies, int | np.integer) or isinstance(copies, bool) or copies < 1:
        raise Grip2Error(f"{who}: copies must be a whole number of at least 1 or 'auto', got {copies!r}.")
    if copies > COPIES_LIMIT:
        raise Grip2Error(
            f"{who}: copies must be at most {COPIES_LIMIT}, got {copies}: from 1 / fdr copies on a single feature can be "
            "selected, and more only cost time. Use 'auto'."
        )


def choose_copies(
    copies: Any,
    *,
    fdr: float,
    n_rows: int,
    n_columns: int,
    n_units: int,
    draws_copies: bool,
    n_draws: int = 1,
    possible: Callable[[int], bool] = lambda _: True,
) -> CopiesChoice:
    """The number of copies asked for, or the automatic one for a table of this size.

    ``possible``: can the sampler draw this number? A matrix S that the user has given may be too large for several copies.
    """
    if copies != AUTOMATIC:
        return CopiesChoice(int(copies), "given")
    if not draws_copies:
        return CopiesChoice(1, "this kind of knockoffs exists in one copy only", 1)
    most = min(COPIES_MAX_FOR_ONE, max(COPIES_OF_WIDE_TABLES, NARROW_COLUMNS // n_columns - 1))
    affordable = max(1, min(ENTRIES_MAX // (n_rows * n_columns), COLUMNS_MAX // n_columns) - 1)
    limit = min(most, affordable)
    wanted, chosen = (automatic_copies(fdr, bound, n_units, n_draws) for bound in (most, limit))
    why_fewer = f" ({wanted} copies of {n_rows} x {n_columns} values would cost too much time and memory)"
    while chosen > 1 and not possible(chosen):
        chosen -= 1
        limit = chosen
        why_fewer = " (the given S allows no more)"
    text = f"automatic: with {_copies(chosen)} at fdr {fdr:g} as few as {fewest_selected(fdr, chosen)} can be selected"
    if n_draws > 1:
        text += "; several draws have more copies than one, so that a feature need not be found by every draw"
    return CopiesChoice(chosen, text + (why_fewer if chosen < wanted else ""), limit)


def _copies(count: int) -> str:
    return "1 copy" if count == 1 else f"{count} copies"


def why_impossible(fdr: float, copies: int, n_units: int, *, draws_copies: bool = True) -> str:
    """Why nothing can be selected from so few units with offset 1, and what to do; empty if something can."""
    needed = fewest_selected(fdr, copies)
    if needed <= n_units:
        return ""
    level = math.ceil(1000 / (copies * n_units)) / 1000
    enough = copies
    while fewest_selected(fdr, enough) > n_units:
        enough += 1
    remedies = [f"draw at least {_copies(enough)}"] * draws_copies + [f"ask for an fdr of at least {level:g}"] * (
        level < 1
    )
    advice = " or ".join(remedies) or "no fdr below 1 is possible with so few"
    return (
        f"nothing can be selected at fdr {fdr:g} with {_copies(copies)}: at least {needed} features must be selected together "
        f"(1 / (copies x fdr)), and there are {n_units}; {advice}."
    )
