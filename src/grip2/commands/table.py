"""A file made ready for a command: read, prepared, grouped where asked for, with a notice of every change."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from grip2.commands.console import notice
from grip2.datasets.tables import PreparedTable, TableError, prepare, read_table
from grip2.grouping import CorrelationGrouping


def load(path: Path, target: str | None, *, drop: list[str], impute: bool) -> PreparedTable:
    """Read and prepare a table; errors name the file."""
    try:
        prepared = prepare(read_table(path), target, drop=drop, impute=impute)
    except TableError as error:
        raise TableError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    for line in prepared.notices:
        notice(line)
    return prepared


def group(X: pd.DataFrame, threshold: float | None) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """One representative of every group of highly correlated features (appendix C.1), and what each stands for."""
    if threshold is None:
        return X, {}
    grouping = CorrelationGrouping(group_threshold=threshold, redundancy_threshold=max(threshold, 0.98)).fit(X)
    kept = X.loc[:, grouping.get_support()]
    notice(
        f"{X.shape[1]} features in {kept.shape[1]} groups of correlation above {threshold:g}; each group is one unit"
    )
    return kept, grouping.members_
