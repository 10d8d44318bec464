"""From a design and trial numbers to tables: data of section 4, knockoffs of appendix B, and the truth to judge by."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grip2.datasets import SimulatedTable, load_har, load_hiv, make_ar1, make_family, make_semireal
from grip2.errors import Grip2Error
from grip2.experiments.plan import SIMULATED, Design
from grip2.experiments.store import DesignRow
from grip2.knockoffs import GaussianKnockoffs, KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS

# Purposes of the streams of a trial.
_DATA, _KNOCKOFFS, _ROWS = 0, 1, 2


@dataclass(frozen=True)
class Inputs:
    """(X, Xk, y) of each trial of a group, and the truth they share."""

    tables: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]
    design: DesignRow
    seconds: float  # per trial: data and knockoffs


@dataclass(frozen=True)
class _Prepared:
    """What the trials of a design share: ``data(trial)`` gives X and y, ``sampler(X)`` a fitted sampler."""

    data: Callable[[int], tuple[np.ndarray, np.ndarray]]
    sampler: Callable[[np.ndarray], KnockoffSampler]
    design: DesignRow


class _Recent:
    """The last few results of a computation, by key; a worker does one task after the other on the same data."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            while len(self.found) >= self.size:  # before making: two full-size tables at once are too many
                self.found.popitem(last=False)
            self.found[key] = make()
        self.found.move_to_end(key)
        return self.found[key]


_PREPARED, _INPUTS = _Recent(8), _Recent(1)


def trial_inputs(seed: int, design: Design, group: Sequence[int], data_home: Path | None) -> Inputs:
    """Data and knockoffs of a group of trials; the last group is remembered for the next method."""
    prepared = _PREPARED.get((seed, design.key, str(data_home)), lambda: _prepare(seed, design, data_home))
    return _INPUTS.get((seed, design.key, str(data_home), tuple(group)), lambda: _make(seed, design, group, prepared))


def _make(seed: int, design: Design, group: Sequence[int], prepared: _Prepared) -> Inputs:
    began = time.perf_counter()
    tables = []
    for trial in group:
        X, y = prepared.data(trial)
        Xk = prepared.sampler(X).sample(X, rng=_rng(seed, design.key, trial, _KNOCKOFFS))
        tables.append((X, Xk, y))
    return Inputs(tuple(tables), prepared.design, (time.perf_counter() - began) / len(group))


def _prepare(seed: int, design: Design, data_home: Path | None) -> _Prepared:
    if design.source in SIMULATED:
        return _simulated(seed, design)
    return {"har": _har, "hiv": _hiv}[design.source](seed, design, data_home)


def _simulated(seed: int, design: Design) -> _Prepared:
    """Section 4.1, and families of signals: support and coefficients fixed, X and noise redrawn in every trial."""
    options = design.options
    make: Callable[..., SimulatedTable] = make_ar1 if design.source == "synthetic" else make_family

    def data(trial: int) -> tuple[np.ndarray, np.ndarray]:
        made = make(**options, random_state=_rng(seed, design.data_key, trial, _DATA))
        return made.X, made.y

    def sampler(X: np.ndarray) -> KnockoffSampler:
        if design.knockoffs == "exact":
            return GaussianKnockoffs(np.zeros(options["p"]), covariance, s=design.s).fit(X)
        return _sampler(design).fit(X)

    small = make(**{**options, "n": 2}, random_state=0)
    covariance = small.covariance
    names = [f"x{j}" for j in range(options["p"])]
    return _Prepared(data, sampler, _design_row(design, options["n"], names, None, small.support))


def _har(seed: int, design: Design, data_home: Path | None) -> _Prepared:
    """Section 4.2: covariates and support fixed, injected network and noise redrawn in every trial."""
    options = design.options
    screening = {name: options[name] for name in ("redundancy_threshold", "group_threshold", "rows")}
    injection = {name: options[name] for name in ("share", "snr", "hidden", "support")}
    if options["weights"] not in ("redrawn", "fixed"):
        raise Grip2Error(f"har: weights must be 'redrawn' or 'fixed', got {options['weights']!r}.")
    injection["weights"] = None if options["weights"] == "redrawn" else options["support"]
    table = load_har(data_home, **screening)
    fitted = _sampler(design).fit(table.X)

    def data(trial: int) -> tuple[np.ndarray, np.ndarray]:
        made = make_semireal(table.X, **injection, random_state=_rng(seed, design.data_key, trial, _DATA))
        return made.X, made.y

    truth = make_semireal(table.X, **injection, random_state=0).support
    return _Prepared(data, lambda _: fitted, _design_row(design, len(table.X), table.feature_names, None, truth))


def _hiv(seed: int, design: Design, data_home: Path | None) -> _Prepared:
    """Section 4.3: X and y fixed, knockoffs redrawn in every trial; judged by position."""
    table = load_hiv(**design.options, data_home=data_home)
    sampler = _sampler(design)
    X, y = table.X, table.y
    if hasattr(sampler, "augment_rows"):  # too few rows for fixed-X knockoffs (some NRTI drugs)
        X, y = sampler.augment_rows(X, y, rng=_rng(seed, design.key, 0, _ROWS))
    sampler.fit(X)
    row = _design_row(design, len(X), table.feature_names, table.positions, table.true_positions)
    return _Prepared(lambda _: (X, y), lambda _: sampler, row)


def _sampler(design: Design) -> KnockoffSampler:
    center = {"center": design.center} if design.knockoffs == "fixed" else {}
    return SAMPLERS.create(design.knockoffs, s=design.s, **center)


def _design_row(design: Design, n: int, names: Sequence[str], units: np.ndarray | None, truth: np.ndarray) -> DesignRow:
    judged = range(len(names)) if units is None else units
    return DesignRow(
        design=design.key,
        parameters=design.parameters,
        n=n,
        p=len(names),
        feature_names=tuple(names),
        units=tuple(int(unit) for unit in judged),
        truth=tuple(int(unit) for unit in truth),
    )


def _rng(seed: int, key: str, trial: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, int(key, 16)], spawn_key=(trial, purpose)))
