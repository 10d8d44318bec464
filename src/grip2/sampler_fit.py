"""Fits the sampler of a selector, and decides how many copies it will draw."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from grip2._random import generator_from, stream
from grip2.copies import AUTOMATIC, CopiesChoice, ImpossibleRequestWarning, choose_copies, why_impossible
from grip2.draws import OneRowEach
from grip2.errors import Grip2Error
from grip2.knockoffs import KnockoffSampler
from grip2.progress import Progress, split_progress
from grip2.streaming.fit import refine
from grip2.streaming.long_table import LongTable
from grip2.tables import PreparedTable
from grip2.user_warnings import warn_user


class AskedFor(NamedTuple):
    """The parameters of the selector that decide how many copies are drawn."""

    copies: int | str
    fdr: float
    offset: int
    n_draws: int
    who: str  # the name that begins warnings

    def check(self, sampler: KnockoffSampler, table: PreparedTable) -> None:
        """Raise if the sampler cannot draw that many copies, or not of these units."""
        units = table.units.units
        groups = None if units.all_single else units
        if groups is not None or self.copies not in (1, AUTOMATIC):
            sampler.check_can_draw(copies=1 if self.copies == AUTOMATIC else int(self.copies), groups=groups)

    def warn_of_the_impossible(self, copies: int, n_units: int, sampler: KnockoffSampler) -> None:
        if self.offset != 1:
            return
        why = why_impossible(self.fdr, copies, n_units, draws_copies=sampler.draws_copies)
        if why:
            warn_user(f"{self.who}: {why}", ImpossibleRequestWarning)


def fit_sampler(
    sampler: KnockoffSampler,
    X: np.ndarray,
    table: PreparedTable,
    long: LongTable | None,
    asked: AskedFor,
    *,
    n_rows: int,
    one_row_each: OneRowEach | None = None,
    progress: Progress | None,
    executor: Executor | None,
) -> CopiesChoice:
    """Fit the sampler to the units of the table, of which a ``long`` one has ``n_rows``; how many copies it will draw.

    Knockoffs are judged on ``one_row_each`` of the clusters, chosen at random: always the same for one table.
    """
    asked.check(sampler, table)
    choose = partial(
        choose_copies,
        asked.copies,
        fdr=asked.fdr,
        n_rows=n_rows,
        n_columns=X.shape[1],
        n_units=len(table.units.units),
        draws_copies=sampler.draws_copies,
        n_draws=asked.n_draws,
    )
    units = table.units.units
    asked.warn_of_the_impossible(choose().copies, len(units), sampler)
    of_fit, of_pass = split_progress(progress, 1, 1) if long is not None else (progress, None)
    sampler.fit(
        X,
        **_given(
            groups=None if units.all_single else units,
            categories=table.categories or None,
            one_of_each=_rows_to_judge(one_row_each) if sampler.judges else None,
            progress=of_fit if sampler.reports_progress else None,
        ),
    )
    if long is not None:
        refine(sampler, long, executor=executor, progress=of_pass)
    return choose(possible=partial(_can_draw, sampler))


def _rows_to_judge(one_row_each: OneRowEach | None) -> np.ndarray | None:
    if one_row_each is None:
        return None
    return one_row_each.choose(stream(generator_from(0), "rows of clusters to judge knockoffs on"))


def _given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None, so that samplers of users need not take groups, categories and progress."""
    return {name: value for name, value in arguments.items() if value is not None}


def _can_draw(sampler: KnockoffSampler, copies: int) -> bool:
    """Does a fitted sampler have an S for this number of copies?"""
    try:
        sampler.s_for(copies)
    except Grip2Error:
        return False
    return True
