"""Prepares a table for a command: reads it, sets its target apart, encodes it, with a notice of every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from grip2.commands.console import notice
from grip2.errors import Grip2Error
from grip2.grouping import CorrelationGrouping
from grip2.groups import Groups, read_groups
from grip2.tables import PreparedTable, Problem, TableError, TargetValues
from grip2.tables.files import read_table
from grip2.tables.prepare import Examined, assemble, examine
from grip2.tables.rare import rare_values
from grip2.tables.records import Role, error_of
from grip2.tables.roles import Asked, asked_roles, nearest
from grip2.tables.target import read_event, read_target, survival_target
from grip2.tables.together import rows_together

SHOWN_ALIKE = 3  # notices of one kind, about different columns, that are shown


@dataclass(frozen=True)
class TableOptions:
    """Where the table is, and how to prepare it."""

    path: Path
    roles: Mapping[str, str] | None = None  # by name of the column
    missing: str = "draw"
    groups: Path | None = None  # CSV file with the columns column, group
    group_threshold: float | None = None  # columns correlated above this are one group; None: no grouping
    representatives: bool = False  # keep one column of every such group only


@dataclass(frozen=True)
class TargetOptions:
    """The columns that are no features."""

    target: str | None = None
    event: str | None = None  # "column", or "column=value" with the value that says that the event has happened
    cluster: str | None = None
    weights: str | None = None

    def event_column(self, names: Sequence[str]) -> tuple[str | None, str | None]:
        """The column of events and the value that stands for one."""
        if self.event is None or self.event in names or "=" not in self.event:
            return self.event, None
        name, _, value = self.event.rpartition("=")
        return name, value


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table that has been read, with its target and clusters."""

    examined: Examined
    y: np.ndarray | None
    clusters: np.ndarray | None
    features: Any  # the columns that are neither target, nor event, nor cluster, in the rows that have a target
    notices: tuple[str, ...]


def load(options: TableOptions, target: TargetOptions) -> LoadedTable:
    """Read a table and the roles of its columns; raises with all problems if it cannot be used."""
    loaded, problems = look(options, target)
    if problems:
        raise error_of(problems, str(options.path))
    return loaded


def look(options: TableOptions, target: TargetOptions) -> tuple[LoadedTable, list[Problem]]:
    """As `load`, but returns the problems instead of raising."""
    path = options.path
    if target.weights is not None:
        raise Grip2Error(f"--weights {target.weights}: no statistic honours weights of rows; leave --weights out.")
    file = read_table(path)
    frame = nw.from_native(file.table, eager_only=True)
    names = frame.columns
    event, event_value = target.event_column(names)
    apart = {"--target": target.target, "--event": event, "--cluster": target.cluster}
    unknown = [
        Problem(f"{option}: there is no column {name!r}", nearest(name, names))
        for option, name in apart.items()
        if name is not None and name not in names
    ]
    if unknown:
        raise error_of(unknown, str(path))
    _check_apart(apart, options.roles or {}, path)
    if len(names) == len({name for name in apart.values() if name is not None}):
        raise TableError(f"{path}: no columns are left besides the target {target.target!r}.")
    # Names that there are not may have been meant for the target, which the features know nothing of.
    given = dict(options.roles or {})
    own = {name: role for name, role in given.items() if name == target.target or name not in names}
    asked, wrong = asked_roles(own, names, target.target)
    values, problems = _target(frame, target.target, event, event_value, asked)
    clusters = None if target.cluster is None else np.array(frame[target.cluster].to_list(), dtype=object)
    features = frame.drop([name for name in dict.fromkeys(apart.values()) if name is not None])
    if values is not None and values.rows is not None and not problems:
        features = features[values.rows.tolist()]
        clusters = None if clusters is None else clusters[values.rows]
    usable = values if values is not None and not problems else None
    roles = {name: role for name, role in given.items() if name not in own and name not in apart.values()}
    examined = examine(nw.to_native(features), roles=roles, missing=options.missing, target=usable, who=str(path))
    notices = (*file.notices, *(values.notices if values is not None else ()), *examined.notices)
    notices = (*notices, *rare_values(nw.to_native(features), examined.variables))
    if target.cluster is None:
        notices = (*notices, *rows_together(nw.to_native(features), examined.variables))
    loaded = LoadedTable(examined, None if usable is None else usable.values, clusters, nw.to_native(features), notices)
    return loaded, [*wrong, *problems, *examined.problems]


def _check_apart(apart: Mapping[str, str | None], roles: Mapping[str, str], path: Path) -> None:
    """Refuse a column that is given two purposes."""
    taken: dict[str, str] = {}
    for option, name in apart.items():
        if name in taken:
            raise Grip2Error(f"{path}: {taken[name]} and {option} both name {name!r}; give each a column of its own.")
        if name is not None:
            taken[name] = option
            if roles.get(name) == str(Role.DROPPED):
                raise Grip2Error(
                    f"{path}: {name!r} is left out and is the column of {option}; it can be one of them only."
                )


def _target(
    frame: nw.DataFrame[Any],
    target: str | None,
    event: str | None,
    event_value: str | None,
    asked: Mapping[str, Asked],
) -> tuple[TargetValues | None, list[Problem]]:
    if target is None:
        return None, []
    time, problems = read_target(frame[target], target, asked.get(target))
    if event is None:
        return time, problems
    happened, more = read_event(frame[event], event, event_value)
    if problems or more:
        return time, [*problems, *more]
    return survival_target(time, happened, len(frame))


def tell(loaded: LoadedTable) -> None:
    """Write notices: how many columns have each role, and every change; of similar changes only the first ones."""
    roles = Counter(str(variable.role) for variable in loaded.examined.variables)
    notice(
        f"{len(loaded.examined.variables)} columns: "
        + ", ".join(f"{count} {role}" for role, count in roles.most_common())
    )
    for line in shortened(loaded.notices):
        notice(line)


def shortened(notices: Sequence[str]) -> list[str]:
    """The notices; of one kind, about many columns, only the first ones and how many more there are."""
    kind_of = [_kind(line) for line in notices]
    counts, seen = Counter(kind_of), Counter[str]()
    lines = []
    for line, kind in zip(notices, kind_of, strict=True):
        seen[kind] += 1
        if seen[kind] <= SHOWN_ALIKE or counts[kind] <= SHOWN_ALIKE + 1:
            lines.append(line)
        elif seen[kind] == SHOWN_ALIKE + 1:
            lines.append(f"and {counts[kind] - SHOWN_ALIKE} more columns of this kind ({kind} ...)")
    return lines


_KINDS = (
    "separate ranges",
    "counts the rows",
    "constant",
    "a copy of",
    "pooled into",
    "missing",
    "left out",
    "scaled",
    "read as",
)


def _kind(line: str) -> str:
    return next((kind for kind in _KINDS if kind in line), line)


def prepared(loaded: LoadedTable, options: TableOptions) -> tuple[PreparedTable, dict[str, list[str]]]:
    """The table in numbers with its units: categories, groups from a file, clusters of correlated columns among the others.

    Also returns, for every representative of left-out columns, the columns that it stands for.
    """
    if options.representatives and options.group_threshold is None:
        raise Grip2Error("--group-representatives needs --group-threshold, which forms the groups.")
    groups: dict[str, list[str]] = {} if options.groups is None else read_groups(options.groups, who="--groups")
    table = assemble(loaded.examined, groups=_or_none(groups), who=_who(options))
    if options.group_threshold is None:
        return table, {}
    free = _numbers(table, {name for members in groups.values() for name in members})
    if options.representatives:
        kept, stands_for = representatives(free, options.group_threshold)
        dropped = {name: str(Role.DROPPED) for name in free.columns if name not in kept.columns}
        again = examine(
            loaded.features, roles={**(options.roles or {}), **dropped}, missing=options.missing, who=str(options.path)
        )
        return assemble(again, groups=_or_none(groups), who=_who(options)), stands_for
    clusters = _clusters(free, options.group_threshold, redundancy=1.0)
    several = {name: columns for name, columns in clusters.members_.items() if len(columns) > 1}
    notice(
        f"{free.shape[1]} columns in {len(clusters.members_)} groups of correlation above {options.group_threshold:g}; each "
        "group is one unit with all its columns"
    )
    return assemble(loaded.examined, groups=_or_none({**groups, **several}), who=_who(options)), {}


def _or_none(groups: Mapping[str, Sequence[str]]) -> Groups | None:
    return dict(groups) or None


def _who(options: TableOptions) -> str:
    return "--groups" if options.groups is not None else str(options.path)


def _numbers(table: PreparedTable, taken: set[str]) -> pd.DataFrame:
    """The columns of numbers that belong to no group yet, with missing values filled by medians."""
    single = {
        v.name: table.X[:, v.columns[0]]
        for v in table.variables
        if len(v.columns) == 1 and not v.levels and v.name not in taken
    }
    frame = pd.DataFrame(single)
    return frame.fillna(frame.median())


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
