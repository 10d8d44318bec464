"""One self-contained HTML page about a selection."""

from __future__ import annotations

from collections import Counter
from typing import Any

from grip2.figure_style import to_svg
from grip2.pages import render_page
from grip2.report.effect_panels import effect_panels
from grip2.report.figures import statistics_figure, surface_figure
from grip2.result import SelectionResult

MAX_ROWS = 200


def selection_page(
    result: SelectionResult,
    *,
    title: str = "Feature selection",
    notes: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
) -> str:
    """The report: verdict, figures, how selected features act, table, columns, assumptions, settings.

    ``notes`` stand beside the verdict, ``changes`` of the table below its columns.
    """
    surface, frame, stages = surface_figure(result), result.to_frame(), result.facts.stages
    shown = max(MAX_ROWS, int(result.selected_mask.sum()))
    return render_page(
        "selection.html",
        title=title,
        result=result,
        rows=frame.head(shown).to_dict("records"),
        n_hidden=max(0, len(frame) - shown),
        statistics_svg=to_svg(statistics_figure(result)),
        surface_svg=None if surface is None else to_svg(surface),
        effects=result.effects,
        effect_panels=effect_panels(result.effects) if result.effects is not None else [],
        stages=stages,
        learns_whole=any(stage.name == "network" and stage.target == "response" for stage in stages),
        draws=result.settings["n_draws"],
        several=result.settings["n_draws"] > 1 or result.facts.members > 1,
        settings=_all_settings(result),
        notes=notes,
        changes=changes,
        roles=", ".join(f"{n} {role}" for role, n in Counter(column.role for column in result.columns).most_common()),
    )


def _all_settings(result: SelectionResult) -> list[tuple[str, Any]]:
    """Everything that was used or chosen, as rows ("training.block_size", 25)."""
    content = result.to_dict()
    chosen = {name: content[name] or {} for name in ("training", "calibration", "knockoff_quality", "details")}
    return _flat(content["settings"]) + _flat(chosen)


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested values as rows with dotted names."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows.extend(_flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)])
    return rows
