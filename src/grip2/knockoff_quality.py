"""How much the knockoffs of a fitted sampler resemble their originals, unit by unit, and which units lose power by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2.facts import KnockoffQuality, LimitingUnit
from grip2.knockoffs import KnockoffSampler
from grip2.knockoffs.verdict import LOW_POWER_CORRELATION
from grip2.units import Units

# From this correlation on a unit is listed among those that limit power, and so many at most.
LIMITING_CORRELATION, MOST_LIMITING = 0.8, 20


def knockoff_quality(
    sampler: KnockoffSampler,
    copies: int,
    *,
    units: Units,
    names: Sequence[str],
    lines_only: bool = False,
    explained: float | None = None,
) -> KnockoffQuality:
    """From the sampler's own ``1 - S_jj / Sigma_jj``, in the space where it works; nothing is drawn.

    ``lines_only``: does the statistic see straight lines only? ``explained``: the share of the response that it explains on
    held-out rows, if known. Without a verdict the reasons say why there is none.
    """
    correlation = sampler.own_correlation(copies)
    of_units = np.bincount(units.of_column, weights=correlation, minlength=len(units)) / units.sizes
    verdict = sampler.verdict(lines_only=lines_only, explained=explained)
    why_none = (f"Responses were not simulated: {sampler.unjudged}.",) if sampler.unjudged else ()
    return KnockoffQuality(
        sampler=type(sampler).__name__,
        mean_correlation=float(correlation.mean()),
        largest_correlation=float(correlation.max()),
        n_low_power=int(np.sum(correlation >= LOW_POWER_CORRELATION)),
        verdict=verdict.verdict if verdict else "",
        verdict_reasons=verdict.reasons if verdict else why_none,
        unit_correlations=tuple(round(float(value), 4) for value in of_units),
        limiting=_limiting(of_units, sampler, units, names),
        draws_copies=sampler.draws_copies,
    )


def _limiting(
    correlation: np.ndarray, sampler: KnockoffSampler, units: Units, names: Sequence[str]
) -> tuple[LimitingUnit, ...]:
    """The units with the largest correlations, each with the other unit that it resembles most."""
    order = np.argsort(-correlation, kind="stable")[:MOST_LIMITING]
    found = []
    for unit in order[correlation[order] >= LIMITING_CORRELATION]:
        own = units.columns[unit]
        like = np.abs(sampler.correlations_of(own)).max(axis=0)
        like[own] = -1.0
        nearest = int(like.argmax())
        found.append(
            LimitingUnit(
                name=names[unit],
                correlation=round(float(correlation[unit]), 4),
                resembles=names[units.of_column[nearest]],
                resemblance=round(float(like[nearest]), 4),
            )
        )
    return tuple(found)
