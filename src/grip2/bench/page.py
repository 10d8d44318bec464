"""The page of a run in Markdown, and the same in JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grip2.bench.machine import Machine
from grip2.bench.suite import TITLES
from grip2.bench.summary import Row, Series, Spread

FIGURE = "growth.svg"
BUSY = 0.3  # runnable processes of others for each core, beyond which timings suffer

_EXPLAINED = """\
Every measurement is a process of its own, which prepares the data, calls once to warm up (unless the first call is the point) and
then times the call. Contestants take turns (A, B, A, B, ...). Seconds are medians, with the range over repeats in brackets. Times
as long is the median of the ratios, round by round, to the first contestant of the task: what else the machine did at the time
affects both. Peak memory is that of the whole process, libraries and data included. Results are of one data set: they show that
the task was done, not how good a method is."""


@dataclass(frozen=True)
class Circumstances:
    """Where, when and how."""

    date: str
    command: str
    quick: bool
    complete: bool  # False: the time was over before everything was measured
    limit_seconds: float
    machine: Machine
    versions: Mapping[str, str]
    peers: Mapping[str, str]
    load: Spread | None  # runnable processes of the machine when measurements began


def to_json(about: Circumstances, rows: Sequence[Row], series: Sequence[Series]) -> str:
    content = {
        **asdict(about),
        "rows": [asdict(row) for row in rows],
        "series": [
            {**asdict(each), "seconds_slope": each.seconds_slope, "memory_slope": each.memory_slope} for each in series
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def to_markdown(about: Circumstances, rows: Sequence[Row], series: Sequence[Series]) -> str:
    parts = ["# Speed\n", _circumstances(about), _EXPLAINED + "\n"]
    for part, group in itertools.groupby(rows, key=lambda row: row.part):
        parts.append(f"## {TITLES[part]}\n\n{comparison_table(list(group))}\n")
    if series:
        parts.append(f"## {TITLES['growth']}\n\n{growth_table(series)}\n")
        parts.append(f"![seconds and peak memory by size, on log axes]({FIGURE})\n")
    return "\n".join(parts)


def _circumstances(about: Circumstances) -> str:
    machine = about.machine
    cores = f"{machine.cores} core{'s' * (machine.cores != 1)}"
    threads = ", ".join(f"{name}={value}" for name, value in machine.threads.items()) or "left to the libraries"
    listed = {**about.versions, **about.peers}
    lines = [
        f"`{about.command}` on {about.date}: {machine.processor}, {cores}, {machine.gigabytes:.0f} GB, "
        f"{machine.system}; threads: {threads}.",
        f"{', '.join(f'{name} {version}' for name, version in listed.items())}.",
    ]
    if about.quick:
        lines.append(
            "**A quick run**: small sizes and few repeats, to see that everything works; a full run (`make bench`) replaces it."
        )
    if about.load is not None and about.load.median > BUSY * machine.cores:
        lines.append(
            f"**The machine was busy with other work too**: {about.load.median:.1f} runnable processes when a measurement began "
            f"(median; up to {about.load.high:.1f})."
        )
    if not about.complete:
        lines.append("**Not complete**: the time was over; the same command goes on.")
    absent = [name for name in ("torch", "knockpy") if name not in about.peers]
    if absent:
        lines.append(f"Skipped: {' and '.join(absent)}, not installed here (`make bench-env` makes their environment).")
    lines.append(
        "The other public implementation of GRIP2 is not measured: the package index has none that could be installed."
    )
    lines.append(f"A measurement may take {about.limit_seconds:g} s, preparation included.")
    return "\n".join(lines) + "\n"


def comparison_table(rows: Sequence[Row]) -> str:
    lines = [
        "| task | contestant | seconds | times as long | peak GB | result |",
        "|---|---|---|---|---|---|",
    ]
    before = ""
    for row in rows:
        task = row.subject if row.subject != before else ""
        before = row.subject
        cells = [task, row.contestant, _seconds(row.seconds) or row.note, _ratio(row), _plain(row.peak_gigabytes)]
        lines.append(f"| {' | '.join([*cells, _facts(row.facts)])} |")
    return "\n".join(lines)


def growth_table(series: Sequence[Series]) -> str:
    lines = [
        "Slopes are those of lines on log axes through the three largest sizes; 1 means twice the time for twice the size.\n",
        "| task | slope of time | slope of memory | size | seconds | peak GB | before the call |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in series:
        head = [each.subject, _plain(each.seconds_slope), _plain(each.memory_slope)]
        for point in each.points:
            seconds = _seconds(point.seconds) or point.note
            memory = [_plain(point.peak_gigabytes), _plain(point.before_gigabytes)]
            lines.append(f"| {' | '.join([*head, f'{point.size:,.0f}', seconds, *memory])} |")
            head = ["", "", ""]
    return "\n".join(lines)


def _seconds(spread: Spread | None) -> str:
    if spread is None:
        return ""
    alone = f"{spread.median:.3g}"
    return alone if spread.repeats == 1 else f"{alone} ({spread.low:.3g} to {spread.high:.3g})"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "1" if row.seconds else ""
    alone, low, high = (_times(value) for value in (row.ratio.median, row.ratio.low, row.ratio.high))
    return alone if row.ratio.repeats == 1 else f"{alone} ({low} to {high})"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _facts(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:.5g}" for name, value in facts.items())
