"""A table made ready for a command: read, prepared, its units formed, with a notice of every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from grip2.commands.console import notice
from grip2.datasets.tables import PreparedTable, TableError, prepare, read_table
from grip2.errors import Grip2Error
from grip2.grouping import CorrelationGrouping
from grip2.groups import read_groups


@dataclass(frozen=True)
class TableOptions:
    """Where the table is, and how to prepare it."""

    path: Path
    drop: tuple[str, ...] = ()  # columns to leave out
    impute: bool = False  # fill missing values
    groups: Path | None = None  # CSV file with the columns column, group
    group_threshold: float | None = None  # columns correlated above this are one group; None: no grouping
    representatives: bool = False  # keep one column of every such group only


@dataclass(frozen=True)
class Grouped:
    """The columns to select from, which of them belong together, and what columns stand for that were left out."""

    X: pd.DataFrame
    groups: Mapping[str, Sequence[str]]  # columns of every unit with more than one, or with a name of its own
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)  # all columns that a representative stands for


def load(options: TableOptions, target: str | None) -> PreparedTable:
    """Read and prepare a table; errors name the file."""
    path = options.path
    try:
        prepared = prepare(read_table(path), target, drop=list(options.drop), impute=options.impute)
    except TableError as error:
        raise TableError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    for line in prepared.notices:
        notice(line)
    return prepared


def group(prepared: PreparedTable, options: TableOptions) -> Grouped:
    """The units of a table: categories, groups from a file, and clusters of correlated columns among the others."""
    if options.representatives and options.group_threshold is None:
        raise Grip2Error("--group-representatives needs --group-threshold, which forms the groups.")
    groups = dict(prepared.categories)
    if options.groups is not None:
        groups = _with_groups_of_file(groups, prepared.X, options.groups)
    if options.group_threshold is None:
        return Grouped(prepared.X, groups)
    taken = {column for columns in groups.values() for column in columns}
    free = [column for column in prepared.X.columns if column not in taken]
    if options.representatives:
        kept, stands_for = representatives(prepared.X[free], options.group_threshold)
        columns = [column for column in prepared.X.columns if column in taken or column in kept.columns]
        return Grouped(prepared.X[columns], groups, stands_for)
    clusters = _clusters(prepared.X[free], options.group_threshold, redundancy=1.0)
    several = {name: columns for name, columns in clusters.members_.items() if len(columns) > 1}
    notice(
        f"{len(free)} columns in {len(clusters.members_)} groups of correlation above {options.group_threshold:g}; each "
        "group is one unit with all its columns"
    )
    return Grouped(prepared.X, {**groups, **several})


def representatives(X: pd.DataFrame, threshold: float) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """One representative of every group of highly correlated columns (appendix C.1), and the members of each group."""
    grouping = _clusters(X, threshold, redundancy=max(threshold, 0.98))
    kept = X.loc[:, grouping.get_support()]
    notice(
        f"{X.shape[1]} features in {kept.shape[1]} groups of correlation above {threshold:g}; one column of each is kept"
    )
    return kept, grouping.members_


def _clusters(X: pd.DataFrame, threshold: float, *, redundancy: float) -> CorrelationGrouping:
    if not 0 < threshold <= 1:
        raise Grip2Error(f"--group-threshold must be in (0, 1], got {threshold:g}.")
    if not X.shape[1]:
        raise Grip2Error("--group-threshold: every column belongs to a group already.")
    return CorrelationGrouping(group_threshold=threshold, redundancy_threshold=redundancy).fit(X)


def _with_groups_of_file(
    categories: Mapping[str, Sequence[str]], X: pd.DataFrame, path: Path
) -> dict[str, Sequence[str]]:
    """Groups of a file, which may hold text columns as wholes; a text column in no group stays a unit by itself."""
    found: dict[str, Sequence[str]] = {}
    used: set[str] = set()
    variable_of = {column: name for name, columns in categories.items() for column in columns}
    for name, members in read_groups(path, who="--groups").items():
        columns: list[str] = []
        for member in members:
            if member in variable_of:
                raise Grip2Error(
                    f"--groups: {path}: {member!r} is one value of {variable_of[member]!r}; name the whole column."
                )
            used.add(member)
            columns.extend(categories.get(member, [member]))
        found[name] = columns
        if name not in members and (name in categories or name in X.columns):
            raise Grip2Error(
                f"--groups: {path}: {name!r} is the name of a group and of a column outside it; rename the group."
            )
    return {**{name: columns for name, columns in categories.items() if name not in used}, **found}
