"""Columns of dates, read by the rules of `grip2.tables.roles`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from grip2.tables.levels import Levels
from grip2.tables.reading import Reading, asked_to_leave_out, cannot, left_out
from grip2.tables.records import Role
from grip2.tables.roles import GIVEN, SEASON_DAYS, Asked, Missing, say

DAY = np.timedelta64(1, "D")
DAYS_OF_YEAR = 365.2425
LEAST_VARIATION = 1e-3  # standard deviation below which a sine or cosine counts as constant


@dataclass(frozen=True, eq=False)
class Dates:
    """A column of dates and times; NaT where one is missing."""

    name: str
    values: np.ndarray  # (rows,) datetime64[ns]
    why: str = "dates"
    notices: tuple[str, ...] = ()

    def read(self, asked: Asked | None, policy: Missing) -> Reading:
        missing = np.isnat(self.values)
        n_missing = int(missing.sum())
        unwanted = asked_to_leave_out(asked, n_missing)
        if unwanted is not None:
            return unwanted
        present = self.values[~missing]
        if not len(present) or present.min() == present.max():
            why = "no values at all" if not len(present) else "one date in every row"
            return left_out(Role.CONSTANT, why, n_missing=n_missing, notices=(f"{why}, left out",))
        if asked is not None and asked.role in (Role.CATEGORY, Role.BINARY):
            texts = [None if absent else str(value)[:19] for value, absent in zip(self.values, missing, strict=True)]
            return Levels.of_texts(self.name, texts).read(asked, policy)
        if asked is not None and asked.order:
            return cannot(
                Role.ORDERED, f"column {self.name} holds dates, which have an order", f"say {say(self.name, 'date')}"
            )
        return self._days(missing, present, n_missing, GIVEN if asked is not None else self.why)

    def _days(self, missing: np.ndarray, present: np.ndarray, n_missing: int, why: str) -> Reading:
        first, last = present.min(), present.max()
        days = np.where(missing, np.nan, (self.values - first) / DAY)
        span = float((last - first) / DAY)
        parts, endings, done = [days], [""], [f"days since {_day(first)}"]
        if span >= SEASON_DAYS:
            stamps = pd.DatetimeIndex(self.values)
            angle = 2 * np.pi * np.asarray(stamps.day_of_year, dtype=float) / DAYS_OF_YEAR
            season = _circle(angle, missing, "season")
            parts, endings = parts + [part for _, part in season], endings + [name for name, _ in season]
            done += ["season"] if season else []
        if span >= 2:
            clock = np.where(missing, 0.0, (self.values - self.values.astype("datetime64[D]")) / DAY)
            time = _circle(2 * np.pi * clock, missing, "time of day")
            parts, endings = parts + [part for _, part in time], endings + [name for name, _ in time]
            done += ["time of day"] if time else []
        return Reading(
            Role.DATE,
            why,
            parts[0] if len(parts) == 1 else np.column_stack(parts),
            tuple(endings),
            n_missing=n_missing,
            shown=f"{_day(first)} to {_day(last)}",
            done=" and ".join([", ".join(done[:-1]), done[-1]] if len(done) > 1 else done),
            notices=self.notices,
        )


def _circle(angle: np.ndarray, missing: np.ndarray, what: str) -> list[tuple[str, np.ndarray]]:
    """The sine and cosine of an angle, each with the ending of its name; without those that do not vary."""
    found = []
    for name, wave in (("sine", np.sin(angle)), ("cosine", np.cos(angle))):
        if np.std(wave[~missing]) > LEAST_VARIATION:
            found.append((f" ({what}, {name})", np.where(missing, np.nan, wave)))
    return found


def _day(value: np.datetime64) -> str:
    return str(value.astype("datetime64[D]"))
