"""The options of `grip2 experiment`; nothing heavy is imported before a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grip2.commands.numbers import whole

app = typer.Typer(
    name="experiment",
    help="Reproduce the paper's experiments, or run your own plan: resumable, on many cores or a Dask cluster.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Folder = Annotated[Path, typer.Argument(help="Folder of the experiment.")]


@app.command()
def run(
    experiment: Annotated[
        str, typer.Argument(help="synthetic, har, hiv, calibration, or a plan file ending in .toml.")
    ],
    trials: Annotated[
        int | None,
        typer.Option(help="Trials instead of the plan's number.", metavar="NUMBER", parser=whole("--trials", least=1)),
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Some of the plan's methods, separated by commas.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Local processes; one for each core unless given.", metavar="NUMBER", parser=whole("--jobs", least=1)
        ),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786, instead of --jobs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the trials; grip2-NAME unless given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small variant that ends in minutes.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed trials again.")] = False,
    data_home: Annotated[
        Path | None, typer.Option(help="Folder of data files; else GRIP2_DATA, else they are downloaded.")
    ] = None,
) -> None:
    """Compute what is missing of an experiment. Stop it at any time, and run it again to go on.

    Example: [bold]grip2 experiment run hiv --quick --out hiv[/bold], then [bold]grip2 experiment report hiv[/bold]
    """
    from grip2.commands import experiment as command

    command.run(
        experiment,
        trials=trials,
        methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
        jobs=jobs,
        scheduler=scheduler,
        out=out,
        quick=quick,
        retry_failed=retry_failed,
        data_home=data_home,
    )


@app.command()
def status(folder: Folder) -> None:
    """What is done, what failed, and how long the rest takes."""
    from grip2.commands import experiment as command

    command.status(folder)


@app.command()
def report(
    folder: Folder,
    earlier: Annotated[
        Path | None,
        typer.Option(help="Folder of an earlier report: its tables fill in for methods without finished trials here."),
    ] = None,
) -> None:
    """Write tables (CSV, Markdown), figures (SVG, PNG) and report.html from the trials done so far."""
    from grip2.commands import experiment as command

    command.report(folder, earlier=earlier)
