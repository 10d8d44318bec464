"""Turns a table into numbers: the preparation that library and command line share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grip2._validation import MIN_FEATURES, MIN_ROWS, one_sample
from grip2.errors import Grip2Error, did_you_mean
from grip2.groups import Groups, NamedUnits, units_from
from grip2.tables.copies import copies_target, first_equals, how_equal
from grip2.tables.follows import TargetPart, is_monotone_in
from grip2.tables.missing import refused, treat
from grip2.tables.reading import Reading
from grip2.tables.records import PreparedTable, Problem, Role, TableError, Variable, error_of
from grip2.tables.roles import Missing, asked_roles, say
from grip2.tables.sources import Source, source_of
from grip2.tables.target import TargetValues
from grip2.units import Units


@dataclass(frozen=True, eq=False)
class Examined:
    """A table read by the rules: the role of every column, and the problems to solve before it can be used."""

    variables: tuple[Variable, ...]
    readings: tuple[Reading, ...]
    notices: tuple[str, ...]
    problems: tuple[Problem, ...]
    source: Source


def prepare(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    groups: Groups | None = None,
    missing: str = "draw",
    target: TargetValues | None = None,
    who: str = "prepare",
) -> PreparedTable:
    """The prepared form of a table: a data frame (pandas, polars, pyarrow), or an array with columns called x0, x1, ...

    ``roles`` overrides the roles that the rules of `grip2.tables.roles` give. ``groups`` names columns that are selected
    together. ``missing`` says what happens to missing values: "draw" keeps them, to be completed by the sampler's model;
    "indicator" fills them and adds a column that marks them; "median" fills them; "refuse" raises. With ``target`` a column
    that copies it is refused. One `TableError` lists all problems.
    """
    examined = examine(table, roles=roles, missing=missing, target=target, who=who)
    if examined.problems:
        raise error_of(examined.problems, who)
    return assemble(examined, groups=groups, who=who)


def examine(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    missing: str = "draw",
    target: TargetValues | None = None,
    who: str = "prepare",
) -> Examined:
    """Read every column, and collect all problems instead of stopping at the first."""
    policy = missing_policy(missing, who)
    source = source_of(table, who)
    names = [column.name for column in source.columns]
    asked, problems = asked_roles(roles, names)
    if source.n_rows < MIN_ROWS:
        problems.insert(0, Problem(f"at least {MIN_ROWS} rows are needed, got {one_sample(source.n_rows)}", "add rows"))
    readings = [column.read(asked.get(column.name), policy) for column in source.columns]
    for reading in readings:
        problems += reading.problems
    notices: list[str] = []
    if target is not None:
        same = [_says_the_same(reading, target) for reading in readings]
        found = [
            Problem(f"column {name} is a {what}", f"leave it out: {say(name, 'drop')}")
            for name, what in zip(names, same, strict=True)
            if what
        ]
        notices += [str(problem) for problem in found] if not source.named else []
        problems += found if source.named else []
        notices += _separated(names, readings, target, same) if source.named else []
    equal = first_equals(readings)
    readings = treat(readings, policy)
    if policy == Missing.REFUSE:
        problems += refused(names, readings)
    variables = []
    for name, reading, first in zip(names, readings, equal, strict=True):
        if first is not None:
            notices.append(f"{name}: a copy of {names[first]}, with which it forms one unit")
            variables.append(
                Variable(
                    name,
                    Role.COPY,
                    how_equal(reading, readings[first]),
                    f"one unit with {names[first]}",
                    n_missing=reading.n_missing,
                    copy_of=names[first],
                    values=reading.shown,
                )
            )
            continue
        notices += [f"{name}: {notice}" for notice in reading.notices]
        variables.append(
            Variable(
                name,
                reading.role,
                reading.why,
                reading.done,
                levels=reading.levels,
                n_missing=reading.n_missing,
                values=reading.shown,
            )
        )
    return Examined(tuple(variables), tuple(readings), tuple(notices), tuple(problems), source)


def assemble(examined: Examined, *, groups: Groups | None, who: str) -> PreparedTable:
    """The matrix of an examined table, and its units."""
    variables: list[Variable] = []
    columns: list[np.ndarray] = []
    names: list[str] = []
    owners: list[str] = []
    kept: list[int] = []
    for j, (variable, reading) in enumerate(zip(examined.variables, examined.readings, strict=True)):
        if variable.copy_of or reading.values is None:
            variables.append(variable)
            continue
        variables.append(replace(variable, columns=tuple(range(len(columns), len(columns) + len(reading.columns)))))
        columns += reading.columns
        names += [variable.name + ending for ending in reading.endings]
        owners += [variable.name] * len(reading.columns)
        kept.append(j)
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise TableError(f"{who}: encoding gives two columns the name {repeated[0]!r}; rename one of them.")
    _check_size(len(kept), len(examined.variables), who)
    units = _units(groups, [variable.name for variable in variables], names, owners, who)
    return PreparedTable(_matrix(examined, columns, kept), tuple(variables), units, examined.notices)


def missing_policy(word: str, who: str) -> Missing:
    try:
        return Missing(word)
    except ValueError:
        choices = [str(policy) for policy in Missing]
        raise Grip2Error(
            f"{who}: missing must be one of {', '.join(choices)}, got {word!r}.{did_you_mean(str(word), choices)}"
        ) from None


def _says_the_same(reading: Reading, target: TargetValues) -> str:
    """What a column is of which part of the target; empty where it says something of its own."""
    for part, values in target.parts:
        if copies_target(reading, values):
            return f"copy of {part}"
        if is_monotone_in(reading, values):
            return f"monotone function of {part}"
    return ""


def _separated(
    names: Sequence[str], readings: Sequence[Reading], target: TargetValues, same: Sequence[str]
) -> list[str]:
    """Notices of columns that may have been computed from the target; not of those that say the same as it."""
    notices = []
    parts = [TargetPart.of(*part) for part in target.parts]
    for name, reading, what in zip(names, readings, same, strict=True):
        found = None if what else next(filter(None, (_ranges(reading, part) for part in parts)), None)
        if found is not None:
            notices.append(f"{name}: {found}. Was it computed from it? If so, leave it out: {say(name, 'drop')}")
    return notices


def _ranges(reading: Reading, part: TargetPart) -> str | None:
    levels, classes = part.ranges_in_levels(reading), part.ranges_in_classes(reading)
    if levels is not None:
        return f"its levels occupy separate ranges of {part.name} ({levels})"
    return None if classes is None else f"it has separate ranges in the classes of {part.name} ({classes})"


def _check_size(n_used: int, n_variables: int, who: str) -> None:
    if n_used < MIN_FEATURES:
        dropped = n_variables - n_used
        rest = f" ({dropped} more are constant, identifiers, copies or left out)" if dropped else ""
        raise TableError(
            f"{who}: at least {MIN_FEATURES} features are needed, got {n_used} feature(s){rest}: a false discovery rate over a "
            "single feature says nothing. Use an ordinary test of association."
        )


def _matrix(examined: Examined, columns: Sequence[np.ndarray], kept: Sequence[int]) -> np.ndarray:
    """The columns side by side; the user's array itself if nothing was changed."""
    source = examined.source
    if source.matrix is not None and all(examined.readings[j].values is source.views[j] for j in kept):
        return (
            source.matrix if len(kept) == source.matrix.shape[1] else np.ascontiguousarray(source.matrix[:, list(kept)])
        )
    dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    X = np.empty((len(columns[0]), len(columns)), dtype=dtype)
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


def _units(
    groups: Groups | None, variables: Sequence[str], columns: Sequence[str], owners: Sequence[str], who: str
) -> NamedUnits:
    """Units of the prepared columns: those of the groups of variables."""
    named = units_from(groups, variables, who=who)
    unit_of = {variable: named.names[unit] for variable, unit in zip(variables, named.units.of_column, strict=True)}
    labels = [unit_of[owner] for owner in owners]
    return NamedUnits(Units.from_labels(labels), tuple(dict.fromkeys(labels)), tuple(columns))
