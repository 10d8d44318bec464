"""Checks what a selector can do with a table that is read block by block, and refuses the rest."""

from __future__ import annotations

from typing import Any

from grip2.errors import Grip2Error
from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response
from grip2.statistics.base import Statistic
from grip2.streaming.long_table import LongTable
from grip2.streaming.of_memory import can_stream
from grip2.streaming.read import StreamedTable


def long_table_of_stream(
    table: StreamedTable, response: Response, y: Any, clusters: Any, statistic: Statistic, sampler: KnockoffSampler
) -> LongTable:
    """The table as blocks of rows; raises if the selection that is asked for needs all rows in memory."""
    why = ""
    if y is not None or clusters is not None:
        why = "the target is named when it is opened, and rows cannot be clustered: write fit(table), without y and clusters"
    elif not statistic.streams:
        why = f"{type(statistic).__name__} needs all rows in memory: use Staged() or EffectPosterior() (--statistic effects)"
    elif sampler.fixed_x:
        why = f"{type(sampler).__name__} needs all rows in memory: use CopulaKnockoffs() (--knockoffs copula)"
    elif not table.complete and not sampler.completes:
        why = f"{type(sampler).__name__} cannot draw missing values: use CopulaKnockoffs() (--knockoffs copula)"
    elif not can_stream(response):
        why = f"models of {response.noun} (task {response.task!r}) need all rows in memory: take a sample of the rows"
    if why:
        raise Grip2Error(f"KnockoffSelector: a table that is read block by block: {why}.")
    return LongTable(table.source, table.rows, table.table.X, response, table.complete, table.kind)
