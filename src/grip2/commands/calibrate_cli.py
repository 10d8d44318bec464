"""The options of `grip2 calibrate`: those of `grip2 select`, and how many responses of which kinds are simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grip2.commands.options import Out, SelectionWords, takes_selection


@takes_selection
def calibrate(
    words: SelectionWords,
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

    kinds = tuple(word.strip() for word in signals.split(",") if word.strip())
    run(
        words.table_options(),
        words.target_options(),
        out,
        words.choices(),
        words.options(jobs, scheduler),
        CalibrationPlan(runs, kinds, n_true, strength),
        force=force,
    )
