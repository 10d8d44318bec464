"""The words of `grip2 calibrate`: those of `grip2 select`, and how many responses of which kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grip2.commands.names import DEFAULT_KNOCKOFFS
from grip2.commands.options import (
    Cluster,
    Copies,
    Draws,
    Drop,
    Event,
    Fdr,
    GroupRepresentatives,
    GroupsFile,
    GroupThreshold,
    Impute,
    Knockoffs,
    MissingValues,
    Offset,
    Out,
    Paper,
    Roles,
    Seed,
    Settings,
    StatisticName,
    TablePath,
    Target,
    Task,
    Weights,
    copies_of,
    missing_of,
    roles_of,
)


def calibrate(
    table: TablePath,
    target: Target,
    out: Out = Path("grip2-calibration"),
    runs: Annotated[int, typer.Option(help="Simulated responses in all, the kinds of signals in turn.", min=2)] = 40,
    signals: Annotated[
        str, typer.Option(help="Kinds of signals, separated by commas: linear, bends, products, mixture.")
    ] = "linear,bends,products,mixture",
    n_true: Annotated[
        int | None,
        typer.Option(
            "--true", help="Units on which a response depends; as many as are selected for yours unless given."
        ),
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(help="Share of a response's variance that they explain; estimated from your data unless given."),
    ] = None,
    fdr: Fdr = 0.1,
    statistic: StatisticName = None,
    knockoffs: Knockoffs = DEFAULT_KNOCKOFFS,
    paper: Paper = None,
    settings: Settings = None,
    copies: Copies = "auto",
    draws: Draws = 1,
    task: Task = "auto",
    event: Event = None,
    cluster: Cluster = None,
    weights: Weights = None,
    roles: Roles = None,
    drop: Drop = None,
    missing: MissingValues = None,
    impute: Impute = False,
    group_threshold: GroupThreshold = None,
    group_representatives: GroupRepresentatives = False,
    groups: GroupsFile = None,
    offset: Offset = 1,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option(help="Local processes; one for each core unless given.", min=1)] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run trials on a Dask cluster, tcp://host:8786.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin again where the folder holds a calibration already.")
    ] = False,
) -> None:
    """Can a selection of this table be believed? Realised false discovery rate and power for responses with a known truth.

    Responses are simulated on your own columns, everything else is as in [bold]grip2 select[/bold] with the same options. Writes
    calibration.html, calibration.json, calibration.svg and trials.csv. Stop it at any time, and run it again to go on.

    Example: [bold]grip2 calibrate patients.csv --target response --fdr 0.1 --out calibration[/bold]
    """
    from grip2.calibration.plan import CalibrationPlan
    from grip2.commands.calibrate import run
    from grip2.commands.choices import choose
    from grip2.commands.select import SelectionOptions
    from grip2.commands.table import TableOptions, TargetOptions

    run(
        TableOptions(
            table, roles_of(roles, drop), missing_of(missing, impute), groups, group_threshold, group_representatives
        ),
        TargetOptions(target, event, cluster, weights),
        out,
        choose(statistic, knockoffs, paper=paper, settings=settings or ()),
        SelectionOptions(fdr, copies_of(copies), draws, offset, task, seed, jobs, scheduler),
        CalibrationPlan(runs, tuple(word.strip() for word in signals.split(",") if word.strip()), n_true, strength),
        force=force,
    )
