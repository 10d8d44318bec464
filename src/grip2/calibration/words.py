"""A calibration in words: the answer in one or two sentences, and what it says and does not say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grip2.calibration.signals import BENDS, LINEAR, MIXTURE, PRODUCTS
from grip2.calibration.study import CalibrationStudy, RealisedRate

SIGNAL_WORDS = {
    LINEAR: "straight effects",
    BENDS: "effects of the distance from the median",
    PRODUCTS: "products of two units",
    MIXTURE: "a third of each",
}

# With fewer selections that hold anything, a small mean rate is mostly a mean of zeros.
FEWEST_SELECTIONS = 10


def sentence(study: CalibrationStudy) -> str:
    """The realised rate at the user's target, and whether it keeps it."""
    rate = study.rate()
    head = (
        f"On your table, with these settings, the realised false discovery rate at fdr {study.fdr:g} was "
        f"{with_error(rate.fdr, rate.fdr_error)} over {rate.runs} simulated responses; power "
        f"{with_error(rate.power, rate.power_error)}."
    )
    return " ".join([head, *_empty(rate), judgement(study), *_worst_kind(study)])


def judgement(study: CalibrationStudy) -> str:
    """Is the target kept, as far as so many responses can say?"""
    rate, target = study.rate(), f"{study.fdr:g}"
    if rate.selected == 0:
        return (
            "Nothing was selected for any of them, so that no false discovery was possible: this says nothing about the rate, "
            "but much about power. More rows, a larger fdr or groups of correlated columns would help."
        )
    if rate.above:
        return (
            f"That is above the target by more than two standard errors: selections at fdr {target} hold more false units than "
            f"they say. {_remedy(study)}"
        )
    held = rate.runs - rate.empty
    if held < FEWEST_SELECTIONS:
        return (
            f"Only {held} of the selections held anything, too few to judge the rate: more runs would tell more, and so would "
            "fewer kinds of signals, if you know what yours is like."
        )
    upper = _upper(rate)
    if upper <= 1.5 * study.fdr:
        return f"That agrees with the target, and rates above {upper:.2f} would be a surprise (two standard errors)."
    return (
        f"That does not contradict the target, but rates up to {upper:.2f} are possible (two standard errors); more runs would "
        "tell more."
    )


def with_error(value: float, error: float) -> str:
    """0.09 (standard error 0.02)."""
    return f"{value:.2f} (standard error {'unknown' if np.isnan(error) else f'{error:.2f}'})"


def _upper(rate: RealisedRate) -> float:
    """Two standard errors above the rate; where no false discovery was seen, three events in so many runs."""
    error = 1.0 if np.isnan(rate.fdr_error) else rate.fdr_error
    return min(1.0, max(rate.fdr + 2.0 * error, 3.0 / rate.runs if rate.fdr == 0 else 0.0))


def _remedy(study: CalibrationStudy) -> str:
    kept = [level for level in study.levels if level < study.fdr and study.rate(level).fdr <= study.fdr]
    lower = (
        f" or take the selection at fdr {kept[-1]:g}, whose realised rate is {study.rate(kept[-1]).fdr:.2f}"
        if kept
        else ""
    )
    return f"Try other knockoffs (grip2 diagnose compares them with your columns){lower}."


def _empty(rate: RealisedRate) -> Iterator[str]:
    """Empty selections hold nothing false: where there are many, the mean rate is small for that reason."""
    if 0 < rate.empty < rate.runs:
        yield f"Nothing was selected for {rate.empty} of them, which count with a rate of 0."


def _worst_kind(study: CalibrationStudy) -> Iterator[str]:
    """The kind of signal with the highest rate: a mean over kinds may hide it."""
    kinds = [rate for rate in study.rates() if rate.level == study.fdr and rate.signal in study.signals]
    worst = max(kinds, key=lambda rate: rate.fdr)
    if len(kinds) > 1 and worst.fdr > 0:
        above = ", above the target by more than two standard errors" if worst.above else ""
        yield f"Of the kinds of signals {worst.signal} had the highest rate, {with_error(worst.fdr, worst.fdr_error)}{above}."


def caveats(study: CalibrationStudy) -> Iterator[str]:
    """What the numbers mean, one statement each."""
    how = study.simulation
    yield (
        f"The table is yours: all {study.n_rows:,} rows as they are, not resampled, and {study.n_units:,} units. Knockoffs are "
        "estimated from these same rows, as in your selection, so that their errors are part of the result."
    )
    yield (
        f"The truth is simulated: each response depends on {how.n_true} units drawn at random ({how.n_true_reason}), with "
        f"effects of equal size that explain {how.strength:.0%} of its variance ({how.strength_reason}). It holds the values "
        f"of your own response ({study.response}) in another order."
    )
    yield "Kinds of signals: " + "; ".join(f"{name}: {SIGNAL_WORDS[name]}" for name in study.signals) + "."
    if how.completed:
        yield (
            f"The {how.completed:,} missing values were completed once, by one draw from the knockoff model; responses depend on "
            "the completed values, which were hidden again from the selection. That the model completes as nature would is "
            "assumed here, not tested."
        )
    yield (
        "It does not say that your own selection is right: your response may depend on other units, such as strongly correlated "
        "ones, in other ways or with other noise. The rate is a mean over many responses, not the share of false units in one "
        "selection."
    )
    yield (
        "It cannot see what is wrong with the rows themselves: repeated or dependent rows, a selected sample, a column that "
        "leaks the response. And no calibration makes a selected unit a cause."
    )
    if study.failed:
        yield f"{study.failed} of {study.planned} trials failed and are not counted."
    elif study.runs < study.planned:
        yield f"{study.runs} of {study.planned} planned trials are finished."
