"""Terminal output: notices while a command works, and the selection at the end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grip2.commands.wording import in_command_words
from grip2.feature_effects import EffectDescription, FeatureEffect
from grip2.plain_text import visible, visible_line
from grip2.report.effect_subject import THE_RESPONSE, common_subject
from grip2.report.shares import percent
from grip2.result import SelectionResult
from grip2.units import other_columns

MAX_ROWS_SHOWN = 40


class SafeConsole(Console):
    """A console that shows control characters of texts, such as escape sequences in names of columns, and obeys none."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(visible(each) if isinstance(each, str) else each for each in objects), **options)


# Results go to standard output, progress and notices to standard error.
output = SafeConsole(highlight=False)
errors = SafeConsole(stderr=True, highlight=False)


@contextmanager
def warnings_as_notices() -> Iterator[None]:
    """Show each warning of the library once, as a notice of one line, when it is raised."""
    told: set[str] = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_command_words(str(message))
        if text not in told:
            told.add(text)
            notice(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield


def notice(text: str) -> None:
    """A line about the work on standard error."""
    errors.print("note:", text, style="dim", markup=False, soft_wrap=True)


def show_selection(result: SelectionResult) -> None:
    """Print the selected features, strongest first, and the reason for the selection or for its absence."""
    if result.selected:
        output.print(_selection_table(result))
    output.print(result.reason, markup=False)
    if result.selected:
        output.print("W orders the evidence; it is not the size of an effect.", markup=False)
    if result.effects is not None and result.effects.features:
        output.print(_about_effects(result.effects, result.task), markup=False)
    quality = result.knockoff_quality
    if quality.verdict:
        output.print(f"Verdict on the knockoffs: {quality.verdict}. {' '.join(quality.verdict_reasons)}", markup=False)


def _about_effects(effects: EffectDescription, task: str) -> str:
    of = common_subject(effects, task)
    direction = f"Direction (of {of})" if of and of != THE_RESPONSE else "Direction"
    return f"{direction} and share of the response's variance: a description without an error guarantee."


def _unit(name: str, columns: Sequence[str]) -> str:
    """The name of a unit; of a group with the number of its columns, since the answer is one for all of them."""
    others = other_columns(name, columns)
    return f"{visible_line(name)} ({len(columns)} columns)" if others else visible_line(name)


def _acts(effect: FeatureEffect, of: str | None) -> list[str]:
    of_class = f" (chance of {visible_line(effect.output)})" if of is None else ""
    return [f"{visible_line(effect.in_brief)}{of_class}", percent(effect.share)]


def _selection_table(result: SelectionResult) -> Table:
    frame = result.to_frame()
    frame = frame[frame["selected"]]
    with_e = "e_value" in frame
    table = Table(
        title=f"{len(frame)} of {len(result.W)} features selected at fdr {result.fdr:g}", title_justify="left"
    )
    table.add_column("feature", overflow="fold")
    effects = {} if result.effects is None else {effect.name: effect for effect in result.effects}
    of = None if result.effects is None else common_subject(result.effects, result.task)
    if effects:
        table.add_column("direction", overflow="fold")
        table.add_column("share", justify="right")
    for heading in ("q-value", *(["in draws", "e-value"] if with_e else []), "W"):
        table.add_column(heading, justify="right")
    for row in frame.head(MAX_ROWS_SHOWN).to_dict("records"):
        effect = effects.get(row["name"])
        acts = ["", ""] if effect is None else _acts(effect, of)
        table.add_row(
            Text(_unit(str(row["name"]), result.groups.get(row["name"], ()))),
            *(acts if effects else []),
            f"{row['q_value']:.3g}",
            *([f"{row['frequency']:.0%}", f"{row['e_value']:.3g}"] if with_e else []),
            f"{row['W']:.4g}",
        )
    if len(frame) > MAX_ROWS_SHOWN:
        table.caption = f"and {len(frame) - MAX_ROWS_SHOWN} more in selection.csv"
    return table
