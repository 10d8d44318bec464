"""The paper's synthetic experiment (section 4.1): support and coefficients fixed, X and noise redrawn in every trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from grip2.datasets import make_ar1
from grip2.datasets.synthetic import check_shape
from grip2.experiments.figures import fdr_figure, measures_figure
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.sections import STABILITY_NOTE, Section, ensemble_sections, nearest_level, numbers_section
from grip2.experiments.source import Option, Population, Source

# Correlations that the paper's figure of realised FDR shows.
_SHOWN = (0.0, 0.4, 0.8)


class Synthetic(Source):
    """A sine index of every ``spacing``-th feature, AR(1) covariance; defaults are the paper's."""

    name = "synthetic"
    options: ClassVar[Mapping[str, Option]] = {
        "n": Option(20_000, least=2),
        "p": Option(500, least=2),
        "rho": Option(0.8, above=-1, below=1),
        "snr": Option(0.2, above=0),
        "spacing": Option(5, least=1),
        "coefficients": Option(0, least=0),  # seed of the coefficients
    }
    default_knockoffs = "exact"
    axes = ("rho",)
    known_distribution = True

    def check(self, options: Mapping[str, Any]) -> None:
        check_shape(options["n"], options["p"], options["rho"], options["snr"])

    def population(self, options: Mapping[str, Any], data_home: Path | None) -> Population:
        small = make_ar1(**{**options, "n": 2}, random_state=0)

        def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            made = make_ar1(**options, random_state=rng)
            return made.X, made.y

        names = tuple(f"x{j}" for j in range(options["p"]))
        return Population(draw, names, small.support, covariance=small.covariance)

    def sections(self, table: pd.DataFrame, trials: pd.DataFrame, looks: MethodLooks) -> list[Section]:
        """Figures 1-3 and the one of appendix A.1."""
        single = table[table["ensemble"] == 1]
        hardest = single["rho"].max()
        level = nearest_level(table, 0.1)
        measures = ("power", "stability")
        found = [
            Section(
                "levels",
                f"Power and stability against the target FDR, rho = {hardest:g}",
                f"Every feature that matters has neighbours of correlation {hardest:g} that do not. Bars: one standard "
                f"error over trials. {STABILITY_NOTE}",
                measures_figure(
                    single[single["rho"] == hardest], looks, "target_fdr", measures, x_label="target FDR q"
                ),
            )
        ]
        if single["rho"].nunique() > 1:
            at_level = single[single["target_fdr"] == level]
            found.append(
                Section(
                    "correlation",
                    f"Power and stability against correlation, q = {level:g}",
                    f"rho is the correlation of neighbouring features. {STABILITY_NOTE}",
                    measures_figure(at_level, looks, "rho", measures, x_label="correlation rho"),
                )
            )
        found += ensemble_sections(table[table["rho"] == hardest], looks, level, f"rho = {hardest:g}")
        present = sorted(single["rho"].unique())
        found.append(
            Section(
                "fdr",
                "Realised against target FDR",
                "Dashed: the target. With few trials a point above the line may be chance; see the standard errors.",
                fdr_figure(single, looks, "rho", [rho for rho in present if rho in _SHOWN] or present),
            )
        )
        for rho in sorted(table["rho"].unique(), reverse=True):
            part = table[table["rho"] == rho]
            found.append(numbers_section(part, looks, level, f"numbers-rho-{rho:g}", f"rho = {rho:g}"))
        return found


SOURCE = Synthetic()
