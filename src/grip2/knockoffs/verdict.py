"""The verdict on knockoffs: "good", "usable" or "do not trust", and why.

It rests on the rates of simulated responses (`grip2.knockoffs.harm`). Its bounds, 0.12 at fdr 0.1 and 0.23 at 0.2, were set
beforehand; `results/real` compares it with the rates of selections. Errors that exact tests detect are reported beside it. They
decide only if moments are grossly wrong, or if a table is too small to simulate on. Marginal distributions that clearly differ,
as when knockoffs of whole numbers are not whole, make knockoffs no worse than usable: on the real designs in which nothing else
was wrong, selections kept the level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2.knockoffs.base import Verdict
from grip2.knockoffs.diagnostic_tests import DiagnosticTest
from grip2.knockoffs.exchangeability import Pairs
from grip2.knockoffs.harm import KEPT, LEVELS, STRONG, Harm, SimulatedRate

GOOD, USABLE, DO_NOT_TRUST = "good", "usable", "do not trust"
LOW_POWER_CORRELATION = 0.95
_SAME = 1 - 1e-6
# If errors up to this size (in correlation units) can go undetected, a passed test means little.
_TOO_FEW_ROWS = 0.5
# A moment that is off by this much (in standard deviations or correlation units) is wrong, whatever simulations show; except
# with fewer than 2p rows, where shrinkage explains it.
_GROSS = {"mean": 0.3, "covariance": 0.3, "cross-covariance": 0.3}
_EFFECTS = {
    "linear": "straight effects",
    "even": "even effects such as |x|",
    "products": "products of features",
    STRONG: "effects that leave next to nothing unexplained",
}
# Simulations with strong effects decide if a larger share of the response than this is explained on held-out rows.
EXPLAINED = 0.5


def verdict_of_harm(
    harm: Harm, *, lines_only: bool = False, explained: float | None = None, where: str = "on this table"
) -> Verdict:
    """The verdict of simulated responses alone, as ``select`` prints it; ``where`` says on which rows they were simulated.

    ``lines_only``: for a statistic that models straight lines only, which even effects may mislead although they mislead no
    other. ``explained``: the share of the response that is explained on held-out rows, None if it is not known. Simulations
    with hardly any noise decide only if more than half is explained; otherwise they are mentioned.
    """
    strong = explained is not None and explained > EXPLAINED
    judged = harm if strong else harm.without_strong()
    judged = judged.for_lines_only() if lines_only else judged
    bad = judged.exceeds_level()
    above = judged.exceeds_level(0.0)
    reasons = [_rates_sentence(judged, bad, above, where)]
    if not bad and not lines_only and harm.for_lines_only().without_strong().exceeds_level():
        reasons.append(_lines_sentence(harm))
    if not bad and not strong and harm.exceeds_level():
        above = True
        reasons.append(_strong_sentence(harm, explained))
    return Verdict(DO_NOT_TRUST if bad else USABLE if above else GOOD, tuple(reasons))


def _lines_sentence(harm: Harm) -> str:
    return (
        "A statistic that sees straight lines only, such as lcd, is not covered by this: where effects are even it has a rate "
        f"of {rates_in_words(harm.lines_only)} on these knockoffs."
    )


def _strong_sentence(harm: Harm, explained: float | None) -> str:
    known = "" if explained is None else f" Here {explained:.0%} of the response is explained."
    rates = rates_in_words([rate for rate in harm.rates if rate.family == STRONG])
    return (
        "The level would not be kept where the columns explain nearly all of the response: effects with a hundredth of noise "
        f"have a rate of {rates}.{known} Group columns that nearly determine each other."
    )


def rates_in_words(rates: Sequence[SimulatedRate]) -> str:
    return " and ".join(f"{rate.fdr:.2f} at fdr {rate.level:g}" for rate in rates)


def _beside_its_bound(rate: SimulatedRate) -> str:
    """A rate with two digits, or more where the bound would look the same: 0.124 beside 0.12."""
    digits = next((digits for digits in (2, 3) if round(rate.fdr, digits) != KEPT[rate.level]), 4)
    return f"{rate.fdr:.{digits}f}"


def _rates_sentence(harm: Harm, bad: bool, above: bool, where: str) -> str:
    worst = [harm.worst(level) for level in LEVELS]
    rates = " and ".join(
        f"{_beside_its_bound(rate)} (standard error {rate.fdr_error:.2g}) at fdr {rate.level:g}" for rate in worst
    )
    kinds = " and ".join(dict.fromkeys(_EFFECTS[rate.family] for rate in worst))
    kept = " and ".join(f"{KEPT[level]:g}" for level in LEVELS)
    n_kinds = len({rate.family for rate in harm.rates})
    text = (
        f"Responses simulated {where} give a false discovery rate of {rates}, the largest of {n_kinds} kinds ({kinds})."
    )
    after = (
        f"A rate is above its bound ({kept}) by more than two standard errors: the level is not kept."
        if bad
        else f"A rate is above its bound ({kept}), but by less than two standard errors, which chance may explain."
        if above
        else f"Both are within the bounds ({kept}): the level is kept."
    )
    note = f" To save time the simulation uses {', '.join(harm.notes)} only." if harm.notes else ""
    return f"{text} {after}{note}"


def judge(
    pairs: Pairs,
    tests: Sequence[DiagnosticTest],
    harm: Harm | None,
    correlation: np.ndarray,
    detectable: float,
    names: Sequence[str],
) -> Verdict:
    """The verdict of tests and simulated responses together.

    "do not trust": simulated responses exceed the level, knockoffs are copies or functions of X, or moments are grossly wrong;
    without simulated responses any large significant error. "usable": a rate above the level that chance may explain, a large
    error that does no harm, features with little power, or too few rows.
    """
    bad: list[str] = []
    limits: list[str] = []
    facts: list[str] = []
    n, p = pairs.X.shape
    same = bool(np.all(correlation >= _SAME))
    if same:
        bad.append("The knockoffs equal X: nothing can ever be selected.")
    elif n > 2 * p and _unexplained(pairs) < 1e-8:
        bad.append(
            "The knockoffs are a linear function of X, without any noise of their own. Were data and knockoffs drawn "
            "from the same seed?"
        )
    if harm is not None and not same:
        simulated = verdict_of_harm(harm)
        {DO_NOT_TRUST: bad, USABLE: limits, GOOD: facts}[simulated.verdict].extend(simulated.reasons)
    for test in tests:
        if test.rejected:
            gross = n >= 2 * p and test.effect >= _GROSS.get(test.name, np.inf)
            told = str(test)
            if test.large and test.name == "marginal distribution" and harm is not None:
                told += " Simulated responses say what this costs a model of lines and bends; forests may see more."
            (facts if not test.large else bad if harm is None or gross else limits).append(told)
    low = low_power_features(correlation, names)
    if low and not same:
        shown = ", ".join(low[:5]) + (f" and {len(low) - 5} more" if len(low) > 5 else "")
        limits.append(
            f"{len(low)} of {p} features {'has' if len(low) == 1 else 'have'} a correlation of {LOW_POWER_CORRELATION} or more "
            f"with the knockoff, measured on the columns (s near 0), so little power: {shown}. Group features; if you chose "
            "another s, use s='mvr'."
        )
    if detectable > _TOO_FEW_ROWS:
        limits.append(
            f"With {n} rows only errors above {detectable:.2g} (correlation units) can be detected: the tests say little."
        )
    elif not any(test.rejected for test in tests):
        facts.append(f"No test finds a difference; covariance errors above {detectable:.2g} would have been detected.")
    return Verdict(DO_NOT_TRUST if bad else USABLE if limits else GOOD, (*bad, *limits, *facts))


def low_power_features(correlation: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the features that nearly equal their knockoff."""
    return tuple(names[int(j)] for j in np.flatnonzero(correlation >= LOW_POWER_CORRELATION))


def _unexplained(pairs: Pairs) -> float:
    """Mean over knockoffs of the share of variance that a linear regression on X leaves unexplained."""
    X, Xk = pairs.X - pairs.X.mean(axis=0), pairs.Xk - pairs.Xk.mean(axis=0)
    return float(np.mean((Xk - X @ np.linalg.lstsq(X, Xk, rcond=None)[0]) ** 2))
