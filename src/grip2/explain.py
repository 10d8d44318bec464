"""A selection in words: why it came out as it did, and what its guarantee rests on."""

from __future__ import annotations

import math

import numpy as np

from grip2.decision import Decision
from grip2.filter import estimated_fdp, fewest_selected
from grip2.knockoffs import KnockoffSampler
from grip2.responses import Response
from grip2.statistics.base import Statistic

# From this mean correlation of columns with their own knockoffs on, an empty selection is put down to it.
ALIKE = 0.9


def reason_for(
    decision: Decision,
    *,
    fdr: float,
    offset: int,
    n_draws: int,
    copies: int,
    draws_copies: bool = True,
    own_correlation: float = 0.0,
) -> str:
    """Why these units were selected, or why none were and what would change that.

    ``draws_copies``: could the sampler draw more copies than these? ``own_correlation`` is the mean correlation of columns with
    their own knockoffs.
    """
    W, q, selected, threshold = decision.W, decision.q_values, decision.selected, decision.threshold
    if n_draws > 1:
        return _reason_for_draws(W, q, selected, fdr, n_draws, copies) + _alike(selected, own_correlation)
    if selected.any():
        count, beaten = int(selected.sum()), int(np.sum(W <= -threshold))
        divisor = f"({copies} x {count})" if copies > 1 else f"{count}"
        return (
            f"{count} features have W >= {threshold:.3g}, {beaten} have W <= {-threshold:.3g}: "
            f"estimated false discovery proportion ({offset} + {beaten}) / {divisor} = "
            f"{(offset + beaten) / (copies * count):.3g}, at most {fdr:g}."
        )
    positive = int(np.sum(W > 0))
    parts = [f"Nothing was selected at fdr {fdr:g}."]
    if offset == 1:
        needed = fewest_selected(fdr, copies)
        with_copies = f"With {copies} knockoff copies" if copies > 1 else "With one knockoff of each feature"
        share = f"1 / ({copies} x {fdr:g})" if copies > 1 else f"1 / {fdr:g}"
        parts.append(
            f"{with_copies} at least {needed} {_features(needed)} must be selected together ({share}), "
            f"and {positive} of {len(W)} features had W > 0."
        )
        if copies == 1 and draws_copies:
            parts.append("With more copies fewer features suffice.")
    else:
        parts.append(f"{positive} of {len(W)} features had W > 0.")
    parts.append(_what_would_select(W, offset, copies))
    return " ".join(parts) + _alike(selected, own_correlation)


def _alike(selected: np.ndarray, own_correlation: float) -> str:
    """What to do where nothing was selected because columns can hardly be told apart."""
    if selected.any() or own_correlation < ALIKE:
        return ""
    return (
        f" Columns have a mean correlation of {own_correlation:.2f} with their own knockoffs, because they are strongly "
        "correlated with each other: no method can tell them apart. Select groups of correlated columns, or larger groups "
        "(--group-threshold 0.8, or groups=)."
    )


def _features(count: int) -> str:
    return "feature" if count == 1 else "features"


def _what_would_select(W: np.ndarray, offset: int, copies: int) -> str:
    candidates, estimates = estimated_fdp(W, offset, copies)
    if not len(candidates) or estimates.min() >= 1:
        return "No fdr below 1 would select anything: the features do no better than their knockoffs."
    smallest = estimates.min()
    count = int(np.sum(W >= candidates[np.flatnonzero(estimates == smallest)[0]]))
    # Rounded up, so that the level named does select.
    level = math.ceil(smallest * 1000) / 1000
    return f"The smallest fdr that would select something is {level:g} ({count} {_features(count)})."


def _reason_for_draws(W: np.ndarray, q: np.ndarray, selected: np.ndarray, fdr: float, n_draws: int, copies: int) -> str:
    if selected.any():
        return f"{int(selected.sum())} features pass e-BH at fdr {fdr:g} on e-values averaged over {n_draws} draws."
    needed = fewest_selected(fdr, copies)
    smallest = q.min()
    count = int(np.sum(q == smallest))
    return (
        f"Nothing was selected at fdr {fdr:g}: no e-value averaged over {n_draws} draws was large enough for e-BH. "
        f"At least {needed} {_features(needed)} must be found together, in nearly every draw; "
        f"{int(np.sum(W > 0))} of {len(W)} features had W > 0 on average. "
        + (
            f"The smallest fdr that would select something is {smallest:g} ({count} {_features(count)})."
            if smallest < 1
            else "No fdr below 1 would select anything."
        )
    )


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
