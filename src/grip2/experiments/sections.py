"""What a report says, part by part: the figures and tables of section 4 and appendix A, from one summary table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from grip2.experiments.against_best import MARGIN, POWER_THAT_COUNTS, against_best
from grip2.experiments.figures import beside_paper_figure, families_figure, fdr_figure, label, measures_figure
from grip2.experiments.paper import HIV_TARGET, hiv_tables
from grip2.experiments.summary import average_over

EMPTY_NOTE = "Two empty selections agree completely: a method that selects nothing has stability 1."


@dataclass(frozen=True)
class Section:
    """One figure or table with a name for its files, a title and a caption."""

    name: str
    title: str
    caption: str
    figure: Figure | None = None
    table: pd.DataFrame | None = None  # texts, ready to print


def sections_for(source: str, table: pd.DataFrame, trials: pd.DataFrame) -> list[Section]:
    """The parts of the report of a source of data; those whose numbers are not there yet are left out.

    ``table`` holds means over trials, ``trials`` single ones.
    """
    if source == "family":
        return family_sections(table, trials)
    by_source = {
        "synthetic": synthetic_sections,
        "har": har_sections,
        "hiv": hiv_sections,
    }
    return by_source[source](table)


def synthetic_sections(table: pd.DataFrame) -> list[Section]:
    """Figures 1-3 and the one of appendix A.1."""
    table = table if "rho" in table else table.assign(rho=0.8)
    single = table[table["ensemble"] == 1]
    hardest = single["rho"].max()
    level = _nearest(table, 0.1)
    found = [
        Section(
            "levels",
            f"Power and stability against the target FDR, rho = {hardest:g}",
            f"Features flanked by decoys of correlation {hardest:g}. Bars: one standard error over trials. {EMPTY_NOTE}",
            measures_figure(
                single[single["rho"] == hardest], "target_fdr", ("power", "stability"), x_label="target FDR q"
            ),
        )
    ]
    if single["rho"].nunique() > 1:
        at_level = single[single["target_fdr"] == level]
        found.append(
            Section(
                "correlation",
                f"Power and stability against correlation, q = {level:g}",
                f"rho is the correlation of neighbouring features. {EMPTY_NOTE}",
                measures_figure(at_level, "rho", ("power", "stability"), x_label="correlation rho"),
            )
        )
    found += _ensembles(table[table["rho"] == hardest], level, f"rho = {hardest:g}")
    shown = [rho for rho in sorted(single["rho"].unique()) if rho in (0.0, 0.4, 0.8)] or sorted(single["rho"].unique())
    found.append(
        Section(
            "fdr",
            "Realised against target FDR",
            "Dashed: the target. Few trials: a point above the line may be chance; read the standard errors.",
            fdr_figure(single, "rho", shown),
        )
    )
    for rho in sorted(table["rho"].unique(), reverse=True):
        found.append(_numbers(table[table["rho"] == rho], level, f"numbers-rho-{rho:g}", f"rho = {rho:g}"))
    return found


def family_sections(table: pd.DataFrame, trials: pd.DataFrame) -> list[Section]:
    """Power of every method in every cell, beside the best of the cell; realised FDR by family."""
    table, trials = (one if "family" in one else one.assign(family="all") for one in (table, trials))
    level = _nearest(table, 0.1)
    rows = _by_method_and_size(table[table["target_fdr"] == level])
    cell = [name for name in ("family", "n", "rho", "snr") if name in rows]
    methods = list(dict.fromkeys(rows["method"]))
    power = rows.pivot_table(index=cell, columns="method", values="power", sort=False)[methods]
    printed = power.map(_number).rename(columns=label)
    best = [
        label(name) if most > 0 else "-" for name, most in zip(power.idxmax(axis=1), power.max(axis=1), strict=True)
    ]
    printed.insert(len(methods), "Best", best)
    fdr = rows.groupby(["family", "method"], sort=False).agg(
        mean=("fdr", "mean"),
        error=("fdr_se", lambda errors: float((errors**2).sum(skipna=False) ** 0.5 / len(errors))),
        cells=("fdr", "size"),
    )
    fdr["text"] = [
        f"{row.mean:.3f}" + (f" ({row.error:.3f})" if row.error == row.error else "") + f", {row.cells} cells"
        for row in fdr.itertuples()
    ]
    by_family = fdr["text"].unstack("method").reindex(columns=methods).fillna("").rename(columns=label)
    figure = Section(
        "power",
        f"Power against the number of rows, q = {level:g}",
        "Means over correlations, at the noise levels that every number of rows has; methods that were run in all cells.",
        families_figure(rows) if rows["n"].nunique() > 1 else None,
    )
    return [
        *([figure] if figure.figure is not None else []),
        Section(
            "cells",
            f"Power of every method in every cell, q = {level:g}",
            "Means over trials. Of equals the best is the one that stands first.",
            table=printed.reset_index(),
        ),
        *_against_best(_by_method_and_size(trials[trials["target_fdr"] == level]), cell, level),
        Section(
            "fdr",
            f"Realised FDR by family, q = {level:g}",
            "Means over the cells of a family in which a method was run, with their standard errors. "
            + _over_the_level(fdr, level),
            table=by_family.reset_index(),
        ),
    ]


def _by_method_and_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Seed ensembles as methods of their own, "name, K = 5"."""
    sizes = rows["ensemble"]
    return rows.assign(method=rows["method"].where(sizes == 1, rows["method"] + ", K = " + sizes.astype(str)))


def _against_best(trials: pd.DataFrame, cell: list[str], level: float) -> list[Section]:
    """GRIP2 beside the best other method of every cell in which anything is found."""
    cell = [name for name in cell if name in trials]  # what does not vary is not there
    cells = len(trials.groupby(cell))
    found = against_best(trials, "grip2", cell)
    if found.empty:
        return []
    short = found[found["short"] > 0]
    caption = (
        f"Cells in which GRIP2 was run and some method has a mean power of {POWER_THAT_COUNTS:g} or more: {len(found)} of "
        f"{cells}. The other method that is furthest ahead in each, over the trials that both have; the mean difference on "
        "the same data and knockoffs, and its standard error. GRIP2 is "
        f"within {MARGIN:g} of the best, up to one standard error, in {len(found) - len(short)} of them"
        + (f", better in {int((found['difference'] > 0).sum())}." if len(found) else ".")
    )
    printed = found[[*cell, "trials"]].copy()
    printed["GRIP2"] = found["power"].map(_number)
    printed["Best other"] = found["best"].map(label)
    printed["its power"] = found["best_power"].map(_number)
    printed["difference"] = [
        f"{row.difference:+.2f}" + (f" ({row.error:.2f})" if pd.notna(row.error) else "") for row in found.itertuples()
    ]
    printed["short by"] = ["" if value == 0 else f"{value:.2f}" for value in found["short"]]
    return [Section("best", f"GRIP2 against the best of the others, q = {level:g}", caption, table=printed)]


def _over_the_level(fdr: pd.DataFrame, level: float) -> str:
    """Which methods exceed the level by more than two standard errors, in which family."""

    def names(rows: pd.DataFrame) -> str:
        return ", ".join(f"{label(method)} ({family})" for family, method in rows.index)

    over = fdr[fdr["mean"] > level + 2 * fdr["error"]]
    unknown = fdr[fdr["error"].isna() & (fdr["mean"] > level)]
    text = f"More than two of them above {level:g}: {names(over)}." if len(over) else ""
    if len(unknown):
        text += f" Above {level:g} with too few trials to tell: {names(unknown)}."
    return text.strip() or f"None exceeds {level:g} by more than two of them."


def har_sections(table: pd.DataFrame) -> list[Section]:
    """The three figures of section 4.2, for each kind of knockoffs."""
    table = table if "s" in table else table.assign(s="equi")
    level = _nearest(table, 0.2)
    found = []
    for s in dict.fromkeys(table["s"]):
        part = table[table["s"] == s]
        found.append(
            Section(
                f"levels-{s}",
                f"Realised FDR, power and stability against the target FDR, {s} knockoffs",
                f"Dashed: the target. {EMPTY_NOTE}",
                measures_figure(
                    part[part["ensemble"] == 1], "target_fdr", ("fdr", "power", "stability"), x_label="target FDR q"
                ),
            )
        )
        found += _ensembles(part, level, f"{s} knockoffs", suffix=f"-{s}")
        for q in dict.fromkeys((_nearest(table, 0.1), level)):
            found.append(_numbers(part, q, f"numbers-{s}-{q:g}", f"{s} knockoffs"))
    return found


def hiv_sections(table: pd.DataFrame) -> list[Section]:
    """The average table of section 4.3 and the per-drug tables of appendix A.2, the paper's numbers beside ours."""
    table = table if "drug" in table else table.assign(drug="one drug")
    level = _nearest(table, HIV_TARGET)
    ours = table[(table["target_fdr"] == level) & (table["ensemble"] == 1)]
    paper = hiv_tables()
    n_drugs = ours["drug"].nunique()
    average = average_over(ours, "drug")
    partial = [label(method) for method in average.loc[average["n_drug"] < n_drugs, "method"]]
    average = average[average["n_drug"] == n_drugs]
    left_out = f" Left out, because some drugs are missing: {', '.join(partial)}." if partial else ""
    whole = n_drugs == 7 and level == HIV_TARGET
    theirs = paper[paper["drug"] == "average"] if whole else paper[:0]
    found = [
        Section(
            "average-figure",
            f"Averages over {n_drugs} drugs, q = {level:g}",
            f"Filled: ours. Open: the paper's. Dashed: the target. {EMPTY_NOTE}{left_out}",
            beside_paper_figure(average, theirs),
        ),
        Section(
            "average",
            f"Averages over {n_drugs} drugs, q = {level:g}",
            "In brackets the mean of the drugs' standard errors, as in the paper; the average itself is known better."
            + left_out,
            table=_beside_paper(average, theirs),
        ),
    ]
    for drug in dict.fromkeys(ours["drug"]):
        here = ours[ours["drug"] == drug]
        n, p, trials = (int(here[name].max()) for name in ("n", "p", "trials"))
        printed = paper[paper["drug"] == drug] if level == HIV_TARGET else paper[:0]
        found.append(
            Section(
                f"drug-{drug}",
                f"{drug}, q = {level:g}",
                f"{n} isolates, {p} mutations, {trials} trials.",
                table=_beside_paper(here, printed),
            )
        )
    return found


def _ensembles(table: pd.DataFrame, level: float, where: str, *, suffix: str = "") -> list[Section]:
    """Methods that were run with several ensemble sizes."""
    at_level = table[table["target_fdr"] == level]
    sizes = at_level.groupby("method")["ensemble"].transform("nunique")
    several = at_level[sizes > 1]
    if several.empty:
        return []
    return [
        Section(
            f"ensembles{suffix}",
            f"Seed ensembles of K members, {where}, q = {level:g}",
            f"Equal budget: the steps of a single run are split over the members. {EMPTY_NOTE}",
            measures_figure(several, "ensemble", ("power", "stability"), x_label="ensemble size K"),
        )
    ]


def _numbers(table: pd.DataFrame, level: float, name: str, where: str) -> Section:
    rows = table[table["target_fdr"] == level]
    printed = pd.DataFrame(
        {
            "Method": [label(method) for method in rows["method"]],
            "K": rows["ensemble"].to_numpy(),
            "Trials": rows["trials"].to_numpy(),
            "Power (SE)": _with_errors(rows, "power"),
            "Realised FDR (SE)": _with_errors(rows, "fdr"),
            "Stability": [_number(value) for value in rows["stability"]],
            "Selected": [f"{value:.1f}" for value in rows["selected"]],
            "Seconds": [f"{value:.1f}" for value in rows["seconds"]],
        }
    )
    caption = "Means over trials."
    if {"mald", "shap"} <= set(rows["method"]):
        caption += " MALD and SHAP read one network; its seconds count with whichever came first."
    return Section(name, f"Numbers, {where}, q = {level:g}", caption, table=printed)


def _beside_paper(ours: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    theirs = paper.set_index("method").reindex(ours["method"])
    return pd.DataFrame(
        {
            "Method": [label(method) for method in ours["method"]],
            "Power (SE)": _with_errors(ours, "power"),
            "paper: power": _with_errors(theirs, "power"),
            "Realised FDR (SE)": _with_errors(ours, "fdr"),
            "paper: FDR": _with_errors(theirs, "fdr"),
            "Stability": [_number(value) for value in ours["stability"]],
            "paper: stability": [_number(value) for value in theirs["stability"]],
            "Trials": ours["trials"].to_numpy(),
            "Seconds": [f"{value:.2f}" for value in ours["seconds"]],
        }
    )


def _with_errors(rows: pd.DataFrame, name: str) -> list[str]:
    return [
        _number(value) + (f" ({error:.3f})" if pd.notna(error) else "")
        for value, error in zip(rows[name], rows[f"{name}_se"], strict=True)
    ]


def _number(value: float) -> str:
    return f"{value:.3f}" if pd.notna(value) else "-"


def _nearest(table: pd.DataFrame, level: float) -> float:
    """The level of the plan that is closest to the paper's."""
    levels = table["target_fdr"].unique()
    return float(min(levels, key=lambda found: abs(found - level)))
