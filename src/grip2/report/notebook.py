"""A selection as a notebook shows it: the answer, a short table, and the verdict on the knockoffs."""

from __future__ import annotations

from dataclasses import dataclass

from grip2.feature_effects import percent
from grip2.pages import framed, render_page
from grip2.plain_text import short_name, visible
from grip2.result import SelectionResult

MOST_ROWS = 15
# Heights in pixels: of the page without its table, of a row of the table, of a line of text, and of the frame at most.
FRAME, ROW, LINE, HIGHEST = 130, 27, 20, 520
LINE_LENGTH = 110  # characters


@dataclass(frozen=True)
class NotebookRow:
    """One selected feature, in words."""

    name: str
    q_value: str
    frequency: str  # empty: one draw
    acts: str  # empty: not described


def result_html(result: SelectionResult) -> str:
    """The result as HTML: a page in a frame of its own."""
    rows, reason = _rows(result), visible(result.reason)
    n_hidden = len(result.selected) - len(rows)
    page = render_page(
        "notebook_result.html",
        answer=_answer(result),
        reason=reason,
        rows=rows,
        several=result.frequency is not None,
        described=any(row.acts for row in rows),
        about_shares="" if result.effects is None else result.effects.about_shares,
        n_hidden=n_hidden,
        verdict=result.knockoff_quality.verdict,
    )
    height = FRAME + ROW * (len(rows) + bool(rows)) + LINE * (1 + len(reason) // LINE_LENGTH)
    return framed(page, height=min(HIGHEST, height), title="Feature selection")


def _answer(result: SelectionResult) -> str:
    count, of = len(result.selected), len(result.feature_names)
    what = f"{count or 'None'} of {of} features {'is' if count == 1 else 'are'} selected"
    return f"{what} at a false discovery rate of {result.fdr:g}."


def _rows(result: SelectionResult) -> list[NotebookRow]:
    place = {name: j for j, name in enumerate(result.feature_names)}
    effects = {} if result.effects is None else {effect.name: effect for effect in result.effects}
    found = []
    for name in result.selected[:MOST_ROWS]:
        j, effect = place[name], effects.get(name)
        found.append(
            NotebookRow(
                short_name(name),
                f"{result.q_values[j]:.3g}",
                "" if result.frequency is None else f"{100 * result.frequency[j]:.0f} %",
                "" if effect is None else f"{short_name(effect.in_brief)}, {percent(effect.share)}",
            )
        )
    return found
