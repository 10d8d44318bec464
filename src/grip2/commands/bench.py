"""`grip2 bench`: speed as ratios measured in one run, with a page, a figure and JSON."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.markdown import Markdown

from grip2 import stopping
from grip2._output import OutputFolder
from grip2.bench.case import Case
from grip2.bench.figure import growth_figure
from grip2.bench.launch import Limits
from grip2.bench.machine import peer_versions, this_machine, versions
from grip2.bench.page import FIGURE, Circumstances, to_json, to_markdown
from grip2.bench.run import Peers, run
from grip2.bench.store import FILE, Store
from grip2.bench.suite import FULL, QUICK, Extent, cases, parts_named
from grip2.bench.summary import Spread, rows, series
from grip2.commands.console import notice, output
from grip2.errors import Grip2Error

PEERS_FOLDER = Path(".venv-bench")
MEMORY_SHARE = 0.8  # of the machine's memory, that one measurement may use
NAMES = ("README.md", "bench.json", FIGURE)


@dataclass(frozen=True)
class Request:
    """The options of the command."""

    out: Path
    quick: bool
    only: str | None
    minutes: float | None
    limit: float | None
    peers: Path | None
    cores: int | None
    fresh: bool


def execute(request: Request) -> None:
    extent = QUICK if request.quick else FULL
    asked = parts_named(request.only)
    minutes = request.minutes if request.minutes is not None else extent.pick(3.0, 120.0)
    seconds = request.limit if request.limit is not None else extent.pick(60.0, 900.0)
    if request.cores is not None:
        use_cores(request.cores)
    machine = this_machine()
    python = peers_python(request.peers)
    peers = Peers(python, peer_versions(python))
    if request.peers is not None and not peers.versions:
        raise Grip2Error(
            f"grip2 bench: --peers must be an interpreter with torch or knockpy, got {request.peers}. `make bench-env` makes one."
        )
    with OutputFolder(request.out, NAMES, force=True) as folder:
        store = Store(request.out, machine, fresh=request.fresh)
        stopping.say_when_stopped(
            f"stopped; the measurements so far are in {request.out / FILE}, and the same command goes on."
        )
        for name in sorted({"torch", "knockpy"} - set(peers.versions)):
            notice(
                f"{name} is not installed in an environment for peers, so it is skipped; `make bench-env` makes one."
            )
        limits = Limits(seconds, MEMORY_SHARE * machine.gigabytes)
        complete = run(cases(asked, extent), extent, store, peers, limits, minutes=minutes, say=notice)
        about = Circumstances(
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            command=" ".join(["grip2", *sys.argv[1:]]) if sys.argv[1:2] == ["bench"] else "grip2 bench",
            quick=request.quick,
            complete=complete,
            limit_seconds=seconds,
            machine=machine,
            versions=versions(),
            peers=peers.versions,
            load=Spread.of([each.load for each in store.measured.values() if each.load is not None]),
        )
        shown = shown_cases(extent, asked, store)
        comparisons, growing = rows(shown, store, peers), series(shown, store, peers)
        page = to_markdown(about, comparisons, growing)
        drawn = {FIGURE: growth_figure(growing)} if growing else {}
        folder.write({"README.md": page, "bench.json": to_json(about, comparisons, growing), **drawn})
        if not drawn:
            (request.out / FIGURE).unlink(missing_ok=True)  # of measurements that --fresh has removed
    output.print(Markdown(page))


def shown_cases(extent: Extent, asked: list[str], store: Store) -> list[Case]:
    """The cases of the parts that are asked for now, and of those measured before."""
    every = cases(parts_named(None), extent)
    before = {case.part for case in every if store.of(case.key)}
    return [case for case in every if case.part in before or case.part in asked]


def use_cores(cores: int) -> None:
    """Keep this process, and all that it starts, on some of the cores, so that every library uses as many threads."""
    if not hasattr(os, "sched_setaffinity"):
        raise Grip2Error(f"grip2 bench: --cores needs Linux, got {cores} on another system. Leave it out.")
    usable = sorted(os.sched_getaffinity(0))
    if cores > len(usable):
        raise Grip2Error(f"grip2 bench: --cores must be at most {len(usable)}, the cores of this machine, got {cores}.")
    os.sched_setaffinity(0, usable[-cores:])


def peers_python(given: Path | None) -> str | None:
    """The given interpreter, or that of the environment that `make bench-env` makes; None if there is none."""
    if given is not None:
        return str(given)
    usual = PEERS_FOLDER / "bin" / "python"
    return str(usual) if usual.exists() else None
