"""One self-contained HTML page about a selection."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from grip2.pages import render_page
from grip2.report.cards import MOST_LEVELS, cards
from grip2.report.evidence_bars import evidence_bars
from grip2.report.fdr_levels import levels, levels_drawing
from grip2.report.lasso_beside import lasso_beside
from grip2.report.near_misses import near_misses
from grip2.report.network_surface import network_surface
from grip2.result import SelectionResult

MAX_ROWS = 2_000  # of the tables of features and of columns; the files have all rows
LONGEST_SETTING = 300  # characters


def selection_page(
    result: SelectionResult,
    *,
    title: str = "Feature selection",
    notes: tuple[str, ...] = (),
    changes: tuple[str, ...] = (),
    command: str = "",
) -> str:
    """The report: the answer, the selected units, near misses, the evidence, the knockoffs, columns, assumptions, settings.

    ``notes`` are shown beside the answer, ``changes`` of the table below its columns. ``command`` makes the same result again;
    without it the page shows the selector as Python code.
    """
    stages, quality = result.facts.stages, result.knockoff_quality
    frame = result.to_frame()
    correlation = dict(zip(result.feature_names, quality.unit_correlations, strict=False))
    return render_page(
        "selection.html",
        title=title,
        result=result,
        n_draws=result.settings["n_draws"],
        in_draws=result.e_values is not None,
        notes=notes,
        cards=cards(result),
        first_levels=MOST_LEVELS,
        near_misses=near_misses(result),
        evidence=evidence_bars(result),
        rows=frame.head(max(MAX_ROWS, 1)).to_dict("records"),
        n_hidden=max(0, len(frame) - MAX_ROWS),
        correlation=correlation,
        levels=levels(result),
        levels_drawing=levels_drawing(result),
        stages=stages,
        learns_whole=any(stage.name == "network" and stage.target == "response" for stage in stages),
        several=result.settings["n_draws"] > 1 or result.facts.members > 1,
        lasso=lasso_beside(result),
        surface=network_surface(result),
        columns=result.columns[:MAX_ROWS],
        roles=", ".join(f"{n} {role}" for role, n in Counter(column.role for column in result.columns).most_common()),
        changes=changes,
        settings=_all_settings(result),
        command=command or _python(result),
        median_correlation=float(np.median(quality.unit_correlations)) if quality.unit_correlations else None,
    )


def _python(result: SelectionResult) -> str:
    """The selector as Python code; empty for results of earlier versions."""
    call = result.settings.get("call", "")
    return f"{call}.fit(X, y)" if call else ""


def _all_settings(result: SelectionResult) -> list[tuple[str, str]]:
    """Everything that was used or chosen, as rows ("training.block_size", 25)."""
    content = result.to_dict()
    chosen = {name: content[name] or {} for name in ("training", "calibration", "details")}
    quality = content["knockoff_quality"]
    chosen["knockoff_quality"] = {name: value for name, value in quality.items() if not isinstance(value, list)}
    given = {name: value for name, value in content["settings"].items() if name != "call"}
    return [(name, _shortened(str(value))) for name, value in _flat({**given, **chosen})]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SETTING else f"{text[:LONGEST_SETTING]}..."


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested values as rows with dotted names."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows.extend(_flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)])
    return rows
