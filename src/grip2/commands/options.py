"""Options that several commands share, and their conversion to what commands need. Imports nothing heavy."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from grip2.commands.names import DEFAULT_KNOCKOFFS, DEFAULT_STATISTIC, PAPER_NAMES, PAPER_STATISTIC
from grip2.commands.numbers import correlation, rate, whole
from grip2.errors import Grip2Error

if TYPE_CHECKING:
    from grip2.commands.choices import Choices
    from grip2.commands.select import SelectionOptions
    from grip2.commands.table import TableOptions, TargetOptions

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
Target = Annotated[list[str], typer.Option("--target", "-t", metavar="COLUMN", help="The column to explain.")]
Fdr = Annotated[
    float,
    typer.Option(
        help="Target false discovery rate: the share of false features to accept, on average.",
        metavar="RATE",
        parser=rate("--fdr"),
    ),
]
StatisticName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How importance is measured: a name from the list below, or module:Class. "
        f"{DEFAULT_STATISTIC} unless given, {PAPER_STATISTIC} with --paper.",
    ),
]
Paper = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"Start from the settings of one of the paper's experiments: {PAPER_NAMES}."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the statistic (network.steps=5000) or of the sampler (knockoffs.s=equi); may be repeated.",
    ),
]
Copies = Annotated[
    str,
    typer.Option(
        metavar="auto|NUMBER",
        help="Knockoffs of every feature, drawn together: with m of them a selection can be as small as 1 / (m fdr).",
    ),
]
Draws = Annotated[
    int,
    typer.Option(
        help="Repetitions with fresh knockoffs; several give a steadier selection, but take longer.",
        metavar="NUMBER",
        parser=whole("--draws", least=1),
    ),
]
Task = Annotated[
    str,
    typer.Option(
        help="auto, regression, classification, counts, ordered or survival (with --event). auto: text or two-valued targets "
        "are classes, whole numbers that are most often 0 are counts; other counts and ordered classes must be asked for."
    ),
]
Weights = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Refused: no statistic honours weights of rows.", hidden=True)
]
GroupThreshold = Annotated[
    float | None,
    typer.Option(
        help="Select columns correlated above this as one group, for example 0.9; off unless given.",
        metavar="CORRELATION",
        parser=correlation,
    ),
]
GroupRepresentatives = Annotated[
    bool,
    typer.Option("--group-representatives", help="Keep one column of each such group only, as in the paper."),
]
GroupsFile = Annotated[
    Path | None,
    typer.Option(help="CSV file with the columns column,group: columns of a group are selected together."),
]
Offset = Annotated[
    int,
    typer.Option(
        help="1 controls the rate; 0 selects more under a weaker guarantee.",
        metavar="1|0",
        parser=whole("--offset", least=0, most=1),
    ),
]


@dataclass(frozen=True)
class SelectionWords:
    """The options that define a selection, as given on the command line; `takes_selection` turns fields into options."""

    table: TablePath
    target: Target
    fdr: Fdr = 0.1
    statistic: StatisticName = None
    knockoffs: Knockoffs = DEFAULT_KNOCKOFFS
    paper: Paper = None
    settings: Settings = None
    copies: Copies = "auto"
    draws: Draws = 1
    task: Task = "auto"
    event: Event = None
    cluster: Cluster = None
    weights: Weights = None
    roles: Roles = None
    drop: Drop = None
    missing: MissingValues = None
    impute: Impute = False
    group_threshold: GroupThreshold = None
    group_representatives: GroupRepresentatives = False
    groups: GroupsFile = None
    offset: Offset = 1
    seed: Seed = 0

    def table_options(self) -> TableOptions:
        from grip2.commands.table import TableOptions

        return TableOptions(
            self.table,
            roles_of(self.roles, self.drop),
            missing_of(self.missing, self.impute),
            self.groups,
            self.group_threshold,
            self.group_representatives,
        )

    def target_options(self) -> TargetOptions:
        from grip2.commands.table import TargetOptions

        return TargetOptions(one_target(self.target), self.event, self.cluster, self.weights)

    def choices(self) -> Choices:
        from grip2.commands.choices import choose

        return choose(self.statistic, self.knockoffs, paper=self.paper, settings=self.settings or ())

    def options(self, jobs: int | None, scheduler: str | None, stream: str = "auto") -> SelectionOptions:
        from grip2.commands.select import SelectionOptions

        return SelectionOptions(
            self.fdr, copies_of(self.copies), self.draws, self.offset, self.task, self.seed, jobs, scheduler, stream
        )


def takes_selection(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a command with a parameter ``words: SelectionWords`` into one with its fields as parameters, which typer needs."""
    hints = get_type_hints(SelectionWords, include_extras=True) | get_type_hints(command, include_extras=True)
    of_words = {each.name: each.default for each in fields(SelectionWords)}
    own = {each.name: each.default for each in inspect.signature(command).parameters.values() if each.name != "words"}
    defaults = of_words | own
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is MISSING else default,
            annotation=hints[name],
        )
        for name, default in defaults.items()
    ]

    @functools.wraps(command)
    def with_words(**given: Any) -> None:
        words = SelectionWords(**{name: value for name, value in given.items() if name in of_words})
        command(words=words, **{name: value for name, value in given.items() if name in own})

    with_words.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_words.__annotations__ = {name: hints[name] for name in defaults}
    del with_words.__wrapped__  # typer would read the signature of the original command
    return with_words


def roles_of(words: list[str] | None, dropped: list[str] | None) -> dict[str, str]:
    """Roles by column, from words such as zip=category."""
    found = dict.fromkeys(dropped or (), "drop")
    for word in words or ():
        name, equals, role = word.rpartition("=")
        if not equals or not name:
            raise Grip2Error(f"--as: expected COLUMN=ROLE such as zip=category, got {word!r}.")
        found[name] = role
    return found


def missing_of(word: str | None, impute: bool) -> str:
    """What happens to missing values; --impute is an older name of --missing median."""
    if impute and word not in (None, "median"):
        raise Grip2Error(f"--impute is the same as --missing median, got --missing {word} too; give one of them.")
    return "median" if impute else word or "draw"


def copies_of(word: str) -> int | str:
    """The number of copies asked for, or "auto"."""
    from grip2.copies import check_copies

    copies = int(word) if word.isdecimal() else word
    check_copies(copies, "--copies")
    return copies


def one_target(names: list[str]) -> str:
    if len(set(names)) > 1:
        raise Grip2Error(f"--target: one column at a time, got {' and '.join(names)}. Run the command once for each.")
    return names[0]
