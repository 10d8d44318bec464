"""What a calibration found: `CalibrationStudy`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from grip2.errors import Grip2Error
from grip2.experiments.summary import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all"  # kinds of signals together
SCHEMA_VERSION = 1  # of calibration.json


@dataclass(frozen=True)
class SimulatedSelection:
    """What was selected for one simulated response at one target rate, counted in units."""

    signal: str
    number: int
    level: float
    n_true: int
    selected: int
    false: int
    seconds: float  # of the whole trial

    @property
    def fdp(self) -> float:
        """Share of the selected units that are false; 0 where nothing is selected."""
        return self.false / max(1, self.selected)

    @property
    def power(self) -> float:
        """Share of the true units that is selected."""
        return (self.selected - self.false) / self.n_true


@dataclass(frozen=True)
class RealisedRate:
    """Means over simulated responses, and their standard errors (NaN for fewer than two responses)."""

    signal: str  # a kind of signal, or "all"
    level: float
    runs: int
    fdr: float
    fdr_error: float
    power: float
    power_error: float
    selected: float
    empty: int  # responses for which nothing was selected

    @property
    def above(self) -> bool:
        """Is the realised rate above its target, by more than two standard errors?"""
        return self.fdr - 2.0 * self.fdr_error > self.level


@dataclass(frozen=True)
class Simulation:
    """How responses were simulated."""

    strength: float  # share of the variance of y that true units explain
    strength_reason: str
    n_true: int  # units
    n_true_reason: str
    completed: int  # missing values of the table that were completed for it


@dataclass(frozen=True, eq=False)
class CalibrationStudy:
    """Realised false discovery rate and power of a selection on the user's table, for responses with a known truth."""

    selections: tuple[SimulatedSelection, ...]  # of every finished trial, at every level
    fdr: float  # the user's target rate
    levels: tuple[float, ...]
    signals: tuple[str, ...]
    simulation: Simulation
    planned: int  # trials
    failed: int
    n_rows: int
    n_units: int
    n_selected: int  # on the user's own response
    response: str  # in words
    copies: int
    n_draws: int
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]

    @property
    def runs(self) -> int:
        """Simulated responses that were selected for."""
        return len(self.selections) // len(self.levels)

    def rate(self, fdr: float | None = None, signal: str = ALL) -> RealisedRate:
        """What came out at a target rate, the user's by default, for one kind of signal or for all together."""
        level = self.fdr if fdr is None else fdr
        found = [one for one in self.selections if one.level == level and signal in (ALL, one.signal)]
        if not found:
            raise Grip2Error(
                f"CalibrationStudy: no trials of {signal!r} at fdr {level!r}; there are {', '.join(self.signals)} and {ALL} at "
                f"{', '.join(f'{each:g}' for each in self.levels)}."
            )
        fdps, powers = [one.fdp for one in found], [one.power for one in found]
        return RealisedRate(
            signal,
            level,
            len(found),
            float(np.mean(fdps)),
            standard_error(fdps),
            float(np.mean(powers)),
            standard_error(powers),
            float(np.mean([one.selected for one in found])),
            sum(one.selected == 0 for one in found),
        )

    def rates(self) -> list[RealisedRate]:
        """At every level, for all kinds together and then for each that has finished trials."""
        present = {one.signal for one in self.selections}
        kinds = [ALL, *(signal for signal in self.signals if signal in present)]
        return [self.rate(level, signal) for level in self.levels for signal in kinds]

    def to_frame(self) -> pd.DataFrame:
        """One row for every trial and target rate."""
        rows = [
            {
                "signal": one.signal,
                "trial": one.number,
                "target_fdr": one.level,
                "true": one.n_true,
                "selected": one.selected,
                "false": one.false,
                "fdp": one.fdp,
                "power": one.power,
                "seconds": one.seconds,
            }
            for one in self.selections
        ]
        return pd.DataFrame(rows)

    def summary(self) -> pd.DataFrame:
        """One row for every target rate and kind of signal: realised rate and power, with standard errors."""
        frame = pd.DataFrame([asdict(rate) for rate in self.rates()])
        return frame.rename(columns={"level": "target_fdr", "fdr_error": "fdr_se", "power_error": "power_se"})

    def plot(self) -> Figure:
        """Realised false discovery rate and power against the target rate, with two standard errors."""
        from grip2.calibration.figure import rates_figure

        return rates_figure(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values only."""
        from grip2.calibration.words import caveats, sentence

        return {
            "schema_version": SCHEMA_VERSION,
            "sentence": sentence(self),
            "fdr": self.fdr,
            "rates": [_without_nan(asdict(rate)) for rate in self.rates()],
            "simulation": asdict(self.simulation),
            "runs": self.runs,
            "planned": self.planned,
            "failed": self.failed,
            "rows": self.n_rows,
            "units": self.n_units,
            "selected_on_your_response": self.n_selected,
            "response": self.response,
            "copies": self.copies,
            "n_draws": self.n_draws,
            "what_it_says": list(caveats(self)),
            "settings": dict(self.settings),
            "seed": self.seed,
            "versions": dict(self.versions),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def __str__(self) -> str:
        from grip2.calibration.words import sentence

        return sentence(self)

    def _repr_html_(self) -> str:
        from grip2.figure_style import to_svg

        return f"<p>{escape(str(self))}</p>{to_svg(self.plot())}"


def _without_nan(values: dict[str, Any]) -> dict[str, Any]:
    """Standard errors of a single trial are unknown, which JSON calls null."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in values.items()
    }
