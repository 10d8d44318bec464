"""HAR with an injected signal (section 4.2): covariates and support fixed, injected network and noise redrawn in every trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from grip2.datasets import load_har, make_semireal
from grip2.datasets.har import fetch_har
from grip2.experiments.figures import measures_figure
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.sections import STABILITY_NOTE, Section, ensemble_sections, nearest_level, numbers_section
from grip2.experiments.source import NO_S, Option, Population, Source

N_ROWS = 10_299
_SCREENING = ("redundancy_threshold", "group_threshold", "rows")
_INJECTION = ("share", "snr", "hidden", "support")


class HAR(Source):
    """Smartphone activity; defaults are the paper's where it gives them (appendix C.1)."""

    name = "har"
    options: ClassVar[Mapping[str, Option]] = {
        "rows": Option(N_ROWS, least=2, most=N_ROWS),
        "share": Option(0.2, above=0, most=1),
        "snr": Option(0.2, above=0),
        "hidden": Option(64, least=1),
        "support": Option(0, least=0),  # seed of the support
        "weights": Option("redrawn", choices=("redrawn", "fixed")),  # "fixed": only the noise differs between trials
        "redundancy_threshold": Option(0.98, above=0, most=1),
        "group_threshold": Option(0.90, above=0, most=1),
    }
    default_knockoffs = "copula"
    axes = ("s",)
    shares_X = True

    def fetch(self, options: Mapping[str, Any], data_home: Path | None) -> None:
        fetch_har(data_home)

    def population(self, options: Mapping[str, Any], data_home: Path | None) -> Population:
        injection = {name: options[name] for name in _INJECTION}
        injection["weights"] = None if options["weights"] == "redrawn" else options["support"]
        table = load_har(data_home, **{name: options[name] for name in _SCREENING})

        def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            made = make_semireal(table.X, **injection, random_state=rng)
            return made.X, made.y

        truth = make_semireal(table.X, **injection, random_state=0).support
        return Population(draw, table.feature_names, truth)

    def sections(self, table: pd.DataFrame, trials: pd.DataFrame, looks: MethodLooks) -> list[Section]:
        """The three figures of section 4.2, for each kind of knockoffs."""
        level = nearest_level(table, 0.2)
        found = []
        for s in dict.fromkeys(table["s"]):
            part = table[table["s"] == s]
            where = f"{s if s != NO_S else part['knockoffs'].iloc[0]} knockoffs"
            single = part[part["ensemble"] == 1]
            found.append(
                Section(
                    f"levels-{s}",
                    f"Realised FDR, power and stability against the target FDR, {where}",
                    f"Dashed: the target. {STABILITY_NOTE}",
                    measures_figure(single, looks, "target_fdr", ("fdr", "power", "stability"), x_label="target FDR q"),
                )
            )
            found += ensemble_sections(part, looks, level, where, suffix=f"-{s}")
            for q in dict.fromkeys((nearest_level(table, 0.1), level)):
                found.append(numbers_section(part, looks, q, f"numbers-{s}-{q:g}", where))
        return found


SOURCE = HAR()
