"""Makes the tables of trials from a design: data of a source, knockoffs of them, and the truth to judge by."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from grip2.experiments.plan import EXACT, Design
from grip2.experiments.source import Population
from grip2.experiments.sources import SOURCES
from grip2.experiments.store import DesignRow
from grip2.knockoffs import GaussianKnockoffs, KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.settings import with_settings
from grip2.units import Units

# What a trial's random numbers are for: each purpose has a stream of its own.
_DATA, _KNOCKOFFS, _ROWS = 0, 1, 2

Value = TypeVar("Value")


class TrialTable(NamedTuple):
    """What a statistic scores in one trial."""

    X: np.ndarray  # (n, p)
    Xk: np.ndarray  # (n, p), or (copies, n, p)
    y: np.ndarray  # (n,)


@dataclass(frozen=True)
class TrialTables:
    """The tables of a group of trials, and the truth they share."""

    tables: tuple[TrialTable, ...]
    task: str
    units: Units
    design: DesignRow
    seconds: float  # per trial: data and knockoffs


@dataclass(frozen=True)
class _Prepared:
    """What the trials of a design share."""

    population: Population
    units: Units  # what is selected
    # X and y of a trial, with rows added if the knockoffs need more.
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]]
    sampler: Callable[[np.ndarray], KnockoffSampler]  # fitted


class RecentResults(Generic[Value]):
    """The last few results of a computation, by key: a worker does several tasks in a row on the same data."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        if key not in self.found:
            while (
                len(self.found) >= self.size
            ):  # before the new one is made: two large tables at once take too much memory
                self.found.popitem(last=False)
            self.found[key] = make()
        self.found.move_to_end(key)
        return self.found[key]


_PREPARED: RecentResults[_Prepared] = RecentResults(8)
_TABLES: RecentResults[TrialTables] = RecentResults(1)


def trial_tables(seed: int, design: Design, group: Sequence[int], data_home: Path | None) -> TrialTables:
    """Data and knockoffs of a group of trials; the last group is kept for the next method."""
    key = (seed, design.key, str(data_home))
    prepared = _PREPARED.get(key, lambda: _prepare(seed, design, data_home))
    return _TABLES.get((*key, tuple(group)), lambda: _make(seed, design, group, prepared))


def _make(seed: int, design: Design, group: Sequence[int], prepared: _Prepared) -> TrialTables:
    began = time.perf_counter()
    tables = []
    for trial in group:
        X, y = prepared.rows(trial)
        Xk = prepared.sampler(X).sample(X, rng=_rng(seed, design.key, trial, _KNOCKOFFS), copies=design.copies)
        tables.append(TrialTable(X, Xk, y))
    seconds = (time.perf_counter() - began) / len(group)
    row = _design_row(design, prepared.population, len(tables[0].X))
    return TrialTables(tuple(tables), design.response.task, prepared.units, row, seconds)


def _prepare(seed: int, design: Design, data_home: Path | None) -> _Prepared:
    source = SOURCES[design.source]
    population = source.population(design.options, data_home)
    units = Units.single(len(population.feature_names))
    if design.grouped and population.units is not None:
        units = Units.from_labels(list(population.units))

    def rows(trial: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = population.draw(_rng(seed, design.data_key, trial, _DATA))
        if not design.response.gaussian_noise:  # added rows hold Gaussian noise
            return X, y
        return sampler_for(design, population).augment_rows(X, y, rng=_rng(seed, design.key, trial, _ROWS))

    def sampler(X: np.ndarray) -> KnockoffSampler:
        return sampler_for(design, population).fit(X, groups=None if units.all_single else units)

    if not source.shares_X:
        return _Prepared(population, units, rows, sampler)
    first = rows(0)
    fitted = sampler(first[0])
    return _Prepared(population, units, (lambda _: first) if source.shares_y else rows, lambda _: fitted)


def sampler_for(design: Design, population: Population) -> KnockoffSampler:
    """The sampler of a design, not fitted; settings that it does not have are left out."""
    if design.knockoffs == EXACT:
        return GaussianKnockoffs(np.zeros(len(population.feature_names)), population.covariance, s=design.s)
    sampler: KnockoffSampler = SAMPLERS.create(design.knockoffs)
    known = sampler.get_params(deep=False)
    return with_settings(sampler, {name: value for name, value in design.sampler_settings.items() if name in known})


def _design_row(design: Design, population: Population, n: int) -> DesignRow:
    names = population.feature_names
    n_columns = len(names)
    judged: Sequence[int] | np.ndarray = range(n_columns) if population.units is None else population.units
    if design.grouped:  # W has one entry for every unit
        judged = list(dict.fromkeys(judged))
        names = tuple(str(unit) for unit in judged)
    return DesignRow(
        design=design.key,
        parameters=design.parameters,
        n=n,
        p=n_columns,
        feature_names=tuple(names),
        units=tuple(int(unit) for unit in judged),
        truth=tuple(int(unit) for unit in population.truth),
    )


def _rng(seed: int, key: str, trial: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, int(key, 16)], spawn_key=(trial, purpose)))
