"""`grip2 demo`: a selection on a generated table, compared with the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.table import Table

from grip2._output import OutputFolder
from grip2.commands.console import output, show_selection
from grip2.commands.names import DEFAULT_STATISTIC
from grip2.commands.progress_display import progress_display
from grip2.commands.select import FILES, result_files
from grip2.datasets import make_hidden_interactions
from grip2.knockoffs import GaussianKnockoffs
from grip2.metrics import false_discovery_proportion, power
from grip2.result import SelectionResult
from grip2.selector import KnockoffSelector
from grip2.statistics.base import Statistic
from grip2.statistics.lasso_coefficient import LassoCoefficient
from grip2.statistics.registry import STATISTICS

FDR = 0.1
TITLE = "Demo: a signal that linear methods cannot detect"
OURS = STATISTICS.entry(DEFAULT_STATISTIC).title


def run(out: Path, *, seed: int, force: bool, command: str = "") -> None:
    made = make_hidden_interactions(random_state=seed)
    n, p = made.X.shape
    names = [f"x{j + 1:03d}" for j in range(p)]
    X = pd.DataFrame(made.X, columns=names)
    truth = {names[j] for j in made.support}
    output.print(
        f"A table of {n} rows and {p} features. The response depends on {len(truth)} of them, through absolute values and "
        f"products only.\nTarget false discovery rate: {FDR:g}.",
        markup=False,
    )
    sampler = GaussianKnockoffs(mean=np.zeros(p), covariance=made.covariance)
    with OutputFolder(out, (*FILES, "data.csv"), force=force) as folder:
        results = {
            label: _select(label, statistic, sampler, X, made.y, seed)
            for label, statistic in (("lasso", LassoCoefficient()), (OURS, STATISTICS.create(DEFAULT_STATISTIC)))
        }
        table = _comparison(results, truth)
        notes = (
            f"Generated data: the response depends on {len(truth)} features, through absolute values and products. "
            + " ".join(_sentence(label, result, truth) for label, result in results.items()),
        )
        files = result_files(results[OURS], title=TITLE, notes=notes, command=command)
        try:
            folder.write({**files, "data.csv": X.assign(y=made.y).round(6).to_csv(index=False)})
        finally:
            show_selection(results[OURS])
    output.print(table)
    output.print(
        f"Report: {out / 'report.html'}\nTry it yourself: grip2 select {out / 'data.csv'} --target y --out my-selection",
        markup=False,
    )


def _select(
    label: str, statistic: Statistic, sampler: GaussianKnockoffs, X: pd.DataFrame, y: np.ndarray, seed: int
) -> SelectionResult:
    selector = KnockoffSelector(statistic, sampler, fdr=FDR, random_state=seed)
    with progress_display(label) as progress:
        return selector.fit(X, y, progress=progress).result_


def _scores(result: SelectionResult, truth: set[str]) -> tuple[float, float]:
    return false_discovery_proportion(set(result.selected), truth), power(set(result.selected), truth)


def _sentence(label: str, result: SelectionResult, truth: set[str]) -> str:
    fdp, found = _scores(result, truth)
    return f"{label}: {len(result.selected)} selected, {found:.0%} of the true features found, {fdp:.0%} of the selection false."


def _comparison(results: dict[str, SelectionResult], truth: set[str]) -> Table:
    table = Table(title="Against the truth", title_justify="left")
    table.add_column("statistic")
    for heading in ("selected", "true FDP", "power", "seconds"):
        table.add_column(heading, justify="right")
    for label, result in results.items():
        fdp, found = _scores(result, truth)
        table.add_row(label, str(len(result.selected)), f"{fdp:.2f}", f"{found:.2f}", f"{result.seconds:.1f}")
    return table
