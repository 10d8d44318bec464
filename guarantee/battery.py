"""The fast profile: a few cells with cheap statistics that between them see every planted defect, and nothing without one."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from guarantee.cells import EXACT, LEARNT, Cell
from guarantee.defects import DEFECTS
from guarantee.designs import BASE
from guarantee.evidence import FAILS_AT, Tally
from guarantee.trial import run_trials

PART = 25  # trials after which the evidence is looked at


@dataclass(frozen=True)
class Check:
    """So many trials of one kind of a cell."""

    kind: str  # "signs" or "selection"
    cell: Cell
    trials: int

    @property
    def name(self) -> str:
        what = "signs" if self.kind == "signs" else "false discoveries"
        return f"{what}: {self.cell.key.replace(' | ', ', ')}"


def _cell(statistic: str, design: str, copies: int = 1, signal: str = "linear", **more: object) -> Cell:
    sampler = str(more.pop("sampler", EXACT))
    return Cell("battery", statistic, sampler, copies, "regression", design, signal, **more)  # type: ignore[arg-type]


# In the order of their cost. A check takes half a second of one core, the last two some seconds.
CHECKS = (
    Check("signs", _cell("correlation", BASE), 400),
    Check("signs", _cell("raw product", BASE), 250),
    Check("signs", _cell("correlation", "blocks 0.8", 3), 400),
    Check("signs", _cell("coarse correlation", "blocks 0.8", 3), 250),
    Check("signs", _cell("correlation", "equal 0.5", 3), 250),
    Check("signs", _cell("correlation", "groups", 3), 150),
    Check("selection", _cell("correlation", "independent", signal="none"), 250),
    Check("selection", _cell("coarse correlation", "independent", 3), 150),
    Check("selection", _cell("lcd", "repeated rows", whole=True), 50),
    Check("signs", _cell("correlation", "10 % missing"), 250),
    Check("selection", _cell("correlation", "independent", signal="none", draws=5, whole=True), 100),
    Check("signs", _cell("raw product", "0/1", sampler=LEARNT), 150),
    Check("signs", _cell("correlation", "categories", sampler=LEARNT), 150),
)
# Sign tests take the shuffle of members away themselves, so that they say nothing of whether it is there.
HIDDEN_FROM_SIGNS = ("shuffle missing",)
# All checks together give a false alarm with a probability of at most 1e-4.
LIMIT = float(np.log(FAILS_AT * len(CHECKS)))


@dataclass(frozen=True)
class Caught:
    """What the battery says of one defect, or of none."""

    defect: str
    by: str  # the check; empty: not caught
    trials: int  # of that check
    log_e: float  # the largest of any check
    seconds: float


def evidence(check: Check, tally: Tally) -> float:
    return tally.log_e_signs if check.kind == "signs" else tally.worst


def examine(defect: str = "", checks: tuple[Check, ...] = CHECKS) -> Caught:
    """Run the battery with a defect planted ("" for none) until a check catches it."""
    began = time.perf_counter()
    context: AbstractContextManager[None] = DEFECTS[defect]() if defect else nullcontext()
    largest = 0.0
    with context:
        for check in checks:
            if check.kind == "signs" and defect in HIDDEN_FROM_SIGNS:
                continue
            total = Tally()
            while total.trials < check.trials:
                most = min(PART, check.trials - total.trials)
                total = total + run_trials(check.cell, check.kind, total.trials, most, float("inf"))
                largest = max(largest, evidence(check, total))
                if largest >= LIMIT:
                    return Caught(defect, check.name, total.trials, largest, time.perf_counter() - began)
    return Caught(defect, "", 0, largest, time.perf_counter() - began)
