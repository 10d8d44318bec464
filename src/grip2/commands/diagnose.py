"""`grip2 diagnose`: checks whether the knockoffs of a table keep the false discovery rate and are exchangeable with it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from grip2._output import OutputFolder
from grip2._random import generator_from
from grip2.commands.console import output, warnings_as_notices
from grip2.commands.progress_display import progress_display
from grip2.commands.table import TableOptions, TargetOptions, load, prepared, tell
from grip2.copies import AUTOMATIC, choose_copies
from grip2.errors import Grip2Error
from grip2.figure_style import to_svg
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.diagnostics import KnockoffDiagnostics, diagnose
from grip2.knockoffs.harm import Harm
from grip2.knockoffs.verdict import LOW_POWER_CORRELATION
from grip2.plain_text import visible_line
from grip2.progress import begin, split_progress
from grip2.rows import check_rows

_FDR = 0.1  # as many copies are drawn as `grip2 select` draws at this rate

FILES = ("diagnostics.json", "diagnostics.svg")


def run(
    table: TableOptions,
    target: TargetOptions,
    sampler: KnockoffSampler,
    *,
    out: Path | None,
    seed: int,
    force: bool,
) -> KnockoffDiagnostics:
    if sampler.fixed_x:
        raise Grip2Error(
            "diagnose: fixed-X knockoffs match Gram matrices; they are not meant to be exchangeable row by row, so these "
            "tests do not apply. Diagnose 'copula' or 'gaussian' knockoffs."
        )
    with nullcontext() if out is None else OutputFolder(out, FILES, force=force) as folder:
        with warnings_as_notices(), progress_display("diagnosing") as progress:
            progress.before(f"reading {visible_line(table.path.name)}")
            loaded = load(table, target)
            tell(loaded)
            progress.before("preparing the table")
            ready, _ = prepared(loaded, table)
            check_rows(ready.X, str(table.path))
            units = ready.units.units
            rng = generator_from(seed)
            of_fit, of_draw, of_tests = split_progress(progress, 2, 1, 3)
            begin(progress, "fitting knockoffs")
            groups = None if units.all_single else units
            told: dict[str, Any] = {"progress": of_fit} if sampler.reports_progress else {}
            sampler.fit(ready.X, groups=groups, categories=ready.categories, **told)
            copies = choose_copies(
                AUTOMATIC,
                fdr=_FDR,
                n_rows=len(ready.X),
                n_columns=units.n_columns,
                n_units=len(units),
                draws_copies=sampler.draws_copies,
            ).copies
            begin(progress, "drawing knockoffs")
            X = sampler.complete(ready.X, rng=rng)
            drawn = sampler.sample(X, rng=rng, copies=copies)
            if of_draw is not None:
                of_draw(1, 1)
            found = diagnose(X, drawn, units=units, feature_names=list(ready.columns), rng=rng, progress=of_tests)
        if folder is not None:
            folder.write({"diagnostics.json": found.to_json() + "\n", "diagnostics.svg": to_svg(found.figure())})
    output.print(f"Verdict: {found.verdict}", style="bold")
    for reason in found.reasons:
        output.print(f"- {reason}", markup=False)
    for line in _correlations(found, copies, sampler.own_correlation(copies)):
        output.print(line, markup=False)
    if found.harm is not None:
        output.print(_simulated(found.harm))
    output.print(_tests(found))
    if out is not None:
        output.print(f"Figure: {out / 'diagnostics.svg'}", markup=False)
    return found


def _correlations(found: KnockoffDiagnostics, copies: int, of_sampler: np.ndarray) -> list[str]:
    """How much knockoffs resemble their columns: as measured here, and as ``select`` reports it."""
    drawn = f"{copies} copies drawn together" if copies > 1 else "one copy"
    return [
        f"Correlation of a column with its own knockoff, {drawn} as by select at fdr {_FDR:g}:",
        f"- measured on the columns: {_summary(found.correlation)}",
        f"- where the knockoffs are made, of copulas on normal scores, as select tells it: {_summary(of_sampler)}",
    ]


def _summary(correlation: np.ndarray) -> str:
    return (
        f"{correlation.mean():.2f} on average, {correlation.max():.2f} at most, "
        f"{np.count_nonzero(correlation >= LOW_POWER_CORRELATION)} of {len(correlation)} at {LOW_POWER_CORRELATION} or above"
    )


def _simulated(harm: Harm) -> Table:
    table = Table(
        title=f"{harm.responses} simulated responses, {harm.copies} copies; strong: a hundredth of noise, else as much as signal",
        title_justify="left",
    )
    table.add_column("effects")
    for heading in ("fdr", "false discoveries", "standard error", "power"):
        table.add_column(heading, justify="right")
    for rate in harm.rates:
        row = f"{rate.level:g}", f"{rate.fdr:.3f}", f"{rate.fdr_error:.3f}", f"{rate.power:.2f}"
        table.add_row(rate.family, *row)
    return table


def _tests(found: KnockoffDiagnostics) -> Table:
    table = Table(
        title=f"{found.n} rows, {found.p} features; exact knockoffs fail some test with probability at most "
        f"{found.false_alarm_rate:g}",
        title_justify="left",
    )
    table.add_column("test")
    for heading in ("size of the error", "p-value", "rejects below"):
        table.add_column(heading, justify="right")
    for test in found.tests:
        table.add_row(test.name, f"{test.effect:.3g}", f"{test.p_value:.2g}", f"{test.level:.2g}")
    return table
