"""What a calibration is asked for, beside the settings of the selection itself."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from grip2.calibration.signals import FEWEST_TRUE, SIGNALS
from grip2.errors import Grip2Error, did_you_mean

LEVELS = (0.05, 0.1, 0.2)
RUNS = 40
MOST_STRENGTH = 0.95  # beyond it there is hardly any noise, and every method finds everything


@dataclass(frozen=True)
class CalibrationPlan:
    """How many responses of which kinds; None: estimated from the data."""

    runs: int = RUNS  # in all, the kinds of signals in turn
    signals: tuple[str, ...] = SIGNALS
    n_true: int | None = None  # units on which a simulated response depends
    strength: float | None = None  # share of the response's variance that they explain

    def __post_init__(self) -> None:
        if not isinstance(self.runs, numbers.Integral) or isinstance(self.runs, bool) or self.runs < 2:
            raise Grip2Error(f"calibrate: runs must be a whole number of at least 2, got {self.runs!r}.")
        _check_signals(self.signals)
        if self.n_true is not None and (
            not isinstance(self.n_true, numbers.Integral) or isinstance(self.n_true, bool) or self.n_true < FEWEST_TRUE
        ):
            raise Grip2Error(
                f"calibrate: the number of true units must be a whole number of at least {FEWEST_TRUE}, got {self.n_true!r}."
            )
        if self.strength is not None and not 0 < self.strength <= MOST_STRENGTH:
            raise Grip2Error(
                f"calibrate: strength is a share of variance above 0 and at most {MOST_STRENGTH:g}, got {self.strength!r}."
            )

    def trials(self) -> list[tuple[str, int]]:
        """The kind of signal and the number within the kind, kinds in turn: more runs only add to fewer."""
        return [(self.signals[run % len(self.signals)], run // len(self.signals)) for run in range(self.runs)]


def levels_with(fdr: float) -> tuple[float, ...]:
    """The target rates that are looked at: the usual ones and the user's own."""
    return tuple(sorted({*LEVELS, float(fdr)}))


def _check_signals(signals: Sequence[str]) -> None:
    if not signals or len(set(signals)) < len(signals):
        raise Grip2Error(f"calibrate: signals must name each kind once, of {', '.join(SIGNALS)}, got {signals!r}.")
    for name in signals:
        if name not in SIGNALS:
            raise Grip2Error(
                f"calibrate: signals are {', '.join(SIGNALS)}; there is no {name!r}.{did_you_mean(str(name), SIGNALS)}"
            )
