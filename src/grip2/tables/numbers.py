"""Columns of numbers, read by the rules of `grip2.tables.roles`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from grip2.tables.dates import Dates
from grip2.tables.levels import Levels
from grip2.tables.reading import Reading, asked_to_leave_out, cannot, left_out, row_list
from grip2.tables.records import Role
from grip2.tables.roles import (
    FEWEST_VALUES,
    GIVEN,
    MAX_LEVELS,
    Asked,
    Missing,
    named_like_identifier,
    quoted,
    say,
)

STEADY_SHARE = 0.9  # of steps by one in a column that counts the rows
EXACT = 2**53  # whole numbers beyond it are rounded in float64
# Sizes of numbers whose squares, and sums of these, neither underflow nor overflow.
SAFE = {np.dtype(np.float64): (1e-100, 1e100), np.dtype(np.float32): (1e-12, 1e12)}


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers; NaN where one is missing."""

    name: str
    values: np.ndarray  # (rows,) float32 or float64
    notices: tuple[str, ...] = ()
    why: str = "numbers"
    named: bool = True  # False: a column of an array without names, in which identifiers are not looked for

    @classmethod
    def exactly(cls, name: str, values: Sequence[Any], missing: np.ndarray, **more: Any) -> Numbers:
        """From whole numbers of any size, Decimals or Fractions: numbers beyond 2^53 are shifted before they are rounded."""
        given = [value for value, absent in zip(values, missing, strict=True) if not absent]
        exact = [Fraction(value) for value in given]
        out = np.full(len(missing), np.nan)
        notices: tuple[str, ...] = ()
        if exact and max(map(abs, exact)) > EXACT:
            lowest, span = min(exact), max(exact) - min(exact)
            out[~missing] = [float(value - lowest) for value in exact]
            if span:
                notices = (f"numbers beyond 2^53: {_short(lowest)} was subtracted before rounding to 64 bits",)
        elif exact:
            # Numbers smaller than float64 can hold, as Decimals may be, are scaled first.
            largest = max(map(abs, exact))
            factor = 1 if largest == 0 or largest > Fraction(1, 10**290) else 1 / largest
            out[~missing] = [float(value * factor) for value in exact]
            if factor != 1:
                notices = ("numbers below 1e-290 were divided by the largest of them",)
        return cls(name, out, notices, **more)

    @classmethod
    def of_integers(cls, name: str, values: np.ndarray, missing: np.ndarray, **more: Any) -> Numbers:
        """From an array of whole numbers."""
        if not len(values) or (int(values.max()) <= EXACT and int(values.min()) >= -EXACT):
            out = values.astype(np.float64)
            out[missing] = np.nan
            return cls(name, out, **more)
        present = values[~missing]
        lowest = present.min()
        out = np.full(len(values), np.nan)
        # Differences of int64 may exceed int64, but not uint64, in which arithmetic is modulo 2^64.
        out[~missing] = (present.astype(np.uint64) - np.asarray(lowest).astype(np.uint64)).astype(np.float64)
        notice = f"numbers beyond 2^53: {int(lowest)} was subtracted before rounding to 64 bits"
        return cls(name, out, (notice,) if present.max() > lowest else (), **more)

    def read(self, asked: Asked | None, policy: Missing) -> Reading:
        values = np.ascontiguousarray(self.values)  # a column of a matrix is slow to read several times
        missing = np.isnan(values)
        n_missing = int(missing.sum())
        unwanted = asked_to_leave_out(asked, n_missing)
        if unwanted is not None:
            return unwanted
        present = values[~missing] if n_missing else values
        low, high = (present.min(), present.max()) if len(present) else (np.nan, np.nan)
        if np.isinf(low) or np.isinf(high):
            infinite = np.flatnonzero(np.isinf(values))
            return cannot(
                Role.NUMBER,
                f"column {self.name} holds infinity in {row_list(infinite)}",
                f"replace these cells or leave the column out: {say(self.name, 'drop')}",
                n_missing=n_missing,
            )
        if not len(present):
            return left_out(
                Role.CONSTANT, "no values at all", n_missing=n_missing, notices=("no values at all, left out",)
            )
        if low == high:
            also = f" in all {len(present)} rows that have one" if n_missing else ""
            return left_out(
                Role.CONSTANT,
                f"{low:g}{also or ' in every row'}",
                n_missing=n_missing,
                notices=(f"constant ({low:g}{also}), left out",),
            )
        if n_missing and len(present) < FEWEST_VALUES:
            what = f"only {len(present)} of {len(values)} cells are filled"
            return left_out(Role.DROPPED, what, n_missing=n_missing, notices=(f"{what}, left out",))
        reading = self._as_asked(asked, policy, present) if asked is not None else self._by_rules(present, missing)
        shown = reading.shown or f"{low:g} to {high:g}"
        return replace(reading, n_missing=n_missing, shown=shown, notices=(*self.notices, *reading.notices))

    def _by_rules(self, present: np.ndarray, missing: np.ndarray) -> Reading:
        if _two_valued(present):
            low, high = present.min(), present.max()
            codes = np.where(missing, -1, self.values == high).astype(np.int64)
            values, notices = self._scaled(present)
            return Reading(Role.BINARY, "two values", values, codes=codes, shown=f"{low:g}, {high:g}", notices=notices)
        if self.named and bool((present == np.floor(present)).all()):
            found = self._identifier(present)
            if found is not None:
                return found
        values, notices = self._scaled(present)
        return Reading(Role.NUMBER, self.why, values, notices=notices)

    def _scaled(self, present: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
        """The values; multiplied by a power of two, which is exact, if their squares would underflow or overflow."""
        size = float(max(-present.min(), present.max()))
        low, high = SAFE[self.values.dtype]
        if low <= size <= high:
            return self.values, ()
        scaled = self.values.astype(np.float64)
        exponent = -int(np.frexp(size)[1])
        while exponent:  # in steps whose factor float64 can hold
            step = max(-900, min(900, exponent))
            scaled, exponent = np.ldexp(scaled, step), exponent - step
        return scaled, (f"numbers up to {size:.3g} in size were scaled to about 1, which changes no result",)

    def _identifier(self, present: np.ndarray) -> Reading | None:
        if len(present) == len(self.values) and _counts_rows(present):
            return left_out(Role.IDENTIFIER, "counts the rows", notices=("counts the rows, left out",))
        if not named_like_identifier(self.name):
            return None
        n_distinct = pd.Series(present).nunique()
        if n_distinct == len(present):
            return left_out(
                Role.IDENTIFIER,
                "named like an identifier, all values differ",
                notices=("named like an identifier and all values differ, left out",),
            )
        if n_distinct > MAX_LEVELS:
            return left_out(
                Role.IDENTIFIER,
                f"named like an identifier, {n_distinct} values",
                notices=(
                    f"named like an identifier ({n_distinct} values), left out; if rows with one value belong together, say "
                    f"--cluster {quoted(self.name)}",
                ),
            )
        return None

    def _as_asked(self, asked: Asked, policy: Missing, present: np.ndarray) -> Reading:
        if asked.role == Role.CATEGORY or asked.order:
            return Levels.of_numbers(self.name, self.values).read(asked, policy)
        if asked.role == Role.DATE:
            dates = _dates_of_numbers(present, self.values)
            if dates is None:
                return cannot(
                    Role.DATE,
                    f"column {self.name} cannot be read as dates ({present[0]:g} for example)",
                    "numbers are dates as years (2013) or as year, month and day (20130215); give it another role",
                )
            return Dates(self.name, dates).read(asked, policy)
        if asked.role == Role.BINARY and not _two_valued(present):
            return cannot(
                Role.BINARY,
                f"column {self.name} has more than two values",
                f"give it another role: {say(self.name, 'number')}",
            )
        if asked.role == Role.BINARY:
            return replace(self._by_rules(present, np.isnan(self.values)), why=GIVEN)
        values, notices = self._scaled(present)
        return Reading(asked.role, GIVEN, values, notices=notices)


def _counts_rows(values: np.ndarray) -> bool:
    """Are they a saved index? It begins with 0 or 1 and grows by one from row to row, except where rows were left out."""
    steps = np.diff(values)
    return bool(values[0] in (0, 1) and (steps >= 1).all() and (steps == 1).mean() >= STEADY_SHARE)


def _two_valued(present: np.ndarray) -> bool:
    if len(present) > 1000 and not _two_valued(present[:1000]) and present[:1000].min() != present[:1000].max():
        return False
    low, high = present.min(), present.max()
    return bool(low != high and ((present == low) | (present == high)).all())


def _dates_of_numbers(present: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """Years, or year, month and day in eight digits, as dates; None if the numbers are neither."""
    if not bool((present == np.floor(present)).all()):
        return None
    how = "%Y" if 1000 <= present.min() and present.max() <= 3000 else "%Y%m%d"
    texts = [None if np.isnan(value) else str(int(value)) for value in values]
    found = (
        pd.to_datetime(pd.Series(texts, dtype=object), format=how, errors="coerce").to_numpy().astype("datetime64[ns]")
    )
    return None if np.isnat(found[~np.isnan(values)]).any() else found


def _short(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"
