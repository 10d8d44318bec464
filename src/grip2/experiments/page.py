"""The report of an experiment: figures (SVG, PNG), tables (CSV, Markdown) and one self-contained HTML page."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import jinja2
import pandas as pd

from grip2.errors import Grip2Error
from grip2.experiments.figures import png, svg
from grip2.experiments.plan import Cell, Plan
from grip2.experiments.run import state
from grip2.experiments.sections import Section, sections_for
from grip2.experiments.store import Store, TrialRow
from grip2.experiments.summary import summary_table, trial_table


def write_report(plan: Plan, store: Store, folder: Path) -> Path:
    """Write everything into ``folder``; returns the path of the page."""
    table = summary_table(plan, store)
    if table.empty:
        raise Grip2Error(f"{folder}: no trial of {plan.name} has finished yet; nothing to report.")
    trials = trial_table(plan, store)
    sources = list(dict.fromkeys(design.source for design in plan.designs))
    if len(sources) > 1:
        raise Grip2Error(f"a report is about one source of data; the plan {plan.name} has {', '.join(sources)}.")
    sections = sections_for(sources[0], table, trials)
    drawings = {section.name: svg(section.figure) for section in sections if section.figure is not None}
    facts = _facts(plan, store, table)
    for section in sections:
        if section.figure is not None:
            _write(folder / "figures" / f"{section.name}.svg", drawings[section.name])
            _write(folder / "figures" / f"{section.name}.png", png(section.figure))
        if section.table is not None:
            _write(folder / "tables" / f"{section.name}.csv", section.table.to_csv(index=False))
            _write(folder / "tables" / f"{section.name}.md", markdown(section.table))
    _write(folder / "tables" / "summary.csv", table.to_csv(index=False))
    _write(folder / "tables" / "trials.csv", trials.to_csv(index=False))
    _write(folder / "report.md", _markdown_report(plan, sections, facts))
    _write(folder / "report.html", _html(plan, sections, drawings, facts))
    return folder / "report.html"


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown."""
    lines = ["| " + " | ".join(str(name) for name in table.columns) + " |"]
    lines.append("|" + "|".join(" --- " if k == 0 else " ---: " for k in range(table.shape[1])) + "|")
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def _facts(plan: Plan, store: Store, table: pd.DataFrame) -> list[str]:
    """What a reader must know of how the numbers came about."""
    now = state(plan, store)
    facts = [f"{now.done} of {now.total} planned trials are in; {now.failed} failed. Seed {plan.seed}."]
    trials = sorted(table["trials"].unique())
    facts.append(f"Trials behind each number: {trials[0]}" + (f" to {trials[-1]}." if len(trials) > 1 else "."))
    kinds = sorted({f"{design.knockoffs} ({design.s})" for design in plan.designs})
    facts.append(f"Knockoffs: {', '.join(kinds)}.")
    if any(design.knockoffs == "fixed" for design in plan.designs):
        facts.append(
            "Fixed-X knockoffs with a network: the paper uses them so, and no proof covers it; only LAPA depends on "
            "the data through Gram matrices."
        )
    versions = {
        ", ".join(f"{name} {version}" for name, version in row.versions.items())
        for cell in plan.cells()
        for row in _some(store, cell)
        if row.versions
    }
    facts.append(f"Computed with {'; and with '.join(sorted(versions))[:600]}.")
    return facts


def _some(store: Store, cell: Cell) -> list[TrialRow]:
    return store.rows(cell.configuration, cell.method.name, cell.method.ensemble)[:1]


def _html(plan: Plan, sections: list[Section], drawings: dict[str, str], facts: list[str]) -> str:
    templates = resources.files("grip2.experiments") / "templates"
    loader = jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.get_template("experiment.html")
    return template.render(plan=plan, sections=sections, drawings=drawings, facts=facts)


def _markdown_report(plan: Plan, sections: list[Section], facts: list[str]) -> str:
    parts = [f"# Experiment {plan.name}\n\n{plan.about}\n", "\n".join(f"- {fact}" for fact in facts) + "\n"]
    for section in sections:
        parts.append(f"## {section.title}\n\n{section.caption}\n")
        if section.figure is not None:
            parts.append(f"![{section.title}](figures/{section.name}.png)\n")
        if section.table is not None:
            parts.append(markdown(section.table))
    return "\n".join(parts)


def _write(path: Path, content: str | bytes) -> None:
    """All of the file or none: a reader never meets half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(partial, path)
