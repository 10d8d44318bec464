"""Explains a selection in words: the reason for its outcome, and the assumptions of its guarantee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grip2.decision import Decision
from grip2.empty_selection import Request, count_features, why_empty
from grip2.facts import LimitingUnit
from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response
from grip2.statistics.base import Statistic


def reason_for(
    decision: Decision,
    *,
    fdr: float,
    offset: int,
    n_draws: int,
    copies: int,
    draws_copies: bool = True,
    own_correlation: float = 0.0,
    correlations: Sequence[float] = (),
    names: Sequence[str] = (),
    explained: float | None = None,
    limiting: Sequence[LimitingUnit] = (),
) -> str:
    """Why these units were selected, or why none were and what would change that; see `Request` for the arguments."""
    W, selected, threshold = decision.W, decision.selected, decision.threshold
    if not selected.any():
        request = Request(
            fdr, offset, n_draws, copies, names, draws_copies, correlations, own_correlation, explained, limiting
        )
        return why_empty(decision, request)
    count = int(selected.sum())
    if n_draws > 1:
        return (
            f"{count_features(count)} {_have(count)} an e-value, averaged over {n_draws} draws, of at least "
            f"{len(W)} / ({fdr:g} x {count}) = {len(W) / (fdr * count):.3g}, as e-BH demands at fdr {fdr:g}."
        )
    beaten = int(np.sum(W <= -threshold))
    divisor = f"({copies} x {count})" if copies > 1 else f"{count}"
    return (
        f"{count_features(count)} {_have(count)} W >= {threshold:.3g}, {beaten} {_have(beaten)} W <= {-threshold:.3g}: "
        f"estimated false discovery proportion ({offset} + {beaten}) / {divisor} = "
        f"{(offset + beaten) / (copies * count):.3g}, at most {fdr:g}."
    )


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def assumptions_behind(
    sampler: KnockoffSampler,
    statistic: Statistic,
    response: Response,
    offset: int,
    *,
    copies: int = 1,
    grouped: bool = False,
    n_added: int = 0,
    n_clusters: int = 0,
) -> list[str]:
    """What must hold for the false discovery rate to be controlled, one sentence each."""
    listed = list(sampler.assumptions())
    if copies > 1:
        listed.append(
            f"The {copies} knockoff copies are exchangeable with their originals all together, not only one by one. The price "
            "of several copies is that each resembles its original more than a single knockoff would, which costs power where "
            "features are strongly correlated."
        )
    if grouped:
        listed.append(
            "A selected group is an answer for the group: at least one of its columns matters given all other units. Which one "
            "is not said."
        )
    if n_clusters:
        listed.append(
            f"Every draw uses one row of each of {n_clusters} clusters: rows of different clusters are independent, rows of one "
            "need not be."
        )
    if n_added:
        listed.append(
            f"{n_added} rows of zeros were added to X, with noise for y of the residual standard deviation, because fixed-X "
            "knockoffs need twice as many rows as features: control is approximate, as that deviation is estimated."
        )
    if sampler.fixed_x and not statistic.gram_based:
        listed.append(
            f"{type(statistic).__name__} sees more of the data than Gram matrices: with fixed-X knockoffs its control of "
            "the false discovery rate is an observation, as in the paper, and not a theorem."
        )
    if sampler.fixed_x and not response.gaussian_noise:
        listed.append(
            f"Fixed-X knockoffs are for measurements with Gaussian noise; for {response.noun} nothing is proven."
        )
    if offset == 0:
        listed.append("Offset 0 controls a modified false discovery rate, not the rate itself.")
    return listed
