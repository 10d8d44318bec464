"""Terminal output: notices while a command works, and the selection at the end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grip2.commands.wording import in_command_words
from grip2.facts import KnockoffQuality
from grip2.feature_effects import EffectDescription, FeatureEffect, percent
from grip2.plain_text import visible, visible_line
from grip2.report.effect_subject import THE_RESPONSE, common_subject
from grip2.result import SelectionResult
from grip2.units import other_columns

MAX_ROWS_SHOWN = 40
DO_NOT_TRUST = "do not trust"  # as `grip2.knockoffs.verdict` has it, whose import takes long
BORDERS = 3  # letters that a column of a table has beside its cells
LONGEST_WORD = 16  # that is not broken where a table is narrow


class SafeConsole(Console):
    """A console that shows control characters in texts, such as escape sequences in names of columns, instead of obeying them."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(visible(each) if isinstance(each, str) else each for each in objects), **options)


# Results go to standard output, progress and notices to standard error.
output = SafeConsole(highlight=False)
errors = SafeConsole(stderr=True, highlight=False)


@contextmanager
def warnings_as_notices() -> Iterator[None]:
    """Show each warning of the library once, as a notice of one line, when it is raised."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_command_words(str(message))
        if text not in shown:
            shown.add(text)
            notice(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def notice(text: str) -> None:
    """Write one line about the work to standard error."""
    errors.print("note:", text, style="dim", markup=False, soft_wrap=True)


def show_selection(result: SelectionResult) -> None:
    """Print the selected features, strongest first, and the reason for the selection or for its absence.

    The verdict on the knockoffs comes last, but first where the selection is not to be trusted.
    """
    quality = result.knockoff_quality
    if quality.verdict == DO_NOT_TRUST:
        _show_verdict(quality)
    if result.selected:
        output.print(_selection_table(result))
    output.print(result.reason, markup=False)
    if result.selected:
        output.print("W orders the evidence; it is not the size of an effect.", markup=False)
    if result.effects is not None and result.effects.features:
        output.print(_about_effects(result.effects, result.task), markup=False)
    if quality.verdict != DO_NOT_TRUST:
        _show_verdict(quality)


def _show_verdict(quality: KnockoffQuality) -> None:
    """The verdict on the knockoffs, or why there is none."""
    reasons = " ".join(quality.verdict_reasons)
    if quality.verdict:
        output.print(f"Verdict on the knockoffs: {quality.verdict}. {reasons}", markup=False)
    elif reasons:
        output.print(f"No verdict on the knockoffs. {reasons}", markup=False)


def _about_effects(effects: EffectDescription, task: str) -> str:
    of = common_subject(effects, task)
    direction = f"Direction (of {of})" if of and of != THE_RESPONSE else "Direction"
    told = f"{direction} and share of the response's variance: a description without an error guarantee."
    return f"{told} {effects.about_shares}".rstrip()


def _unit(name: str, columns: Sequence[str]) -> str:
    """The name of a unit; for a group with the number of its columns, which are selected together."""
    others = other_columns(name, columns)
    return f"{visible_line(name)} ({len(columns)} columns)" if others else visible_line(name)


def _acts(effect: FeatureEffect, of: str | None) -> list[str]:
    of_class = f" (chance of {visible_line(effect.output)})" if of is None else ""
    return [f"{visible_line(effect.in_brief)}{of_class}", percent(effect.share)]


def _room(cells: Sequence[Sequence[str]], place: int) -> tuple[int, int]:
    """The least and the largest width of a column of words, so that those are broken into lines before names are."""
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    least = min(LONGEST_WORD, max(cell_len(word) for row in cells for word in row[place].split() or [""]))
    left = output.width - sum(widths) + widths[place] - BORDERS * len(widths) - 1
    return least, max(least, min(widths[place], left))


def _selection_table(result: SelectionResult) -> Table:
    frame = result.to_frame()
    frame = frame[frame["selected"]]
    with_e = "e_value" in frame
    table = Table(
        title=f"{len(frame)} of {len(result.W)} features selected at fdr {result.fdr:g}", title_justify="left"
    )
    effects = {} if result.effects is None else {effect.name: effect for effect in result.effects}
    of = None if result.effects is None else common_subject(result.effects, result.task)
    headings = ["feature", *(["direction", "share"] if effects else []), "q-value"]
    headings += [*(["in draws", "e-value"] if with_e else []), "W"]
    rows = []
    for row in frame.head(MAX_ROWS_SHOWN).to_dict("records"):
        effect = effects.get(row["name"])
        acts = ["", ""] if effect is None else _acts(effect, of)
        rows.append(
            [
                _unit(str(row["name"]), result.groups.get(row["name"], ())),
                *(acts if effects else []),
                f"{row['q_value']:.3g}",
                *([f"{row['frequency']:.0%}", f"{row['e_value']:.3g}"] if with_e else []),
                f"{row['W']:.4g}",
            ]
        )
    for place, heading in enumerate(headings):
        if heading == "direction":
            least, most = _room([headings, *rows], place)
            table.add_column(heading, overflow="fold", min_width=least, max_width=most)
        else:
            table.add_column(heading, overflow="fold", justify="right" if place else "left", no_wrap=place > 0)
    for cells in rows:
        table.add_row(*map(Text, cells))
    if len(frame) > MAX_ROWS_SHOWN:
        table.caption = f"and {len(frame) - MAX_ROWS_SHOWN} more in selection.csv"
    return table
