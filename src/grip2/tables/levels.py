"""Columns of levels, with or without an order, read by the rules of `grip2.tables.roles`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from grip2.tables.orders import likely_order
from grip2.tables.reading import Reading, asked_to_leave_out, cannot, left_out, row_list
from grip2.tables.records import Role
from grip2.tables.roles import (
    ABSENT_SHARE,
    COVERED_SHARE,
    GIVEN,
    IDENTIFIER_SHARE,
    MAX_LEVELS,
    MISSING_LEVEL,
    RARE_ROWS,
    Asked,
    Missing,
    named_like_identifier,
    quoted,
    rare_below,
    say,
)
from grip2.tables.text import order_by_numbers

SHOWN_LEVELS = 4
# Pairs of words of which the second is the 1 of a 0/1 column, however frequent it is.
NO_AND_YES = (("no", "yes"), ("n", "y"), ("false", "true"))


@dataclass(frozen=True, eq=False)
class Levels:
    """A column in which every row has one of some levels."""

    name: str
    codes: np.ndarray  # (rows,) number of the level; -1: missing
    labels: tuple[str, ...]
    ordered: bool = False  # True: the order of the labels is that of the levels
    why: str = "text"

    @classmethod
    def of_numbers(cls, name: str, values: np.ndarray) -> Levels:
        """Every distinct number a level."""
        distinct, codes = np.unique(values[~np.isnan(values)], return_inverse=True)
        out = np.full(len(values), -1, dtype=np.int64)
        out[~np.isnan(values)] = codes
        return cls(name, out, tuple(f"{number:.15g}" for number in distinct), why="numbers")

    @classmethod
    def of_texts(cls, name: str, texts: Sequence[object], why: str = "text") -> Levels:
        """Every distinct text a level; None: missing."""
        codes, labels = pd.factorize(np.asarray(texts, dtype=object))
        return cls(name, codes.astype(np.int64), tuple(str(label) for label in labels), why=why)

    def read(self, asked: Asked | None, policy: Missing) -> Reading:
        column = self._used()
        n_missing = int((column.codes < 0).sum())
        unwanted = asked_to_leave_out(asked, n_missing)
        if unwanted is not None:
            return unwanted
        column = column._with_missing_level(policy)
        reading = column._reading(asked)
        if reading.role != Role.CONSTANT and MISSING_LEVEL in column.labels and MISSING_LEVEL not in self.labels:
            notice = f"{n_missing} empty cells are the level {MISSING_LEVEL!r}"
            reading = replace(reading, notices=(notice, *reading.notices))
        return replace(reading, n_missing=n_missing, shown=reading.shown or column._shown())

    def _reading(self, asked: Asked | None) -> Reading:
        if not self.labels:
            return left_out(Role.CONSTANT, "no values at all", notices=("no values at all, left out",))
        if len(self.labels) == 1:
            only = (
                f"{self.labels[0]!r} wherever there is a value"
                if (self.codes < 0).any()
                else f"{self.labels[0]!r} in every row"
            )
            return left_out(Role.CONSTANT, only, notices=(f"constant ({only}), left out",))
        role = None if asked is None else asked.role
        if asked is not None and role in (Role.NUMBER, Role.DATE):
            return cannot(
                asked.role,
                f"column {self.name} holds texts ({self.labels[0]!r} for example) that cannot be read as {role}s",
                f"give it another role: {say(self.name, 'category')}",
            )
        if role == Role.BINARY and len(self.labels) > 2:
            return cannot(
                Role.BINARY,
                f"column {self.name} has {len(self.labels)} values, not two",
                f"give it another role: {say(self.name, 'category')}",
            )
        if role == Role.ORDERED or (self.ordered and role is None):
            return self._in_order(asked)
        if len(self.labels) == 2:
            return self._two(GIVEN if role is not None else "two values")
        if role is None:
            found = self._identifier()
            if found is not None:
                return found
        reading = self._category(GIVEN if role is not None else self.why)
        order = likely_order([label for label in self.labels if label != MISSING_LEVEL]) if role is None else None
        if order is None:
            return reading
        notice = (
            f"its levels seem to have an order, and are taken without one; if they have it: {say(self.name, order)}"
        )
        return replace(reading, notices=(*reading.notices, notice))

    def _counts(self) -> np.ndarray:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))

    def _used(self) -> Levels:
        """The column without levels that no row has."""
        counts = self._counts()
        if (counts > 0).all():
            return self
        kept = np.flatnonzero(counts)
        number = np.full(len(self.labels) + 1, -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return replace(self, codes=number[self.codes], labels=tuple(self.labels[j] for j in kept))

    def _with_missing_level(self, policy: Missing) -> Levels:
        """Empty cells as a level of their own: if an indicator is wanted for them, or if most cells are empty."""
        n_missing = int((self.codes < 0).sum())
        frequent = n_missing >= rare_below(len(self.codes))
        absent = n_missing >= ABSENT_SHARE * len(self.codes) or len(self.labels) == 1
        wanted = policy == Missing.INDICATOR or (policy == Missing.DRAW and absent)
        if not (wanted and frequent and self.labels) or self.ordered:
            return self
        codes = np.where(self.codes < 0, len(self.labels), self.codes)
        return replace(self, codes=codes, labels=(*self.labels, MISSING_LEVEL))

    def _identifier(self) -> Reading | None:
        counts = self._counts()
        n_rows, n_levels = int(counts.sum()), len(self.labels)
        if n_levels > max(5, IDENTIFIER_SHARE * n_rows):
            n_missing = len(self.codes) - n_rows
            of_rows = f"{n_rows} filled cells of {len(self.codes)}" if n_missing else f"{n_rows} rows"
            what = f"{n_levels} different texts in {of_rows}"
        elif counts.max() < RARE_ROWS:
            what = f"no text occurs in {RARE_ROWS} rows"
        elif n_levels > MAX_LEVELS and np.sort(counts)[::-1][: MAX_LEVELS - 1].sum() < COVERED_SHARE * n_rows:
            what = f"{n_levels} levels, of which the {MAX_LEVELS - 1} most frequent cover less than half of the rows"
        else:
            return None
        notice = f"{what}, left out"
        if n_levels < n_rows and named_like_identifier(self.name):
            notice += f"; if rows with one value belong together, say --cluster {quoted(self.name)}"
        if counts.max() >= RARE_ROWS:
            notice += f"; to keep the frequent ones: {say(self.name, 'category')}"
        return left_out(Role.IDENTIFIER, what, notices=(notice,))

    def _two(self, why: str) -> Reading:
        reference = self._no()
        values = np.where(self.codes < 0, np.nan, self.codes != reference)
        levels = (self.labels[reference], self.labels[1 - reference])
        return Reading(Role.BINARY, why, values, (f"={levels[1]}",), levels, self.codes, done=f"0/1 of {levels[1]!r}")

    def _no(self) -> int:
        """Which of two levels is the 0: no of yes and no, otherwise the more frequent one."""
        plain = tuple(label.casefold() for label in self.labels)
        for pair in NO_AND_YES:
            if set(plain) == set(pair):
                return plain.index(pair[0])
        return int(np.argmax(self._counts()))

    def _in_order(self, asked: Asked | None) -> Reading:
        order: tuple[str, ...] | None = self.labels if self.ordered else None
        if asked is not None and asked.order:
            order = asked.order
            unknown = [label for label in self.labels if label not in order]
            if unknown:
                rows = np.flatnonzero(np.isin(self.codes, [self.labels.index(label) for label in unknown]))
                return cannot(
                    Role.ORDERED,
                    f"column {self.name}: the order given does not name {', '.join(map(repr, unknown[:5]))} ({row_list(rows)})",
                    "name all levels",
                )
        order = order or order_by_numbers(self.labels)
        if order is None:
            example = "<".join(sorted(self.labels)[:5])
            return cannot(
                Role.ORDERED,
                f"column {self.name}: the order of its levels is not known",
                f"give it: {say(self.name, example)} for example",
            )
        place = {label: rank for rank, label in enumerate(label for label in order if label in self.labels)}
        ranks = np.array([place[label] for label in self.labels] + [np.nan])
        return Reading(
            Role.ORDERED,
            GIVEN if asked is not None else "ordered categories",
            ranks[self.codes],
            levels=tuple(place),
            codes=self.codes,
            done=f"0 to {len(place) - 1}",
            shown=" < ".join(place) if len(place) <= 2 * SHOWN_LEVELS else f"{len(place)} levels",
        )

    def _category(self, why: str) -> Reading:
        pooled, notices = self._pooled()
        counts = pooled._counts()
        reference = min(range(len(counts)), key=lambda j: (-counts[j], pooled.labels[j]))
        others = sorted((j for j in range(len(counts)) if j != reference), key=lambda j: pooled.labels[j])
        levels = (pooled.labels[reference], *(pooled.labels[j] for j in others))
        if len(levels) == 2:
            return replace(pooled._two(why), codes=self.codes, notices=notices)
        values = (pooled.codes[:, None] == np.array(others)).astype(np.float64)
        values[pooled.codes < 0] = np.nan
        return Reading(
            Role.CATEGORY,
            why,
            values,
            tuple(f"={level}" for level in levels[1:]),
            levels,
            self.codes,
            done=f"{len(others)} columns of 0/1; the reference is {levels[0]!r}",
            notices=notices,
        )

    def _pooled(self) -> tuple[Levels, tuple[str, ...]]:
        """The column with rare levels, and all but the most frequent of too many, in one level; and a notice."""
        counts = self._counts()
        n_rows, order = len(self.codes), np.argsort(-counts, kind="stable")
        kept = max(1, int((counts >= rare_below(n_rows)).sum()))
        if len(order) > MAX_LEVELS:
            kept = min(kept, MAX_LEVELS - 1)
        n_pooled = len(order) - kept
        if n_pooled == 0:
            return self, ()
        alone = n_pooled == 1 and kept > 1
        if alone:
            kept, n_pooled = kept - 1, 2
        other = next(
            word for word in ("other", "other levels", "(other)") if word not in [self.labels[j] for j in order[:kept]]
        )
        number = np.full(len(order) + 1, kept, dtype=np.int64)
        number[order[:kept]] = np.arange(kept)
        number[-1] = -1
        names = [self.labels[j] for j in order[kept:]]
        rows = int(counts[order[kept:]].sum())
        rare = (
            f"{n_pooled} rare levels"
            if counts[order[kept]] < rare_below(n_rows)
            else f"{n_pooled} of {len(order)} levels"
        )
        what = f"{rare} ({_few(names)}; {rows} rows) pooled into {other!r}"
        if alone:
            what = f"the rare level {names[1]!r} pooled with the next, {names[0]!r}, into {other!r} ({rows} rows)"
        labels = (*(self.labels[j] for j in order[:kept]), other)
        return replace(self, codes=number[self.codes], labels=labels), (what,)

    def _shown(self) -> str:
        counts = self._counts()
        names = [self.labels[j] for j in np.argsort(-counts, kind="stable")]
        return f"{len(names)} levels: {_few(names)}" if len(names) > 2 else ", ".join(names)


def _few(names: Sequence[str]) -> str:
    short = [name if len(name) <= 24 else name[:21] + "..." for name in names[:SHOWN_LEVELS]]
    return ", ".join(short) + (", ..." if len(names) > SHOWN_LEVELS else "")
