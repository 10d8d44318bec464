"""One self-contained HTML page about a selection."""

from __future__ import annotations

from typing import Any

from grip2.figure_style import to_svg
from grip2.pages import render_page
from grip2.report.figures import statistics_figure, surface_figure
from grip2.result import SelectionResult

MAX_ROWS = 200


def selection_page(result: SelectionResult, *, title: str = "Feature selection", notes: tuple[str, ...] = ()) -> str:
    """The report: verdict, figures, table, assumptions, settings."""
    surface = surface_figure(result)
    frame = result.to_frame()
    settings = _flat(result.to_dict()["settings"])
    shown = max(MAX_ROWS, int(result.selected_mask.sum()))
    return render_page(
        "selection.html",
        title=title,
        result=result,
        rows=frame.head(shown).to_dict("records"),
        n_hidden=max(0, len(frame) - shown),
        statistics_svg=to_svg(statistics_figure(result)),
        surface_svg=None if surface is None else to_svg(surface),
        shares=_shares(settings),
        learns_whole=_learns_whole(settings),
        several=_several(settings),
        settings=settings,
        notes=notes,
    )


# What a statistic with several parts says it explains, and how it is told to a reader.
_SHARES = {
    "explained_by_additive": "an additive model (straight lines and curves of single features)",
    "explained_by_lasso": "a lasso on the features (straight lines)",
    "explained_by_curves": "a lasso on bent features (curves of single features)",
    "explained_by_network": "the network on what is left (features that act together)",
}
_WHOLE = "the network on the whole response, led by what was found (also features that act together)"


def _several(settings: list[tuple[str, Any]]) -> bool:
    """Several knockoff copies, or members of an ensemble."""
    return any(
        name.rpartition(".")[2] in ("n_draws", "k") and isinstance(value, int) and value > 1 for name, value in settings
    )


def _shares(settings: list[tuple[str, Any]]) -> list[tuple[str, float]]:
    """Share of the response that each part explains on held-out rows; empty for statistics of one part."""
    found = {name.rpartition(".")[2]: value for name, value in settings}
    words = _SHARES | ({"explained_by_network": _WHOLE} if _learns_whole(settings) else {})
    return [(words[name], float(found[name])) for name in words if name in found]


def _learns_whole(settings: list[tuple[str, Any]]) -> bool:
    """Did the network learn the whole response, and not what other parts left of it?"""
    return any(name.rpartition(".")[2] == "network_learns" and value == "response" for name, value in settings)


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested settings as rows ("training.schedule.block_size", 25)."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows.extend(_flat(value, f"{prefix}{name}."))
        elif name == "members" and value and isinstance(value[0], dict):
            rows.extend(_flat(value[0], f"{prefix}first member."))
        else:
            rows.append((prefix + name, value))
    return rows
