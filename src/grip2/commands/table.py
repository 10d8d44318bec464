"""A table made ready for a command: read, prepared, grouped where asked for, with a notice of every change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from grip2.commands.console import notice
from grip2.datasets.tables import PreparedTable, TableError, prepare, read_table
from grip2.errors import Grip2Error
from grip2.grouping import CorrelationGrouping


@dataclass(frozen=True)
class TableOptions:
    """Where the table is, and how to prepare it."""

    path: Path
    drop: tuple[str, ...] = ()  # columns to leave out
    impute: bool = False  # fill missing values
    group_threshold: float | None = None  # features correlated above this are one group; None: no grouping


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


def group(X: pd.DataFrame, threshold: float | None) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """One representative of every group of highly correlated features (appendix C.1), and the members of each group."""
    if threshold is None:
        return X, {}
    if not 0 < threshold <= 1:
        raise Grip2Error(f"--group-threshold must be in (0, 1], got {threshold:g}.")
    grouping = CorrelationGrouping(group_threshold=threshold, redundancy_threshold=max(threshold, 0.98)).fit(X)
    kept = X.loc[:, grouping.get_support()]
    notice(
        f"{X.shape[1]} features in {kept.shape[1]} groups of correlation above {threshold:g}; each group is one unit"
    )
    return kept, grouping.members_
