"""The command line. Heavy imports wait until a command runs, so that help appears at once."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from grip2 import __version__
from grip2.commands.experiment_cli import app as experiment_app

app = typer.Typer(
    name="grip2",
    help="Find the features that truly matter in a table, with the false discovery rate controlled.\n\n"
    "Start with [bold]grip2 demo[/bold], then [bold]grip2 select data.csv --target y[/bold].",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.add_typer(experiment_app)

EXIT_FAILURE, EXIT_USAGE, EXIT_STOPPED = 1, 2, 130

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; made if it is not there.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.", min=0)]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are already in the folder.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"grip2 {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
) -> None:
    pass


@app.command()
def demo(out: Out = Path("grip2-demo"), seed: Seed = 1, force: Force = False) -> None:
    """Select features on a table made up for the purpose, where a linear method is blind.

    The response depends on absolute values and products of 20 of 100 features. Prints what the lasso and GRIP2 find
    beside the truth, and writes the table (data.csv), the selection (selection.csv, selection.json) and a report (report.html).
    """
    from grip2.commands.demo import run

    run(out, seed=seed, force=force)


@app.command()
def select(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file; one row per sample.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The column to explain.")],
    out: Out = Path("grip2-selection"),
    fdr: Annotated[
        float,
        typer.Option(help="Target false discovery rate: the share of false features to accept, on average."),
    ] = 0.1,
    statistic: Annotated[
        str, typer.Option(help="How importance is measured, for example grip2 or lcd (lasso).")
    ] = "staged",
    knockoffs: Annotated[str, typer.Option(help="How knockoffs are made: copula, gaussian or fixed.")] = "copula",
    draws: Annotated[
        int, typer.Option(help="Knockoff copies; several give a steadier selection, and take longer.", min=1)
    ] = 1,
    task: Annotated[
        str,
        typer.Option(help="auto, regression or classification. auto: text or two-valued targets are classes."),
    ] = "auto",
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing values with the median or the most frequent value.")
    ] = False,
    group_threshold: Annotated[
        float | None,
        typer.Option(help="Treat features correlated above this as one group, for example 0.9; off unless given."),
    ] = None,
    offset: Annotated[
        int, typer.Option(help="1 controls the rate; 0 selects more under a weaker promise.", min=0, max=1)
    ] = 1,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes for several draws.")] = None,
    force: Force = False,
) -> None:
    """Select features of a table and write selection.json, selection.csv and report.html.

    Example: [bold]grip2 select patients.csv --target response --fdr 0.1 --out results[/bold]
    """
    from grip2.commands.select import run

    run(
        table,
        target,
        out,
        fdr=fdr,
        statistic=statistic,
        knockoffs=knockoffs,
        n_draws=draws,
        task=task,
        drop=drop or [],
        impute=impute,
        group_threshold=group_threshold,
        offset=offset,
        seed=seed,
        n_jobs=jobs,
        force=force,
    )


@app.command()
def diagnose(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather file; one row per sample.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column to explain; left out of the knockoffs.")
    ] = None,
    knockoffs: Annotated[str, typer.Option(help="How knockoffs are made: copula, gaussian or fixed.")] = "copula",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for diagnostics.json and diagnostics.svg; none unless given."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing values with the median or the most frequent value.")
    ] = False,
    group_threshold: Annotated[
        float | None, typer.Option(help="Keep one of each group of features correlated above this.")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Are the knockoffs of this table exchangeable with its features, and can they find anything?

    Draws one knockoff copy, tests it, and gives a verdict: good, usable or do not trust, and why.
    """
    from grip2.commands.diagnose import run

    run(
        table,
        target,
        knockoffs=knockoffs,
        out=out,
        drop=drop or [],
        impute=impute,
        group_threshold=group_threshold,
        seed=seed,
        force=force,
    )


@app.command()
def bench(
    full: Annotated[bool, typer.Option("--full", help="All 5,000 steps of the paper's synthetic run.")] = False,
) -> None:
    """Measure speed on this machine, as ratios: training against its bare matrix products, the lasso against scikit-learn."""
    from grip2.commands.bench import run

    run(full=full)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 0 done, 1 failure, 2 usage or bad input."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        code = app(args=words, prog_name="grip2", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _fail("stopped; nothing was written.", EXIT_STOPPED)
    except MemoryError:
        _fail("out of memory: fewer rows or features, or a smaller batch of draws, are needed.", EXIT_FAILURE)
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # a usage error, which knows how to show itself
            error.show()
            raise SystemExit(error.exit_code) from None
        if debug:
            traceback.print_exc()
        # Input errors of this package are plain ValueErrors; their subclasses elsewhere (LinAlgError) are failures.
        bad_input = type(error) is ValueError or type(error).__module__.startswith("grip2.")
        hint = "" if bad_input or debug else " (--debug shows where)"
        message = str(error).removeprefix("KnockoffSelector: ") or type(error).__name__
        _fail(message + hint, EXIT_USAGE if bad_input else EXIT_FAILURE)
    if code == EXIT_STOPPED:  # the parser has turned Ctrl-C into this
        _fail("stopped; nothing was written.", EXIT_STOPPED)
    if code:
        raise SystemExit(code)


def _fail(message: str, code: int) -> None:
    typer.echo(f"grip2: {message}", err=True)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
