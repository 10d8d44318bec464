"""`grip2 diagnose`: tests whether the knockoffs of a table are exchangeable with its features."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from rich.table import Table

from grip2._output import OutputFolder
from grip2._random import generator_from
from grip2.commands.console import output, warnings_as_notices
from grip2.commands.table import TableOptions, TargetOptions, load, prepared, tell
from grip2.errors import Grip2Error
from grip2.figure_style import to_svg
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.diagnostics import KnockoffDiagnostics, diagnose

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
        loaded = load(table, target)
        tell(loaded)
        with warnings_as_notices():
            ready, _ = prepared(loaded, table)
            rng = generator_from(seed)
            sampler.fit(ready.X, categories=ready.categories)
            X = sampler.complete(ready.X, rng=rng)
            copy = sampler.sample(X, rng=rng)
            found = diagnose(X, copy, feature_names=list(ready.columns), rng=rng)
        if folder is not None:
            folder.write({"diagnostics.json": found.to_json() + "\n", "diagnostics.svg": to_svg(found.figure())})
    output.print(f"Verdict: {found.verdict}", style="bold")
    for reason in found.reasons:
        output.print(f"- {reason}", markup=False)
    output.print(_tests(found))
    if out is not None:
        output.print(f"Figure: {out / 'diagnostics.svg'}", markup=False)
    return found


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
