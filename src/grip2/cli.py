"""The command line: its commands and exit codes. Heavy imports wait until a command runs, so that help appears at once.

Exit codes: 0 done, 1 failure, 2 usage or bad input, 130 interrupted, 143 asked to terminate.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from grip2 import __version__, stopping
from grip2.commands.again import same_again
from grip2.commands.calibrate_cli import calibrate
from grip2.commands.experiment_cli import app as experiment_app
from grip2.commands.names import DEFAULT_KNOCKOFFS, DEFAULT_STATISTIC, command_listing
from grip2.commands.numbers import correlation, processes
from grip2.commands.options import (
    Cluster,
    Drop,
    Event,
    Force,
    Impute,
    Knockoffs,
    MissingValues,
    Out,
    Roles,
    Seed,
    SelectionWords,
    TablePath,
    missing_of,
    roles_of,
    takes_selection,
)
from grip2.commands.usage import usage_sentence
from grip2.commands.wording import in_command_words
from grip2.errors import Grip2Error, comes_from_outside
from grip2.knockoffs.registry import SAMPLERS
from grip2.plain_text import visible
from grip2.statistics.registry import STATISTICS

app = typer.Typer(
    name="grip2",
    help="Find the features on which the response depends given all others, with the false discovery rate controlled.\n\n"
    "Start with [bold]grip2 demo[/bold], then [bold]grip2 select data.csv --target y[/bold].",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.add_typer(experiment_app)

EXIT_FAILURE, EXIT_USAGE, EXIT_STOPPED = 1, 2, 130  # the last is what the parser returns; see `stopping.exit_code`

# The base class of all usage errors: click's, or in newer versions that of typer's own copy of click.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


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


@app.command(
    help="Select features of a generated table whose signal linear methods cannot detect.\n\n"
    "The response depends on absolute values and products of 20 of 100 features. Compares what the lasso and "
    f"{STATISTICS.entry(DEFAULT_STATISTIC).title} find with the truth, and writes the table (data.csv), the selection "
    "(selection.csv, selection.json) and a report (report.html)."
)
def demo(context: typer.Context, out: Out = Path("grip2-demo"), seed: Seed = 1, force: Force = False) -> None:
    from grip2.commands.demo import run

    run(out, seed=seed, force=force, command=_command(context))


@app.command(cls=command_listing(STATISTICS, SAMPLERS))
@takes_selection
def select(
    context: typer.Context,
    words: SelectionWords,
    out: Out = Path("grip2-selection"),
    jobs: Annotated[
        int | None, typer.Option(help="Processes for several draws.", metavar="NUMBER", parser=processes)
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run several draws, or passes over Parquet files, on a Dask cluster."),
    ] = None,
    stream: Annotated[
        str,
        typer.Option(
            metavar="auto|always|never",
            help="Read Parquet files block by block; auto: those that need more than a quarter of the free memory, and folders.",
        ),
    ] = "auto",
    force: Force = False,
) -> None:
    """Select features of a table and write selection.json, selection.csv and report.html.

    Example: [bold]grip2 select patients.csv --target response --fdr 0.1 --out results[/bold]
    """
    from grip2.commands.select import run

    run(
        words.table_options(),
        words.target_options(),
        out,
        words.choices(),
        words.options(jobs, scheduler, stream),
        force=force,
        command=_command(context),
    )


app.command(cls=command_listing(STATISTICS, SAMPLERS))(calibrate)


def _command(context: typer.Context) -> str:
    """The words that make the same again, for the report; empty where none were typed."""
    words = tuple(context.obj or ())
    return same_again(words, Path(context.params["out"]), context.params["seed"]) if words else ""


@app.command()
def columns(
    table: TablePath,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to explain.")] = None,
    event: Event = None,
    cluster: Cluster = None,
    roles: Roles = None,
    drop: Drop = None,
    missing: MissingValues = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.csv", help="Write the table of columns to a CSV file.")
    ] = None,
    force: Force = False,
) -> None:
    """Show what every column of a table is taken for, what will be done to it, and all problems of the table.

    The exit code is 2 if there are problems. Roles can be changed with [bold]--as COLUMN=ROLE[/bold], here and in grip2 select.
    """
    from grip2.commands.columns import run
    from grip2.commands.table import TableOptions, TargetOptions

    run(
        TableOptions(table, roles_of(roles, drop), missing_of(missing, False)),
        TargetOptions(target, event, cluster),
        out=out,
        force=force,
    )


@app.command(cls=command_listing(SAMPLERS))
def diagnose(
    table: TablePath,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column to explain; left out of the knockoffs.")
    ] = None,
    knockoffs: Knockoffs = DEFAULT_KNOCKOFFS,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting of the sampler (knockoffs.s=equi); may be repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for diagnostics.json and diagnostics.svg; none unless given."),
    ] = None,
    event: Event = None,
    roles: Roles = None,
    drop: Drop = None,
    missing: MissingValues = None,
    impute: Impute = False,
    group_threshold: Annotated[
        float | None,
        typer.Option(
            help="Keep one of each group of features correlated above this.", metavar="CORRELATION", parser=correlation
        ),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Test whether the knockoffs of a table are exchangeable with its features, and whether they leave any power.

    Draws one knockoff copy, tests it, and gives a verdict: good, usable or do not trust, and why.
    """
    from grip2.commands.choices import choose_sampler
    from grip2.commands.diagnose import run
    from grip2.commands.table import TableOptions, TargetOptions

    run(
        TableOptions(
            table,
            roles_of(roles, drop),
            missing_of(missing, impute),
            group_threshold=group_threshold,
            representatives=group_threshold is not None,
        ),
        TargetOptions(target, event),
        choose_sampler(knockoffs, settings=settings or ()),
        out=out,
        seed=seed,
        force=force,
    )


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR DIR...", help="Folders that grip2 select has written; at least two.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE.csv|FILE.html", help="Write the comparison of all features to a file."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Show several selections side by side: which features all of them select, and how far each two agree.

    For other statistics, seeds, draws or rates on one table. Example: [bold]grip2 compare run-1 run-2 --out runs.html[/bold]
    """
    from grip2.commands.compare import run

    run(folders, out=out, force=force)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few repeats: about two minutes.")] = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PART,...", help="Parts: start, engine, first, solvers, lasso, select, growth."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="MINUTES", help="Begin no measurement after so many minutes (120; quick: 3).", min=0.0
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", metavar="SECONDS", help="Time limit of one measurement (900; quick: 60).", min=0.1),
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            "--peers",
            metavar="PYTHON",
            help="Interpreter of an environment with torch and knockpy (.venv-bench/bin/python).",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option("--cores", metavar="N", help="Use so many cores, the same for all libraries (all).", min=1),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier measurements instead of going on.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the results go.")] = Path(
        "results/bench"
    ),
) -> None:
    """Measure speed on this machine, as ratios of one run, and growth of time and memory with the size of the table.

    Training against its matrix products and PyTorch, the first stage and the selection against knockpy, the lasso against
    scikit-learn. Writes README.md, bench.json and growth.svg; a stopped run goes on where it was.
    Example: [bold]grip2 bench --quick --only engine,lasso[/bold]
    """
    from grip2.commands.bench import Request, execute

    execute(Request(out, quick, only, budget, limit, peers, cores, fresh))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end with its exit code."""
    if arguments is None:
        stopping.install()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words  # may stand anywhere
    words = [word for word in words if word != "--debug"]
    try:
        code = app(args=words, prog_name="grip2", standalone_mode=False, obj=tuple(words))
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_STOPPED
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # whose message is the help
            error.show()
            raise SystemExit(error.exit_code) from None
        _fail(usage_sentence(error), EXIT_USAGE)
    except BrokenPipeError:  # nobody reads the output any more, as after `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # otherwise the last flush would fail
        raise SystemExit(EXIT_FAILURE) from None
    except MemoryError:
        _fail("out of memory: use fewer rows, features or draws.", EXIT_FAILURE)
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, Grip2Error):
            _fail(in_command_words(str(error)), EXIT_USAGE)
        if comes_from_outside(error):
            _fail(f"{_one_line(error)}.", EXIT_FAILURE)
        _fail(_bug_report(error), EXIT_FAILURE)
    if code == EXIT_STOPPED or stopping.struck():  # the parser may have turned Ctrl-C into this code
        _fail(stopping.message(), stopping.exit_code())
    if code:
        raise SystemExit(code)


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"grip2: {visible(message)}", err=True)
    raise SystemExit(code)


def _bug_report(error: Exception) -> str:
    """One line: that this is a bug, where to report it and what to include."""
    what = f"{type(error).__name__}: {_one_line(error)}".rstrip(": ")
    address = _issues_address()
    return (
        f"{what}. This is a bug in grip2, please report it{f' at {address}' if address else ''}: include the command, "
        "the output of `grip2 --version` and the traceback that --debug prints."
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(": .")


def _issues_address() -> str:
    """The address for bug reports in the metadata of the installed package; empty if there is none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("grip2").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((url.partition(",")[2].strip() for url in urls if url.startswith("Issues,")), "")
