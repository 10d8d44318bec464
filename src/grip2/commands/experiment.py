"""`grip2 experiment`: runs a plan, shows its state, writes its tables and figures."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grip2 import stopping
from grip2.commands.console import notice, output
from grip2.commands.trials_bar import trials_bar
from grip2.errors import Grip2Error
from grip2.experiments.loop import Progress
from grip2.experiments.methods import check_methods
from grip2.experiments.plan import Plan, load_plan
from grip2.experiments.plan_file import parse_plan
from grip2.experiments.run import run_plan, state
from grip2.experiments.store import Store
from grip2.experiments.workers import open_workers


def run(
    experiment: str,
    *,
    trials: int | None = None,
    methods: list[str] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: Path | None = None,
    quick: bool = False,
    retry_failed: bool = False,
    data_home: Path | None = None,
    threads: int = 1,
) -> None:
    """Compute what is missing of an experiment; ends with an error if trials failed."""
    plan = load_plan(experiment, quick=quick)
    wanted = plan.restricted(trials=trials, methods=methods)
    check_methods(plan)
    folder = out or _folder_of(plan)
    stopping.say_when_stopped(f"stopped; finished trials are kept in {folder}. Run the same command to go on.")
    with Store(folder) as store, open_workers(jobs, scheduler, threads) as workers:
        store.begin_run(plan.name, plan.text, {"trials": trials, "methods": methods, "workers": workers.capacity})
        try:
            with trials_bar(plan.name) as report:
                end = run_plan(
                    wanted,
                    store,
                    workers,
                    retry_failed=retry_failed,
                    data_home=None if data_home is None else data_home.resolve(),
                    threads=threads,
                    report=report,
                )
        except KeyboardInterrupt:
            kept = state(wanted, store).done
            notice(f"stopped; {kept} finished trials are kept in {folder}. Run the same command to go on.")
            raise SystemExit(stopping.exit_code()) from None
        _tell_failures(store, end)
    output.print(
        f"{end.done} of {end.total} trials of {plan.name} in {folder}\nTables and figures: grip2 experiment report {folder}",
        markup=False,
    )
    if end.failed:
        notice(f"{end.failed} trials failed; look at the errors above, then try --retry-failed.")
        raise SystemExit(1)


def _folder_of(plan: Plan) -> Path:
    """The default folder for the trials of a plan: in the current one, whatever the plan's name."""
    folder = Path(f"grip2-{plan.name}")
    if len(folder.parts) != 1 or "\\" in plan.name:
        raise Grip2Error(f"the plan's name must not hold a path, got {plan.name!r}. Change it, or give --out.")
    return folder


def status(folder: Path) -> None:
    """Print how much of the last run's plan is done, and how long the rest takes."""
    with Store(folder, create=False) as store:
        plan = stored_plan(store)
        end = state(plan, store)
        table, seconds, unknown = _status_table(plan, store)
        output.print(table)
        output.print(f"{end.done} of {end.total} done, {end.failed} failed.", markup=False)
        if end.done + end.failed < end.total:
            workers = store.last_run()[1].get("workers", 1)
            rest = f"About {_duration(seconds / workers)} left with {workers} worker{'s' if workers > 1 else ''}"
            output.print(rest + (f", and {unknown} trials of methods not yet timed." if unknown else "."), markup=False)
        _tell_failures(store, end)


def report(folder: Path, *, earlier: Path | None = None) -> None:
    """Write tables, figures and one page from the trials in the store; ``earlier``: a report that fills in what is missing."""
    from grip2.experiments.report import write_report

    with Store(folder, create=False) as store:
        written = write_report(stored_plan(store, methods=False), store, Path(folder), earlier=earlier)
    output.print(f"Report: {written}", markup=False)


def stored_plan(store: Store, *, methods: bool = True) -> Plan:
    """The plan of the last run, with the number of trials it asked for; ``methods=False``: with all methods of the plan."""
    text, options = store.last_run()
    plan = parse_plan(text, str(store.path.parent))
    return plan.restricted(trials=options["trials"], methods=options["methods"] if methods else None)


def _status_table(plan: Plan, store: Store) -> tuple[Table, float, int]:
    """A line for each method and ensemble size; also the seconds left, and the number of trials without an estimate."""
    table = Table(title=Text(plan.name), title_justify="left")
    for heading in ("method", "K", "done", "failed", "missing", "seconds a trial", "left"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    left_in_all, unknown = 0.0, 0
    for method in plan.methods:
        done = failed = missing = 0
        times: list[float] = []
        for cell in plan.cells():
            if cell.method != method:
                continue
            statuses = store.settled(cell.configuration, method.name, method.ensemble)
            here = [statuses.get(trial) for trial in range(cell.trials)]
            done += here.count("done")
            failed += here.count("failed")
            missing += here.count(None)
            times += store.seconds(cell.configuration, method.name, method.ensemble)
        mean = sum(times) / len(times) if times else None
        left = None if mean is None else mean * missing
        left_in_all += left or 0.0
        unknown += missing if mean is None else 0
        table.add_row(
            Text(method.name),
            str(method.ensemble),
            str(done),
            str(failed),
            str(missing),
            "-" if mean is None else f"{mean:.2f}",
            ("?" if missing else "-") if left is None else _duration(left),
        )
    return table, left_in_all, unknown


def _tell_failures(store: Store, end: Progress) -> None:
    if not end.failed:
        return
    for method, ensemble, trial, parameters, error in store.failures():
        where = ", ".join(f"{name}={value}" for name, value in json.loads(parameters).items())
        last = error.strip().splitlines()[-1] if error.strip() else "no message"
        notice(f"failed: {method}, K={ensemble}, trial {trial} ({where or 'data could not be made'}): {last}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
