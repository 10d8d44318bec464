"""One trial of a cell: fresh data, knockoffs, scores, a selection, and what was false in it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from grip2 import KnockoffSelector, draws
from grip2._random import generator_from
from grip2.decision import Evidence
from grip2.draws import draw_importances
from grip2.errors import Grip2Error
from grip2.knockoffs import CopulaKnockoffs
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.responses import response_from
from grip2.result import Importance
from grip2.statistics import base
from grip2.statistics.base import Statistic
from guarantee.cells import EXACT, LEARNT, Cell
from guarantee.designs import DESIGNS, Design
from guarantee.evidence import LEVELS, Tally, e_of_wealth, log_wealth
from guarantee.signals import SIGNALS, respond

FDR = LEVELS[-1]  # asked of the procedure; the other levels are read off its q-values
ROWS_TO_LEARN = 5_000
TOP = 4  # the largest of so many null units by the size of W are counted again


@dataclass(frozen=True, eq=False)
class Data:
    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray  # (units,) mask of the acting ones


def simulate(cell: Cell, trial: int) -> Data:
    design, rng = DESIGNS[cell.design], np.random.default_rng(cell.seed(trial))
    table = design.table(rng)
    acting = design.n_acting if cell.signal != "none" else 0
    chosen = rng.permutation(len(design.units))[:acting]
    truth = np.zeros(len(design.units), dtype=bool)
    truth[chosen] = True
    y = respond(SIGNALS[cell.signal](table.acts_by[:, chosen]), cell.task, rng)
    if cell.design == "repeated rows":  # a row is repeated with its response
        y = np.resize(y[: len(y) // 4], len(y))
    return Data(table.X, y, truth)


@contextmanager
def without_shuffle() -> Iterator[None]:
    """Members keep their places: the original first. Any bias of a statistic toward a place becomes visible."""

    def in_place(n_units: int, members: int, rng: np.random.Generator) -> np.ndarray:
        return np.tile(np.arange(members)[:, None], n_units)

    with patch.object(base, "draw_order", in_place):
        yield


def one_thread() -> AbstractContextManager[object]:
    """The library asks for one thread in every draw, which takes longer than a draw of these small tables.

    Nothing changes where the process has one thread anyway.
    """
    if os.environ.get("OMP_NUM_THREADS") != "1":
        return nullcontext()
    return patch.object(draws, "one_blas_thread", nullcontext)


class Trials:
    """The trials of one cell, with what they share: the statistic, and a sampler that need not be fitted anew."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.design = cell, DESIGNS[cell.design]
        self.statistic: Statistic = cell.make_statistic()
        self._shared = self._shared_sampler()

    def _shared_sampler(self) -> KnockoffSampler | None:
        if self.cell.whole or self.cell.sampler not in (EXACT, LEARNT):
            return None
        if self.cell.sampler == LEARNT:
            return learnt_sampler(self.design)
        return _fitted(self.design.exact(), self.design, self.design.table(np.random.default_rng(0)).X)

    def signs(self, trial: int) -> Tally:
        """Which member of each null unit wins, without the shuffle."""
        began = time.perf_counter()
        data = simulate(self.cell, trial)
        with without_shuffle():
            importance = self._importances(data, trial)[0]
        wins, top = count_wins(importance, ~data.truth)
        return Tally(1, seconds=time.perf_counter() - began, wins=wins, top_wins=top)

    def selection(self, trial: int) -> Tally:
        """The false discovery proportion at every level, and the power."""
        began = time.perf_counter()
        data = simulate(self.cell, trial)
        wins = top = np.zeros(0)
        try:
            if self.cell.whole:
                found = self._selector(trial).fit(data.X, data.y).result_
                selected, q_values = found.selected_mask, found.q_values
            else:
                importances = self._importances(data, trial)
                wins, top = count_wins(importances[0], ~data.truth)
                decision = Evidence.of(importances, offset=1).decide(FDR)
                selected, q_values = decision.selected, decision.q_values
            refused = 0
        except Grip2Error:
            selected, q_values, refused = np.zeros(len(data.truth), dtype=bool), np.ones(len(data.truth)), 1
        masks = [*(q_values <= level for level in LEVELS[:-1]), selected]
        fdp = np.array([np.sum(mask & ~data.truth) / max(1, np.sum(mask)) for mask in masks])
        wealth = log_wealth(fdp)
        power = float(np.sum(selected & data.truth)) / max(1, np.sum(data.truth))
        seconds = time.perf_counter() - began
        return Tally(1, refused, seconds, wins, top, fdp, fdp**2, power, wealth, max(0.0, e_of_wealth(wealth)))

    def _importances(self, data: Data, trial: int) -> list[Importance]:
        sampler = self._shared
        if sampler is None:
            sampler = _fitted(SAMPLERS.create(self.cell.sampler), self.design, data.X)
        return draw_importances(
            self.statistic,
            sampler,
            data.X,
            response_from(data.y, self.cell.task),
            units=self.design.units,
            copies=self.cell.copies,
            rngs=_generators(self.cell, trial),
        ).importances

    def _selector(self, trial: int) -> KnockoffSelector:
        exact = self.cell.sampler == EXACT
        sampler = self.design.exact() if exact else SAMPLERS.create(self.cell.sampler)
        units = self.design.units
        return KnockoffSelector(
            self.statistic,
            sampler,
            fdr=FDR,
            copies=self.cell.copies,
            n_draws=self.cell.draws,
            task=self.cell.task,
            groups=None if units.all_single else [f"unit {k}" for k in units.of_column],
            random_state=self.cell.seed(trial),
            describe=False,
        )


def _generators(cell: Cell, trial: int) -> list[np.random.Generator]:
    """As the selector makes them of a seed."""
    return list(generator_from(cell.seed(trial)).spawn(cell.draws))


def count_wins(importance: Importance, null: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(members,) how often each member of the units ``null`` wins by W; again for those with the largest W.

    Units with W = 0, where members tie, say nothing.
    """
    W = importance.W
    winner = np.where(W > 0, 0, 1 + importance.scores[1:].argmax(axis=0))
    told = np.flatnonzero(null & (W != 0))
    largest = told[np.argsort(-np.abs(W[told]), kind="stable")[: -(-len(told) // TOP)]]
    members = len(importance.scores)
    return np.bincount(winner[told], minlength=members), np.bincount(winner[largest], minlength=members)


def _fitted(sampler: KnockoffSampler, design: Design, X: np.ndarray) -> KnockoffSampler:
    groups = None if design.units.all_single else design.units
    return sampler.fit(X, groups=groups, categories=design.categories)


_LEARNT: dict[str, KnockoffSampler] = {}


def learnt_sampler(design: Design) -> KnockoffSampler:
    """Copula knockoffs learnt from many other rows: all but exact, by the library's own code."""
    if design.name not in _LEARNT:
        X = design.draw(ROWS_TO_LEARN, np.random.default_rng(1)).X
        _LEARNT[design.name] = _fitted(CopulaKnockoffs(), design, X)
    return _LEARNT[design.name]


def run_trials(cell: Cell, kind: str, first: int, most: int, seconds: float) -> Tally:
    """Trials of one kind, "signs" or "selection", from number ``first`` on.

    Until ``most`` are done or time is over; at least one.

    Warnings are for users, who are told of every numerical repair; here it is the numbers that tell.
    """
    began = time.perf_counter()
    total = Tally()
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        trials = Trials(cell)
        one = trials.signs if kind == "signs" else trials.selection
        while total.trials < most and (total.trials == 0 or time.perf_counter() - began < seconds):
            total = total + one(first + total.trials)
    return total
