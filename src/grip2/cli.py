"""The command line. Heavy imports wait until a command runs, so that help appears at once.

Exit codes: 0 done, 1 failure, 2 usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from grip2 import __version__
from grip2.commands.experiment_cli import app as experiment_app
from grip2.commands.names import DEFAULT_KNOCKOFFS, DEFAULT_STATISTIC, PAPER_NAMES, PAPER_STATISTIC, command_listing
from grip2.commands.numbers import correlation, processes, rate, whole
from grip2.commands.usage import usage_sentence
from grip2.commands.wording import in_command_words
from grip2.errors import Grip2Error
from grip2.knockoffs.registry import SAMPLERS
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

EXIT_FAILURE, EXIT_USAGE, EXIT_STOPPED = 1, 2, 130

# The base class of all usage errors: click's, or in newer versions that of typer's own copy of click.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

TablePath = Annotated[
    Path,
    typer.Argument(help="CSV, Excel, Parquet, Feather or JSON lines file, also with .gz or .zst; one row per sample."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results; created if it does not exist.")]
Seed = Annotated[
    int,
    typer.Option(help="The same seed gives the same result.", metavar="NUMBER", parser=whole("--seed", least=0)),
]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are already in the folder.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COLUMN=ROLE",
        help="What a column is: number, category, ordered, 0/1, date, identifier, drop, or an order (size='small<large'); "
        "may be repeated. `grip2 columns` shows what they are taken for.",
    ),
]
MissingValues = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="draw|indicator|median|refuse",
        help="Missing values: drawn from the knockoff model (draw, the default), filled and told by a 0/1 column, filled with "
        "the median, or refused.",
    ),
]
Impute = Annotated[bool, typer.Option("--impute", help="The same as --missing median.")]
Event = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN[=VALUE]",
        help="The target is a time, and this column says whether the event has happened (1, true, or VALUE) or the time is "
        "censored.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Rows with the same value belong together (one patient): one of them in every draw."
    ),
]
Knockoffs = Annotated[
    str, typer.Option(metavar="NAME", help="How knockoffs are made: a name from the list below, or module:Class.")
]


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
def demo(out: Out = Path("grip2-demo"), seed: Seed = 1, force: Force = False) -> None:
    from grip2.commands.demo import run

    run(out, seed=seed, force=force)


@app.command(cls=command_listing(STATISTICS, SAMPLERS))
def select(
    table: TablePath,
    target: Annotated[list[str], typer.Option("--target", "-t", metavar="COLUMN", help="The column to explain.")],
    out: Out = Path("grip2-selection"),
    fdr: Annotated[
        float,
        typer.Option(
            help="Target false discovery rate: the share of false features to accept, on average.",
            metavar="RATE",
            parser=rate("--fdr"),
        ),
    ] = 0.1,
    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How importance is measured: a name from the list below, or module:Class. "
            f"{DEFAULT_STATISTIC} unless given, {PAPER_STATISTIC} with --paper.",
        ),
    ] = None,
    knockoffs: Knockoffs = DEFAULT_KNOCKOFFS,
    paper: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Start from the settings of one of the paper's experiments: {PAPER_NAMES}."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a setting of the statistic (network.steps=5000) or of the sampler (knockoffs.s=equi); may be repeated.",
        ),
    ] = None,
    copies: Annotated[
        str,
        typer.Option(
            metavar="auto|NUMBER",
            help="Knockoffs of every feature, drawn together: with m of them a selection can be as small as 1 / (m fdr).",
        ),
    ] = "auto",
    draws: Annotated[
        int,
        typer.Option(
            help="Repetitions with fresh knockoffs; several give a steadier selection, but take longer.",
            metavar="NUMBER",
            parser=whole("--draws", least=1),
        ),
    ] = 1,
    task: Annotated[
        str,
        typer.Option(help="auto, regression or classification. auto: text or two-valued targets are classes."),
    ] = "auto",
    event: Event = None,
    cluster: Cluster = None,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Refused: no statistic honours weights of rows.", hidden=True)
    ] = None,
    roles: Roles = None,
    drop: Drop = None,
    missing: MissingValues = None,
    impute: Impute = False,
    group_threshold: Annotated[
        float | None,
        typer.Option(
            help="Select columns correlated above this as one group, for example 0.9; off unless given.",
            metavar="CORRELATION",
            parser=correlation,
        ),
    ] = None,
    group_representatives: Annotated[
        bool,
        typer.Option("--group-representatives", help="Keep one column of each such group only, as in the paper."),
    ] = False,
    groups: Annotated[
        Path | None,
        typer.Option(help="CSV file with the columns column,group: columns of a group are selected together."),
    ] = None,
    offset: Annotated[
        int,
        typer.Option(
            help="1 controls the rate; 0 selects more under a weaker guarantee.",
            metavar="1|0",
            parser=whole("--offset", least=0, most=1),
        ),
    ] = 1,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Processes for several draws.", metavar="NUMBER", parser=processes)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run several draws on a Dask cluster, tcp://host:8786.")
    ] = None,
    force: Force = False,
) -> None:
    """Select features of a table and write selection.json, selection.csv and report.html.

    Example: [bold]grip2 select patients.csv --target response --fdr 0.1 --out results[/bold]
    """
    from grip2.commands.choices import choose
    from grip2.commands.select import SelectionOptions, run
    from grip2.commands.table import TableOptions, TargetOptions

    run(
        TableOptions(
            table, _roles(roles, drop), _missing(missing, impute), groups, group_threshold, group_representatives
        ),
        TargetOptions(_one_target(target), event, cluster, weights),
        out,
        choose(statistic, knockoffs, paper=paper, settings=settings or ()),
        SelectionOptions(fdr, _copies(copies), draws, offset, task, seed, jobs, scheduler),
        force=force,
    )


def _one_target(names: list[str]) -> str:
    if len(set(names)) > 1:
        raise Grip2Error(f"--target: one column at a time, got {' and '.join(names)}. Run the command once for each.")
    return names[0]


def _roles(words: list[str] | None, dropped: list[str] | None) -> dict[str, str]:
    """Roles by column, from words such as zip=category."""
    found = dict.fromkeys(dropped or (), "drop")
    for word in words or ():
        name, equals, role = word.rpartition("=")
        if not equals or not name:
            raise Grip2Error(f"--as: expected COLUMN=ROLE such as zip=category, got {word!r}.")
        found[name] = role
    return found


def _missing(word: str | None, impute: bool) -> str:
    """What happens to missing values; --impute is an older name of one of the ways."""
    if impute and word not in (None, "median"):
        raise Grip2Error(f"--impute is the same as --missing median, got --missing {word} too; give one of them.")
    return "median" if impute else word or "draw"


def _copies(word: str) -> int | str:
    """The number of copies asked for, or "auto"."""
    from grip2.copies import check_copies

    copies = int(word) if word.isdecimal() else word
    check_copies(copies, "--copies")
    return copies


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
        TableOptions(table, _roles(roles, drop), _missing(missing, False)),
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
            _roles(roles, drop),
            _missing(missing, impute),
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
def bench(
    full: Annotated[bool, typer.Option("--full", help="All 5,000 steps of the paper's synthetic run.")] = False,
) -> None:
    """Measure speed on this machine, as ratios: training against its bare matrix products, the lasso against scikit-learn."""
    from grip2.commands.bench import Sizes, run

    run(Sizes(steps=5000) if full else Sizes())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words  # may stand anywhere
    words = [word for word in words if word != "--debug"]
    try:
        code = app(args=words, prog_name="grip2", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_STOPPED
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # whose message is the help
            error.show()
            raise SystemExit(error.exit_code) from None
        _fail(usage_sentence(error), EXIT_USAGE)
    except MemoryError:
        _fail("out of memory: use fewer rows, features or draws.", EXIT_FAILURE)
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, Grip2Error):
            _fail(in_command_words(str(error)), EXIT_USAGE)
        _fail(_bug_report(error), EXIT_FAILURE)
    if code == EXIT_STOPPED:  # also where the parser has turned Ctrl-C into this code
        _fail("stopped; nothing was written.", EXIT_STOPPED)
    if code:
        raise SystemExit(code)


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"grip2: {message}", err=True)
    raise SystemExit(code)


def _bug_report(error: Exception) -> str:
    """One line that says that the fault is ours, where to report it and what to include."""
    what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
    address = _issues_address()
    return (
        f"{what}. This is a bug in grip2, please report it{f' at {address}' if address else ''}: include the command, "
        "the output of `grip2 --version` and the traceback that --debug prints."
    )


def _issues_address() -> str:
    """Where the installed package's metadata says that issues are reported; empty where it does not say."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("grip2").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((url.partition(",")[2].strip() for url in urls if url.startswith("Issues,")), "")
