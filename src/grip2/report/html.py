"""One self-contained HTML page about a selection."""

from __future__ import annotations

from importlib import resources
from typing import Any

import jinja2

from grip2.report.figures import statistics_figure, surface_figure, to_svg
from grip2.result import SelectionResult

MAX_ROWS = 200


def selection_page(result: SelectionResult, *, title: str = "Feature selection", notes: tuple[str, ...] = ()) -> str:
    """The report: verdict, figures, table, assumptions, settings."""
    surface = surface_figure(result)
    frame = result.to_frame()
    settings = _flat(result.to_dict()["settings"])
    stages = result.facts.stages
    return (
        _environment()
        .get_template("selection.html")
        .render(
            title=title,
            result=result,
            rows=frame.head(max(MAX_ROWS, int(result.selected_mask.sum()))).to_dict("records"),
            n_hidden=max(0, len(frame) - max(MAX_ROWS, int(result.selected_mask.sum()))),
            statistics_svg=to_svg(statistics_figure(result)),
            surface_svg=None if surface is None else to_svg(surface),
            stages=stages,
            learns_whole=any(stage.name == "network" and stage.target == "response" for stage in stages),
            several=result.settings["n_draws"] > 1 or result.facts.members > 1,
            settings=settings,
            notes=notes,
        )
    )


def _environment() -> jinja2.Environment:
    templates = resources.files("grip2.report") / "templates"
    loader = jinja2.FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested settings as rows ("training.schedule.block_size", 25)."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows.extend(_flat(value, f"{prefix}{name}."))
        else:
            rows.append((prefix + name, value))
    return rows
