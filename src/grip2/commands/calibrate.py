"""`grip2 calibrate`: estimates false discovery rate and power of a selection on the user's table, by simulated responses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.table import Table

from grip2 import stopping
from grip2._output import OutputFolder
from grip2.calibration.page import FILES, calibration_files
from grip2.calibration.plan import CalibrationPlan
from grip2.calibration.run import Calibration
from grip2.calibration.study import ALL, CalibrationStudy
from grip2.commands.choices import Choices
from grip2.commands.console import notice, output, warnings_as_notices
from grip2.commands.progress_display import progress_display
from grip2.commands.select import SelectionOptions, selector_of
from grip2.commands.table import TableOptions, TargetOptions, load, prepared, tell
from grip2.commands.trials_bar import trials_bar
from grip2.experiments.store import FILE
from grip2.experiments.workers import open_workers
from grip2.selector import KnockoffSelector

PAGE = FILES[0]


def run(
    table: TableOptions,
    target: TargetOptions,
    out: Path,
    choices: Choices,
    options: SelectionOptions,
    plan: CalibrationPlan,
    *,
    force: bool,
) -> CalibrationStudy:
    """Compute what the folder lacks of a calibration, and write its files; ends with an error if trials failed."""
    # Workers share out trials; the draws of one trial are made by one worker.
    selector = selector_of(choices, replace(options, jobs=None, scheduler=None))
    goes_on = (out / FILE).is_file()
    stopping.say_when_stopped(f"stopped; finished trials are kept in {out}. Run the same command to go on.")
    with OutputFolder(out, FILES, force=force or goes_on):
        pass  # checks that files can be written; while trials run, only the store is
    with open_workers(options.jobs, options.scheduler) as workers:
        calibration = _prepared(table, target, out, selector, plan, force=force)
        try:
            with trials_bar("calibrating") as report:
                study = calibration.run(workers, report)
        except KeyboardInterrupt:
            notice(f"stopped; finished trials are kept in {out}. Run the same command to go on.")
            raise SystemExit(stopping.exit_code()) from None
    title = f"Can selections of {table.path.name} for {target.target} be believed?"
    with OutputFolder(out, FILES, force=True) as folder:
        folder.write(calibration_files(study, title=title))
    _show(study)
    output.print(f"Page: {out / PAGE}", markup=False)
    if study.failed:
        for line in calibration.failures():
            notice(f"failed: {line}")
        notice(f"{study.failed} of {study.planned} trials failed; run the same command to try them again.")
        raise SystemExit(1)
    return study


def _prepared(
    table: TableOptions,
    target: TargetOptions,
    out: Path,
    selector: KnockoffSelector,
    plan: CalibrationPlan,
    *,
    force: bool,
) -> Calibration:
    """Read the table and select for the user's own response, which decides on strength and number of true units."""
    loaded = load(table, target)
    tell(loaded)
    with warnings_as_notices(), progress_display("selecting for your response") as progress:
        X, _ = prepared(loaded, table)
        calibration = Calibration.prepare(
            X, loaded.y, selector, plan, out, clusters=loaded.clusters, force=force, progress=progress
        )
    _tell(calibration, target)
    return calibration


def _tell(calibration: Calibration, target: TargetOptions) -> None:
    how, response = calibration.simulation, calibration.procedure.response
    notice(f"{target.target} is taken for {response.describe()}")
    notice(f"simulated responses depend on {how.n_true} units ({how.n_true_reason})")
    notice(f"which explain {how.strength:.0%} of the variance ({how.strength_reason})")


def _show(study: CalibrationStudy) -> None:
    table = Table(
        title=f"{study.runs} simulated responses on {study.n_units} units (standard errors in brackets)",
        title_justify="left",
    )
    table.add_column("fdr", justify="right")
    table.add_column("signal")
    for heading in ("responses", "realised FDR", "power", "selected"):
        table.add_column(heading, justify="right")
    for rate in study.rates():
        table.add_row(
            f"{rate.level:g}",
            rate.signal,
            str(rate.runs),
            f"{rate.fdr:.3f} ({rate.fdr_error:.3f})",
            f"{rate.power:.2f} ({rate.power_error:.2f})",
            f"{rate.selected:.1f}",
            style="bold" if rate.signal == ALL else None,
        )
    output.print(table)
    output.print(str(study), markup=False)
