"""What the trials say of every cell: passed, failed, or what estimated knockoffs cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guarantee.cells import Cell
from guarantee.evidence import FAILS_AT, Tally
from guarantee.store import Part, totals

# Fewer signs or selections than these show little, and are not called passed.
FEW_SIGNS, FEW_SELECTIONS = 1_000, 50


@dataclass(frozen=True, eq=False)
class Row:
    """One cell with its two tallies."""

    cell: Cell
    signs: Tally
    selections: Tally
    sign_limit: float  # log e-value from which the signs of a cell are not fair
    error: str = ""

    @property
    def reached(self) -> bool:
        return bool(self.signs.trials or self.selections.trials or self.error)

    @property
    def few(self) -> bool:
        """Too few trials to say more than that nothing was found; those that were refused show nothing."""
        few_signs = self.cell.tests_signs and self.signs.signs < FEW_SIGNS
        return few_signs or self.selections.trials - self.selections.refused < FEW_SELECTIONS

    @property
    def unfair(self) -> bool:
        return self.signs.log_e_signs >= self.sign_limit

    @property
    def above_level(self) -> bool:
        return bool(self.selections.worst >= np.log(FAILS_AT))

    @property
    def verdict(self) -> str:
        """In one or two words. Only cells with exact knockoffs can fail; the others are reported as they are."""
        if self.error:
            return "error"
        if not self.reached:
            return "not reached"
        if self.unfair:
            return "UNFAIR SIGNS" if self.cell.exact else "unfair signs"
        if self.above_level:
            return "ABOVE LEVEL" if self.cell.exact else "above level"
        if self.selections.refused and self.selections.refused == self.selections.trials:
            return "refused"
        if self.few:
            return "few trials"
        return "passed" if self.cell.exact else "not above level"

    @property
    def failed(self) -> bool:
        return bool(self.error) or (self.cell.exact and (self.unfair or self.above_level))


def judge(cells: list[Cell], parts: list[Part]) -> list[Row]:
    """A row for every cell; all sign tests together give a false alarm with a probability of at most 1e-4."""
    known = totals(parts)
    errors = {part.cell: part.error for part in parts if part.error}
    tested = sum(cell.tests_signs for cell in cells)
    limit = float(np.log(FAILS_AT * max(1, tested)))
    return [
        Row(
            cell,
            known.get((cell.key, "signs"), Tally()),
            known.get((cell.key, "selection"), Tally()),
            limit,
            errors.get(cell.key, ""),
        )
        for cell in cells
    ]
