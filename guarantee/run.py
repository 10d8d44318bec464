"""The run: parts of cells on worker processes, in passes, until everything is done or the time is over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from grip2.orphans import leave_with_parent
from guarantee.cells import Cell, all_cells
from guarantee.evidence import FAILS_AT, Tally
from guarantee.store import Part, append, load, totals
from guarantee.trial import run_trials

# A cell is done with so many signs and so many selections.
SIGNS, SELECTIONS = 30_000, 400
# Shares of the time: a first look at every exact cell, these brought to their targets, a first look at the others, all of them.
# A phase that takes longer, because a fit does, takes the time from the phases after it.
FIRST_LOOK, EXACT_CELLS, OTHERS = 0.15, 0.4, 0.3
PARTS_OF_A_WORKER = 200  # compiled programs of many cells fill the memory of a process


@dataclass(frozen=True)
class Work:
    """One kind of trials of a cell."""

    cell: Cell
    kind: str

    def missing(self, tally: Tally) -> int:
        """Trials that are left, estimated from the signs of those so far; 0: done, or failed for good."""
        if self.kind == "selection":
            return 0 if tally.worst >= np.log(FAILS_AT) else max(0, SELECTIONS - tally.trials)
        if not tally.trials:
            return SIGNS
        each = max(tally.signs / tally.trials, 0.5)
        return max(0, int(np.ceil((SIGNS - tally.signs) / each)))


def all_work(cells: list[Cell]) -> list[Work]:
    return [Work(cell, kind) for cell in cells for kind in (["signs"] if cell.tests_signs else []) + ["selection"]]


def compute(work: Work, first: int, most: int, seconds: float) -> Part:
    """A part, in a worker. An unexpected error is a finding about its cell, not the end of the suite."""
    began = time.perf_counter()
    try:
        tally, error = run_trials(work.cell, work.kind, first, most, seconds), ""
    except Exception as problem:
        tally, error = Tally(), f"{type(problem).__name__}: {problem}".replace("\n", " ")[:300]
    return Part(work.cell.key, work.kind, first, replace(tally, seconds=time.perf_counter() - began), error)


class Progress:
    """What is known so far, in memory and in the file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        parts = load(file)
        self.known = totals(parts)
        self.broken = {(part.cell, part.kind) for part in parts if part.error}

    def tally(self, work: Work) -> Tally:
        return self.known.get((work.cell.key, work.kind), Tally())

    def left(self, work: Work) -> int:
        return 0 if (work.cell.key, work.kind) in self.broken else work.missing(self.tally(work))

    def add(self, part: Part) -> None:
        append(self.file, part)
        key = (part.cell, part.kind)
        self.known[key] = self.known.get(key, Tally()) + part.tally
        if part.error:
            self.broken.add(key)

    @property
    def seconds(self) -> float:
        return sum(tally.seconds for tally in self.known.values())


def passes(work: list[Work], progress: Progress, total: float) -> Iterator[tuple[Work, float]]:
    """What to do next, and for how many seconds at most; ends when nothing is left."""
    exact = [each for each in work if each.cell.exact]
    others = [each for each in work if not each.cell.exact]
    for each in exact:
        if not progress.tally(each).trials:
            yield each, FIRST_LOOK * total / len(exact)
    for each in sorted(exact, key=lambda each: _cost(progress.tally(each))):
        if progress.seconds > (FIRST_LOOK + EXACT_CELLS) * total:
            break
        yield each, EXACT_CELLS * total / len(exact)
    for each in others:
        if not progress.tally(each).trials:
            yield each, OTHERS * total / max(1, len(others))
    share = (1 - FIRST_LOOK - EXACT_CELLS - OTHERS) * total / len(work)
    while any(progress.left(each) for each in work):
        for each in sorted(work, key=lambda each: _cost(progress.tally(each))):
            yield each, share
        share *= 2


def _cost(tally: Tally) -> float:
    return tally.seconds / max(1, tally.trials)


def run(file: Path, *, minutes: float, jobs: int, cells: list[Cell] | None = None, say: bool = True) -> None:
    """Go on until the file holds ``minutes`` of work of ``jobs`` processes, earlier runs included."""
    progress = Progress(file)
    work = all_work(all_cells() if cells is None else cells)
    total = 60 * minutes * jobs
    deadline = time.monotonic() + (total - progress.seconds) / jobs
    plan = passes(work, progress, total)
    running: dict[Future[Part], Work] = {}
    with ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=leave_with_parent,
        initargs=(os.getpid(),),
        max_tasks_per_child=PARTS_OF_A_WORKER,
    ) as pool:
        while True:
            while len(running) < jobs and time.monotonic() < deadline:
                following = next(plan, None)
                if following is None:
                    break
                each, seconds = following
                most = progress.left(each)
                if most and each not in running.values():
                    seconds = min(seconds, max(0.0, deadline - time.monotonic()))
                    first = progress.tally(each).trials
                    running[pool.submit(compute, each, first, most, seconds)] = each
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                running.pop(future)
                part = future.result()
                progress.add(part)
                if say:
                    minutes_left = max(0.0, deadline - time.monotonic()) / 60
                    print(
                        f"{minutes_left:5.1f} min left  {part.kind:9s} {part.tally.trials:6d}  {part.cell} {part.error}",
                        flush=True,
                    )
