"""Families of signals, from linear to purely nonlinear: places and weights fixed, X and noise redrawn in every trial.

The response is a measurement, or is cut into classes. The report compares the method that the plan lists first with the best of
the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from grip2.datasets import make_family
from grip2.datasets.families import FAMILIES
from grip2.datasets.synthetic import SimulatedTable, check_shape
from grip2.errors import Grip2Error
from grip2.experiments.against_best import MARGIN, POWER_THAT_COUNTS, against_best
from grip2.experiments.figures import power_by_rows_figure
from grip2.experiments.method_looks import MethodLooks, ensemble_name
from grip2.experiments.sections import Section, nearest_level, number
from grip2.experiments.source import Option, Population, Source
from grip2.responses import Measurement, Response, SeveralClasses, TwoClasses


class Family(Source):
    """``n_signals`` of ``p`` normal features with AR(1) covariance act as one of the families."""

    name = "family"
    options: ClassVar[Mapping[str, Option]] = {
        "family": Option("linear", choices=tuple(FAMILIES)),
        "n": Option(2000, least=2),
        "p": Option(200, least=2),
        "rho": Option(0.5, above=-1, below=1),
        "snr": Option(0.5, above=0),
        "n_signals": Option(20, least=1),
        "truth": Option(0, least=0),  # seed of places and weights
        # 0: the response is a measurement. Otherwise it is cut into so many classes of equal frequency.
        "classes": Option(0, choices=(0, 2, 3, 4, 5), added_later=True),
    }
    default_knockoffs = "exact"
    axes = ("family", "classes", "n", "rho", "snr")
    known_distribution = True

    def response(self, options: Mapping[str, Any]) -> type[Response]:
        if not options["classes"]:
            return Measurement
        return TwoClasses if options["classes"] == 2 else SeveralClasses

    def check(self, options: Mapping[str, Any]) -> None:
        check_shape(options["n"], options["p"], options["rho"], options["snr"])
        if options["n"] < options["classes"]:
            raise Grip2Error(f"n must be at least the number of classes, {options['classes']}, got {options['n']}.")
        _table({**options, "n": 2}, 0)

    def population(self, options: Mapping[str, Any], data_home: Path | None) -> Population:
        small = _table({**options, "n": 2}, 0)

        def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            made = _table(options, rng)
            return made.X, cut_into_classes(made.y, options["classes"]) if options["classes"] else made.y

        names = tuple(f"x{j}" for j in range(options["p"]))
        return Population(draw, names, small.support, covariance=small.covariance)

    def sections(self, table: pd.DataFrame, trials: pd.DataFrame, looks: MethodLooks) -> list[Section]:
        """Power of every method in every cell, the first method against the best of the others, realised FDR by family."""
        level = nearest_level(table, 0.1)
        rows, single = (_by_family_and_method(one[one["target_fdr"] == level]) for one in (table, trials))
        cell = ["family", "n", "rho", "snr"]
        return [
            *_power_figure(rows, looks, level),
            _cells(rows, cell, looks, level),
            *_against_best(single, cell, looks, level),
            _realised_fdr(rows, looks, level),
        ]


def cut_into_classes(y: np.ndarray, classes: int) -> np.ndarray:
    """Class numbers 0, 1, ... by the rank of ``y``, equally frequent up to one row."""
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return ranks * classes // len(y)


def _table(options: Mapping[str, Any], random_state: int | np.random.Generator) -> SimulatedTable:
    return make_family(
        **{name: value for name, value in options.items() if name != "classes"}, random_state=random_state
    )


def _by_family_and_method(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with classes in the family's name, "linear, 2 classes", and seed ensembles as methods of their own."""
    in_classes = rows["family"] + ", " + rows["classes"].astype(str) + " classes"
    family = rows["family"].where(rows["classes"] == 0, in_classes)
    methods = [ensemble_name(method, size) for method, size in zip(rows["method"], rows["ensemble"], strict=True)]
    return rows.assign(family=family, method=methods)


def _power_figure(rows: pd.DataFrame, looks: MethodLooks, level: float) -> list[Section]:
    """Power against rows, at noise levels that every number of rows has, for methods that were run in all these cells."""
    if rows["n"].nunique() == 1:
        return []
    everywhere = rows.groupby("snr")["n"].nunique() == rows["n"].nunique()
    rows = rows[rows["snr"].isin(everywhere.index[everywhere])]
    cells = rows.groupby("method")["power"].transform("size")
    return [
        Section(
            "power",
            f"Power against the number of rows, q = {level:g}",
            "Means over correlations, at the noise levels that every number of rows has; methods that were run in all "
            "cells.",
            power_by_rows_figure(rows[cells == cells.max()], looks, "family"),
        )
    ]


def _cells(rows: pd.DataFrame, cell: list[str], looks: MethodLooks, level: float) -> Section:
    methods = list(dict.fromkeys(rows["method"]))
    power = rows.pivot_table(index=cell, columns="method", values="power", sort=False)[methods]
    printed = power.map(number).rename(columns=looks.label)
    best = [
        looks.label(name) if most > 0 else "-"
        for name, most in zip(power.idxmax(axis=1), power.max(axis=1), strict=True)
    ]
    printed.insert(len(methods), "Best", best)
    return Section(
        "cells",
        f"Power of every method in every cell, q = {level:g}",
        "Means over trials. Ties go to the method listed first.",
        table=printed.reset_index(),
    )


def _against_best(trials: pd.DataFrame, cell: list[str], looks: MethodLooks, level: float) -> list[Section]:
    """The plan's first method beside the best other method of every cell in which anything is found."""
    ours, name = looks.names[0], looks.label(looks.names[0])
    found = against_best(trials, ours, cell)
    if found.empty:
        return []
    short = found[found["short"] > 0]
    caption = (
        f"Cells in which {name} was run and some method has a mean power of {POWER_THAT_COUNTS:g} or more: {len(found)} "
        f"of {len(trials.groupby(cell))}. Against the method that is furthest ahead in each cell, over the trials that "
        "both have: the mean difference on the same data and knockoffs, and its standard error. "
        f"{name} is within {MARGIN:g} of the best, up to one standard error, in {len(found) - len(short)} of them, "
        f"better in {int((found['difference'] > 0).sum())}."
    )
    printed = found[[*cell, "trials"]].copy()
    printed[name] = found["power"].map(number)
    printed["Best other"] = found["best"].map(looks.label)
    printed["its power"] = found["best_power"].map(number)
    printed["difference"] = [
        f"{row.difference:+.2f}" + (f" ({row.error:.2f})" if pd.notna(row.error) else "") for row in found.itertuples()
    ]
    printed["short by"] = ["" if value == 0 else f"{value:.2f}" for value in found["short"]]
    return [Section("best", f"{name} against the best of the others, q = {level:g}", caption, table=printed)]


def _realised_fdr(rows: pd.DataFrame, looks: MethodLooks, level: float) -> Section:
    methods = list(dict.fromkeys(rows["method"]))
    fdr = rows.groupby(["family", "method"], sort=False).agg(
        mean=("fdr", "mean"),
        error=("fdr_se", lambda errors: float((errors**2).sum(skipna=False) ** 0.5 / len(errors))),
        cells=("fdr", "size"),
    )
    fdr["text"] = [
        f"{row.mean:.3f}" + (f" ({row.error:.3f})" if row.error == row.error else "") + f", {row.cells} cells"
        for row in fdr.itertuples()
    ]
    by_family = fdr["text"].unstack("method").reindex(columns=methods).fillna("").rename(columns=looks.label)
    return Section(
        "fdr",
        f"Realised FDR by family, q = {level:g}",
        "Means over the cells of a family in which a method was run, with standard errors. "
        + _above_level(fdr, looks, level),
        table=by_family.reset_index(),
    )


def _above_level(fdr: pd.DataFrame, looks: MethodLooks, level: float) -> str:
    """A sentence on the methods that exceed the level by more than two standard errors, in which family."""

    def names(rows: pd.DataFrame) -> str:
        return ", ".join(f"{looks.label(method)} ({family})" for family, method in rows.index)

    above = fdr[fdr["mean"] > level + 2 * fdr["error"]]
    unknown = fdr[fdr["error"].isna() & (fdr["mean"] > level)]
    text = f"More than two standard errors above {level:g}: {names(above)}." if len(above) else ""
    if len(unknown):
        text += f" Above {level:g} with too few trials to tell: {names(unknown)}."
    return text.strip() or f"None exceeds {level:g} by more than two standard errors."


SOURCE = Family()
