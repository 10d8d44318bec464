"""Turns groups as users give them, by a mapping, a label for every column or a CSV file, into units with names."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error, did_you_mean
from grip2.units import Units

# What `groups=` of a selector may be.
Groups = Mapping[str, Sequence[str | int]] | Sequence[Any] | str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class NamedUnits:
    """Units of a table and their names; a column in no group is a unit by itself, under its own name."""

    units: Units
    names: tuple[str, ...]  # of the units
    columns: tuple[str, ...]  # of the table

    @classmethod
    def single(cls, columns: Sequence[str]) -> NamedUnits:
        return cls(Units.single(len(columns)), tuple(columns), tuple(columns))

    def stands_for(self) -> dict[str, list[str]]:
        """Names of the columns of every unit; empty if every column is a unit by itself under its own name."""
        if self.units.all_single and self.names == self.columns:
            return {}
        return {
            name: [self.columns[j] for j in columns]
            for name, columns in zip(self.names, self.units.columns, strict=True)
        }


def units_from(groups: Groups | None, columns: Sequence[str], *, who: str) -> NamedUnits:
    """The units that ``groups`` makes of the table's columns; None: every column by itself.

    A mapping gives the columns of each group by name or number; a sequence has one label for every column (missing or empty:
    no group); a path is a CSV file with the columns ``column`` and ``group``. Columns that are not mentioned stay single.
    """
    if groups is None:
        return NamedUnits.single(columns)
    if isinstance(groups, str | os.PathLike):
        groups = read_groups(Path(groups), who=who)
    if isinstance(groups, Mapping):
        labels = _from_mapping(groups, columns, who)
    elif isinstance(groups, Iterable):
        labels = _from_labels(groups, columns, who)
    else:
        raise Grip2Error(
            f"{who}: groups must be a mapping, a list of labels or the path of a CSV file, got {groups!r}."
        )
    # A group may be called like one of its own columns, but not like a column outside it.
    names = set(labels)
    for label, column in zip(labels, columns, strict=True):
        if label != column and column in names:
            raise Grip2Error(
                f"{who}: groups: {column!r} is the name of a group and of a column outside it; rename one."
            )
    unit_names = [(column if label is None else label) for label, column in zip(labels, columns, strict=True)]
    return NamedUnits(Units.from_labels(unit_names), tuple(dict.fromkeys(unit_names)), tuple(columns))


def _from_mapping(groups: Mapping[str, Sequence[str | int]], columns: Sequence[str], who: str) -> list[str | None]:
    labels: list[str | None] = [None] * len(columns)
    places = {name: j for j, name in enumerate(columns)}
    for name, members in groups.items():
        if isinstance(members, str | bytes) or not isinstance(members, Sequence | np.ndarray | pd.Index):
            raise Grip2Error(
                f"{who}: groups: the columns of {name!r} must be a list of names or numbers, got {members!r}."
            )
        if not len(members):
            raise Grip2Error(f"{who}: groups: {name!r} has no columns.")
        for member in members:
            j = _place(member, places, len(columns), str(name), who)
            if labels[j] == str(name):
                raise Grip2Error(f"{who}: groups: column {columns[j]!r} is named twice in {name!r}; name it once.")
            if labels[j] is not None:
                raise Grip2Error(
                    f"{who}: groups: column {columns[j]!r} is in {labels[j]!r} and in {name!r}; a column belongs to one group."
                )
            labels[j] = str(name)
    return labels


def _place(member: str | int, places: Mapping[str, int], n_columns: int, group: str, who: str) -> int:
    if not isinstance(member, str) and isinstance(member, int | np.integer):
        if not 0 <= member < n_columns:
            raise Grip2Error(
                f"{who}: groups: {group!r} names column {member}, but there are columns 0 to {n_columns - 1}."
            )
        return int(member)
    whole = str(member).rpartition("=")[0]
    if isinstance(member, str) and member not in places and whole in places:
        raise Grip2Error(f"{who}: groups: {member!r} is one value of {whole!r}; name the whole column.")
    if not isinstance(member, str) or member not in places:
        raise Grip2Error(
            f"{who}: groups: {group!r} names {member!r}, which is no column."
            f"{did_you_mean(str(member), places) or _columns_are(places)}"
        )
    return places[member]


def _from_labels(labels: Sequence[Any], columns: Sequence[str], who: str) -> list[str | None]:
    listed = list(labels)
    if len(listed) != len(columns):
        raise Grip2Error(
            f"{who}: groups must have a label for each of the {len(columns)} columns, got {len(listed)}. "
            "To group some of them, give a mapping from names of groups to their columns."
        )
    if not all(np.ndim(label) == 0 for label in listed):
        raise Grip2Error(f"{who}: groups must hold one label for each column, got {listed[:3]!r}.")
    return [None if pd.isna(label) or label == "" else str(label) for label in listed]


def read_groups(path: Path, *, who: str) -> dict[str, list[str]]:
    """A CSV file with a header that names the columns ``column`` and ``group``."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            missing = {"column", "group"} - set(rows.fieldnames or ())
            if missing:
                raise Grip2Error(f"{who}: {path}: expected a header with column,group, got {_shown(rows.fieldnames)}.")
            found: dict[str, list[str]] = {}
            for row in rows:
                if row["group"] and row["column"]:
                    found.setdefault(row["group"], []).append(row["column"])
    except FileNotFoundError:
        raise Grip2Error(f"{who}: {path}: no such file. Give a CSV file with the columns column,group.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise Grip2Error(f"{who}: {path}: groups cannot be read ({why}).") from None
    if not found:
        raise Grip2Error(f"{who}: {path}: holds no groups.")
    return found


def _shown(header: Sequence[str] | None) -> str:
    line = ",".join(header or ()) or "nothing"
    return line if len(line) <= 60 else f"{line[:60]}..."


def _columns_are(names: Mapping[str, int]) -> str:
    shown = list(names)[:8]
    return f" Columns are {', '.join(shown)}" + (f" and {len(names) - 8} more." if len(names) > 8 else ".")
