"""HIV-1 drug resistance (section 4.3): X and y fixed, knockoffs redrawn in every trial, judged by position.

The only experiment for which the paper prints numbers (section 4.3, appendix A.2); the report shows them beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from grip2.datasets import load_hiv
from grip2.datasets.hiv import DRUGS, fetch_hiv
from grip2.errors import Grip2Error, did_you_mean
from grip2.experiments.figures import beside_published_figure
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.sections import STABILITY_NOTE, Section, nearest_level, numbers, with_errors
from grip2.experiments.source import Option, Population, Source
from grip2.experiments.summary import average_over

PAPER_TARGET = 0.05
# The paper's names of methods -> ours.
_PAPER_METHODS = {"GRIP2": "grip2", "LAPA": "lapa", "SHAP": "shap", "MALD": "mald", "DeepPINK": "deeppink"}


class HIV(Source):
    """Mutations against the resistance to one drug; 50 trials differ in knockoffs and training only."""

    name = "hiv"
    options: ClassVar[Mapping[str, Option]] = {
        "drug": Option("APV"),
        "drug_class": Option("PI", choices=tuple(DRUGS)),
        "rules": Option("paper", choices=("paper", "vignette")),
    }
    default_knockoffs = "fixed"
    axes = ("drug",)
    has_groups = True  # mutations at one position
    shares_X = True
    shares_y = True

    def check(self, options: Mapping[str, Any]) -> None:
        drugs = DRUGS[options["drug_class"]]
        if options["drug"] not in drugs:
            raise Grip2Error(
                f"drug of {options['drug_class']} must be one of {', '.join(drugs)}, got {options['drug']!r}."
                f"{did_you_mean(options['drug'], drugs)}"
            )

    def fetch(self, options: Mapping[str, Any], data_home: Path | None) -> None:
        fetch_hiv(options["drug_class"], data_home)

    def population(self, options: Mapping[str, Any], data_home: Path | None) -> Population:
        table = load_hiv(**options, data_home=data_home)

        def draw(_: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            return table.X, table.y

        return Population(draw, table.feature_names, table.true_positions, units=table.positions)

    def sections(self, table: pd.DataFrame, trials: pd.DataFrame, looks: MethodLooks) -> list[Section]:
        """The average table of section 4.3 and the per-drug tables of appendix A.2, the paper's numbers beside ours."""
        level = nearest_level(table, PAPER_TARGET)
        ours = table[(table["target_fdr"] == level) & (table["ensemble"] == 1)]
        like_paper = level == PAPER_TARGET and set(table["drug_class"]) == {"PI"} and set(table["rules"]) == {"paper"}
        paper = paper_tables() if like_paper else paper_tables()[:0]
        found = _averages(ours, paper, looks, level)
        for drug in dict.fromkeys(ours["drug"]):
            here = ours[ours["drug"] == drug]
            n, p, n_trials = (int(here[name].max()) for name in ("n", "p", "trials"))
            found.append(
                Section(
                    f"drug-{drug}",
                    f"{drug}, q = {level:g}",
                    f"{n} isolates, {p} mutations, {n_trials} trials.",
                    table=_beside_paper(here, paper[paper["drug"] == drug], looks),
                )
            )
        return found


def paper_tables() -> pd.DataFrame:
    """Columns drug ("average" is the mean over drugs), method, power, power_se, fdr, fdr_se, stability; 50 trials, q = 0.05."""
    with (resources.files(__package__) / "hiv_paper.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    table["method"] = table["method"].map(_PAPER_METHODS)
    return table


def _averages(ours: pd.DataFrame, paper: pd.DataFrame, looks: MethodLooks, level: float) -> list[Section]:
    n_drugs = ours["drug"].nunique()
    average = average_over(ours, "drug")
    partial = [looks.label(method) for method in average.loc[average["n_drug"] < n_drugs, "method"]]
    average = average[average["n_drug"] == n_drugs]
    left_out = f" Left out, because some drugs are missing: {', '.join(partial)}." if partial else ""
    of_paper = paper[paper["drug"] == "average"] if n_drugs == len(DRUGS["PI"]) else paper[:0]
    title = f"Averages over {n_drugs} drug{'s' if n_drugs > 1 else ''}, q = {level:g}"
    return [
        Section(
            "average-figure",
            title,
            f"Filled: ours. Open: the paper's. Dashed: the target. {STABILITY_NOTE}{left_out}",
            beside_published_figure(average, of_paper, looks, level),
        ),
        Section(
            "average",
            title,
            "In brackets the mean of the drugs' standard errors, as in the paper; the standard error of the average is "
            f"smaller.{left_out}",
            table=_beside_paper(average, of_paper, looks),
        ),
    ]


def _beside_paper(ours: pd.DataFrame, paper: pd.DataFrame, looks: MethodLooks) -> pd.DataFrame:
    theirs = paper.set_index("method").reindex(ours["method"])
    return pd.DataFrame(
        {
            "Method": [looks.label(method) for method in ours["method"]],
            "Power (SE)": with_errors(ours, "power"),
            "paper: power": with_errors(theirs, "power"),
            "Realised FDR (SE)": with_errors(ours, "fdr"),
            "paper: FDR": with_errors(theirs, "fdr"),
            "Stability": numbers(ours["stability"]),
            "paper: stability": numbers(theirs["stability"]),
            "Trials": ours["trials"].to_numpy(),
            "Seconds": [f"{value:.2f}" for value in ours["seconds"]],
        }
    )


SOURCE = HIV()
