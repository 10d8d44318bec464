"""Writes the report of an experiment: figures (SVG, PNG), tables (CSV, Markdown) and one self-contained HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from grip2._output import OutputFolder
from grip2.errors import Grip2Error
from grip2.experiments.earlier import with_earlier_tables
from grip2.experiments.method_looks import MethodLooks
from grip2.experiments.parts import fixed_parameters, kind_of_knockoffs, parts_of
from grip2.experiments.plan import EXACT, Plan
from grip2.experiments.run import state
from grip2.experiments.sections import Section
from grip2.experiments.source import Source
from grip2.experiments.sources import SOURCES
from grip2.experiments.store import Store
from grip2.experiments.summary import summary_table, trial_table
from grip2.figure_style import to_png, to_svg
from grip2.knockoffs.registry import SAMPLERS
from grip2.pages import render_page


def write_report(plan: Plan, store: Store, folder: Path, *, earlier: Path | None = None) -> Path:
    """Write everything into ``folder``; returns the path of the page.

    ``earlier`` is the folder of an earlier report, whose tables provide the rows for which the store has no trials.
    """
    table, trials = summary_table(plan, store), trial_table(plan, store)
    facts = _facts(plan, store)
    if earlier is not None:
        combined = with_earlier_tables(plan, table, trials, earlier)
        table, trials = combined.summary, combined.trials
        facts.append(combined.note)
    if table.empty:
        raise Grip2Error(f"{folder}: no trial of {plan.name} has finished yet; nothing to report.")
    counts = sorted(table["trials"].unique())
    facts.insert(1, f"Trials behind each number: {counts[0]}" + (f" to {counts[-1]}." if len(counts) > 1 else "."))
    sources = list(dict.fromkeys(design.source for design in plan.designs))
    if len(sources) > 1:
        raise Grip2Error(f"a report is about one source of data; the plan {plan.name} has {', '.join(sources)}.")
    sections = _sections(plan, SOURCES[sources[0]], table, trials)
    contents = _files(plan, sections, facts)
    contents["tables/summary.csv"] = table.to_csv(index=False)
    contents["tables/trials.csv"] = trials.to_csv(index=False)
    with OutputFolder(folder, list(contents), force=True) as output:
        output.write(contents)
    return folder / "report.html"


def _sections(plan: Plan, source: Source, table: pd.DataFrame, trials: pd.DataFrame) -> list[Section]:
    """The sections of the source, once for every part of the designs (`grip2.experiments.parts`)."""
    looks = MethodLooks(plan.methods)
    return [
        replace(
            section,
            name=section.name + part.suffix,
            title=", ".join(text for text in (section.title, part.label) if text),
        )
        for part in parts_of(plan, table, trials, source.axes)
        for section in source.sections(part.table, part.trials, looks)
    ]


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown."""
    lines = ["| " + " | ".join(plain_markdown(name) for name in table.columns) + " |"]
    lines.append("|" + "|".join(" --- " if k == 0 else " ---: " for k in range(table.shape[1])) + "|")
    lines += ["| " + " | ".join(plain_markdown(value) for value in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def plain_markdown(value: object) -> str:
    """A text in Markdown that is shown as it is, whatever characters it has."""
    return re.sub(r"([\\`*_|<>\[\]~$&#])", r"\\\1", str(value))


def _files(plan: Plan, sections: Sequence[Section], facts: list[str]) -> dict[str, str | bytes]:
    """Contents of the report's files, by name."""
    contents: dict[str, str | bytes] = {}
    drawings = {section.name: to_svg(section.figure) for section in sections if section.figure is not None}
    for section in sections:
        if section.figure is not None:
            contents[f"figures/{section.name}.svg"] = drawings[section.name]
            contents[f"figures/{section.name}.png"] = to_png(section.figure)
        if section.table is not None:
            contents[f"tables/{section.name}.csv"] = section.table.to_csv(index=False)
            contents[f"tables/{section.name}.md"] = markdown(section.table)
    contents["report.md"] = _markdown_report(plan, sections, facts)
    contents["report.html"] = render_page(
        "experiment.html", plan=plan, sections=sections, drawings=drawings, facts=facts
    )
    return contents


def _facts(plan: Plan, store: Store) -> list[str]:
    """Sentences on how the numbers were computed."""
    now = state(plan, store)
    facts = [f"{now.done} of {now.total} planned trials are finished; {now.failed} failed. Seed {plan.seed}."]
    kinds = sorted({kind_of_knockoffs(design) for design in plan.designs})
    facts.append(f"Knockoffs: {', '.join(kinds)}.")
    facts.append(f"The same in all designs: {fixed_parameters(plan)}.")
    samplers = {design.knockoffs for design in plan.designs} - {EXACT}
    if any(SAMPLERS.load(name).fixed_x for name in samplers):
        facts.append(
            "Fixed-X knockoffs: the proof covers statistics that depend on the data through Gram matrices only, such as "
            "LAPA. The paper uses them with networks as well, which no proof covers."
        )
    versions = {
        ", ".join(f"{name} {version}" for name, version in row.versions.items())
        for cell in plan.cells()
        for row in store.rows(cell.configuration, cell.method.name, cell.method.ensemble)[:1]
        if row.versions
    }
    if versions:
        facts.append(f"Computed with {'; and with '.join(sorted(versions))[:600]}.")
    return facts


def _markdown_report(plan: Plan, sections: Sequence[Section], facts: list[str]) -> str:
    parts = [f"# Experiment {plain_markdown(plan.name)}\n\n{plan.about}\n"]
    parts.append("\n".join(f"- {plain_markdown(fact)}" for fact in facts) + "\n")
    for section in sections:
        title = plain_markdown(section.title)
        parts.append(f"## {title}\n\n{plain_markdown(section.caption)}\n")
        if section.figure is not None:
            parts.append(f"![{title}](figures/{section.name}.png)\n")
        if section.table is not None:
            parts.append(markdown(section.table))
    return "\n".join(parts)
