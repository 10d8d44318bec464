"""Columns of text, read by the rules of `grip2.tables.roles` as numbers, dates or levels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from grip2.tables.dates import Dates
from grip2.tables.levels import Levels
from grip2.tables.numbers import Numbers
from grip2.tables.reading import Reading, asked_to_leave_out, cannot, row_list
from grip2.tables.records import Role
from grip2.tables.roles import (
    ABSENT_SHARE,
    DATE_SHARE,
    FEW_NUMBERS,
    NUMBER_SHARE,
    RARE_ROWS,
    RARE_SHARE,
    Asked,
    Missing,
    say,
)
from grip2.tables.text import (
    MISSING_MARKS,
    NUMBER_MARKS,
    alike,
    beyond_limit,
    exact_numbers,
    is_plain_number,
    looks_like_code,
    parse_dates,
    uniform_numbers,
)

# Marks that may be a level of a text column.
NOT_AVAILABLE = ("NA", "na")


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: the distinct ones, and which of them every row has."""

    name: str
    codes: np.ndarray  # (rows,) -1: missing
    labels: tuple[str, ...]  # without spaces around them
    named: bool = True

    @classmethod
    def of(cls, name: str, values: np.ndarray, *, named: bool = True) -> Texts:
        """From an array of texts; None or NaN: missing."""
        codes, found = pd.factorize(values)
        labels, number = np.unique(np.array([str(label).strip() for label in found], dtype=object), return_inverse=True)
        merged = np.append(number, -1)[codes] if len(found) else codes
        return cls(name, merged.astype(np.int64), tuple(labels), named)

    def read(self, asked: Asked | None, policy: Missing) -> Reading:
        unwanted = asked_to_leave_out(asked, int((self.codes < 0).sum()))
        if unwanted is not None:
            return unwanted
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))
        role = None if asked is None else asked.role
        cells = np.array([label not in NUMBER_MARKS for label in self.labels], dtype=bool)
        if cells.any() and role in (None, Role.NUMBER, Role.BINARY):
            found = self._as_numbers(asked, policy, counts, cells)
            if found is not None:
                return found
        if cells.any() and role in (None, Role.DATE):
            found = self._as_dates(asked, policy, counts, cells)
            if found is not None:
                return found
        return self._as_levels(asked, policy, counts)

    def _as_numbers(
        self, asked: Asked | None, policy: Missing, counts: np.ndarray, cells: np.ndarray
    ) -> Reading | None:
        texts = [label for label, cell in zip(self.labels, cells, strict=True) if cell]
        if looks_like_code(texts) and asked is None:
            return None
        found = uniform_numbers(texts)
        if found is not None:
            plain, way = found
            notices = () if way == "plain numbers" else (f"read as {way}",)
            return self._numbers(dict(zip(texts, plain, strict=True)), notices).read(asked, policy)
        plain_cells = np.array([is_plain_number(label) for label in self.labels], dtype=bool)
        damaged = cells & ~plain_cells
        if counts[plain_cells].sum() < NUMBER_SHARE * counts[cells].sum() or counts[plain_cells].sum() == 0:
            return None
        limits = {label: beyond_limit(label) for label, bad in zip(self.labels, damaged, strict=True) if bad}
        plain_texts = {label: label for label, plain in zip(self.labels, plain_cells, strict=True) if plain}
        if asked is None and all(limits.values()):
            count, example = int(counts[damaged].sum()), next(iter(limits))
            notice = f"{count} cells beyond a limit, such as {example!r}, count as the limit"
            known = {label: limit for label, limit in limits.items() if limit is not None}
            return self._numbers(plain_texts | known, (notice,)).read(asked, policy)
        rows = np.flatnonzero(damaged[self.codes] & (self.codes >= 0))
        where = row_list(rows, [self.labels[self.codes[row]] for row in rows[:10]])
        if asked is not None and asked.role == Role.NUMBER:
            notice = f"{len(rows)} cells that are no numbers count as missing: {where}"
            return self._numbers(plain_texts, (notice,)).read(asked, policy)
        if (
            asked is None
            and counts.sum() >= RARE_ROWS * cells.sum()
            and FEW_NUMBERS[0] <= len(plain_texts) <= FEW_NUMBERS[1]
        ):
            odd = self.labels[int(np.flatnonzero(damaged)[0])]
            notice = (
                f"few numbers and {odd!r}: taken for levels; to count {odd!r} as missing: {say(self.name, 'number')}"
            )
            levels = self._as_levels(asked, policy, counts)
            return replace(levels, notices=(notice, *levels.notices))
        return cannot(
            Role.NUMBER,
            f"column {self.name} holds numbers, but not in {where}",
            f"mend these cells, or count them as missing: {say(self.name, 'number')}, or take all for levels: "
            f"{say(self.name, 'category')}",
        )

    def _numbers(self, plain: dict[str, str], notices: tuple[str, ...]) -> Numbers:
        """The numbers that some texts stand for; all others are missing."""
        long = any(len(text) > 15 for text in plain.values()) and not any(
            "inf" in text.lower() for text in plain.values()
        )
        missing = np.array([label not in plain for label in self.labels] + [True], dtype=bool)
        if long:
            exact = [0 if absent else value for absent, value in zip(missing, [*self._exact(plain), 0], strict=True)]
            made = Numbers.exactly(self.name, exact, missing, named=self.named)
        else:
            values = [float(plain.get(label, "nan")) for label in self.labels]
            made = Numbers(self.name, np.array([*values, np.nan]), named=self.named)
        return replace(made, values=made.values[self.codes], notices=(*notices, *made.notices), why="numbers")

    def _exact(self, plain: dict[str, str]) -> list[object]:
        return [exact_numbers([plain[label]])[0] if label in plain else 0 for label in self.labels]

    def _as_dates(self, asked: Asked | None, policy: Missing, counts: np.ndarray, cells: np.ndarray) -> Reading | None:
        texts = [label for label, cell in zip(self.labels, cells, strict=True) if cell]
        share = DATE_SHARE if asked is None else NUMBER_SHARE
        found = parse_dates(texts, counts[cells], share=share)
        if found is None:
            return None
        dates, how = found
        if not len(dates):
            return cannot(
                Role.DATE,
                f"column {self.name} holds dates such as {texts[0]!r}, and every one may be {how}",
                f"write them as year-month-day, or take them for levels: {say(self.name, 'category')}",
            )
        of_label = np.full(len(self.labels) + 1, np.datetime64("NaT"), dtype="datetime64[ns]")
        of_label[np.flatnonzero(cells)] = dates
        unread = int(counts[cells][np.isnat(dates)].sum())
        notices = (f"{unread} cells that are no dates count as missing",) if unread else ()
        return Dates(self.name, of_label[self.codes], f"text, dates ({how})", notices).read(asked, policy)

    def _as_levels(self, asked: Asked | None, policy: Missing, counts: np.ndarray) -> Reading:
        marks = set(MISSING_MARKS)
        blank = "" in self.labels or (self.codes < 0).any()
        not_available = [label for label in NOT_AVAILABLE if label in self.labels]
        asked_about: tuple[str, ...] = ()
        if not_available:
            mark = not_available[0]
            rows = int(counts[self.labels.index(mark)])
            if asked is None and not blank:
                marks |= set(not_available)
                if RARE_SHARE * len(self.codes) <= rows < ABSENT_SHARE * len(self.codes):
                    asked_about = (
                        f"{mark!r} in {rows} rows is taken for a missing value; if it is a level of its own (none, not "
                        f"applicable), say {say(self.name, 'category')}",
                    )
            elif asked is None:
                asked_about = (f"{mark!r} in {rows} rows is a level, as there are empty cells too",)
        missing = np.array([label in marks for label in self.labels] + [True], dtype=bool)
        codes = np.where(missing[self.codes], -1, self.codes)
        if asked is None:
            codes, alike = self._alike_as_one(codes, counts)
            asked_about = (*asked_about, *alike)
        reading = Levels(self.name, codes, self.labels).read(asked, policy)
        if reading.problems or reading.values is None:
            return reading
        return replace(reading, notices=(*asked_about, *reading.notices))

    def _alike_as_one(self, codes: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """Codes in which words that differ by capitals and spaces only are one level; and a notice about it."""
        becomes, shown = alike(dict(zip(self.labels, counts.tolist(), strict=True)))
        if not becomes:
            return codes, ()
        place = {label: number for number, label in enumerate(self.labels)}
        number = np.array([place[becomes.get(label, label)] for label in self.labels] + [-1])
        notice = (
            f"levels that differ by capitals only are one: {shown}; to keep them apart: {say(self.name, 'category')}"
        )
        return number[codes], (notice,)
