"""An empty selection in words: the strongest features, the likely cause, and the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grip2.copies import why_impossible
from grip2.decision import Decision
from grip2.filter import estimated_fdp, fewest_selected
from grip2.plain_text import short_name

# From this mean correlation of columns with their own knockoffs on, an empty selection is put down to it.
ALIKE = 0.9
# Features that are named, and whose correlations with their knockoffs are looked at.
STRONGEST = 3
# So many leading features that win against all copies are taken for more than chance below this probability.
CHANCE = 0.1
# Below this share of the response on held-out rows, models are said to predict nothing.
PREDICTS = 0.01
# Below this share, noise may have been predicted by chance where rows are few.
BY_CHANCE = 0.1


@dataclass(frozen=True)
class Request:
    """What was asked for, and what the sampler and the models had to say."""

    fdr: float
    offset: int
    n_draws: int
    copies: int
    names: Sequence[str] = ()
    draws_copies: bool = True  # could the sampler draw more copies than these?
    correlations: Sequence[float] = ()  # of every unit with its own knockoff
    own_correlation: float = 0.0  # the mean over all columns
    explained: float | None = None  # the largest held-out share of a stage; None: not measured


def why_empty(decision: Decision, request: Request) -> str:
    """Why nothing was selected, and what to do, in a few sentences."""
    if request.n_draws > 1:
        parts = [*_of_draws(decision, request), _strongest(decision, request)]
    else:
        parts = [*_of_one_draw(decision, request), _strongest(decision, request)]
        parts.append(_what_would_select(decision.W, request.offset, request.copies))
    parts.append(_cause(decision.W, request))
    return " ".join(part for part in parts if part)


def strongest(decision: Decision) -> np.ndarray:
    """The numbers of the leading units, those with W > 0 only."""
    rank = np.zeros_like(decision.W) if decision.frequency is None else decision.frequency
    order = np.lexsort((-decision.W, -rank))[:STRONGEST]
    return order[decision.W[order] > 0]


def count_features(count: int) -> str:
    return f"{count} {'feature' if count == 1 else 'features'}"


def _of_one_draw(decision: Decision, request: Request) -> list[str]:
    W, fdr, copies = decision.W, request.fdr, request.copies
    positive = f"{int(np.sum(W > 0))} of {len(W)} features had W > 0."
    parts = [f"Nothing was selected at fdr {fdr:g}."]
    if request.offset == 0:
        return [*parts, positive]
    needed = fewest_selected(fdr, copies)
    with_copies = f"With {copies} knockoff copies" if copies > 1 else "With one knockoff of each feature"
    share = f"1 / ({copies} x {fdr:g})" if copies > 1 else f"1 / {fdr:g}"
    parts.append(f"{with_copies} at least {count_features(needed)} must be selected together ({share}), and {positive}")
    if copies == 1 and request.draws_copies:
        parts.append("With more copies fewer features suffice.")
    return parts


def _of_draws(decision: Decision, request: Request) -> list[str]:
    W, q, fdr = decision.W, decision.q_values, request.fdr
    needed, smallest = fewest_selected(fdr, request.copies), q.min()
    count = int(np.sum(q == smallest))
    return [
        f"Nothing was selected at fdr {fdr:g}: no e-value averaged over {request.n_draws} draws was large enough for e-BH. "
        f"At least {count_features(needed)} must be found together, in nearly every draw; "
        f"{int(np.sum(W > 0))} of {len(W)} features had W > 0 on average.",
        f"The smallest fdr that would select something is {smallest:g} ({count_features(count)})."
        if smallest < 1
        else "No fdr below 1 would select anything.",
    ]


def _strongest(decision: Decision, request: Request) -> str:
    leading = strongest(decision)
    if not len(leading) or not request.names:
        return ""
    named: dict[str, list[str]] = {}
    for j in leading:
        named.setdefault(_selected_from(decision.q_values[j]), []).append(short_name(request.names[j]))
    told = [f"{', '.join(names)} ({level})" for level, names in named.items()]
    return f"The strongest {'was' if len(leading) == 1 else 'were'} {'; '.join(told)}."


def _selected_from(q_value: float) -> str:
    return f"selected from fdr {rounded_up(q_value):g} on" if q_value < 1 else "at no fdr below 1"


def _what_would_select(W: np.ndarray, offset: int, copies: int) -> str:
    candidates, estimates = estimated_fdp(W, offset, copies)
    if not len(candidates) or estimates.min() >= 1:
        return "No fdr below 1 would select anything: the features do no better than their knockoffs."
    smallest = estimates.min()
    count = int(np.sum(W >= candidates[np.flatnonzero(estimates == smallest)[0]]))
    return f"The smallest fdr that would select something is {rounded_up(smallest):g} ({count_features(count)})."


def rounded_up(level: float) -> float:
    """So that the level named does select."""
    return math.ceil(round(level * 1000, 9)) / 1000


def _cause(W: np.ndarray, request: Request) -> str:
    """The likely cause and the next step, the surest cause first."""
    if request.offset == 1:
        impossible = why_impossible(request.fdr, request.copies, len(W), draws_copies=request.draws_copies)
        if impossible:
            return f"The request was impossible: {impossible}"
    return _alike(W, request) or _beaten(W, request) or _too_few(W, request) or _no_signal(request)


def _alike(W: np.ndarray, request: Request) -> str:
    """Columns can hardly be told from their knockoffs: all of them on average, or the leading ones."""
    correlation, whose = request.own_correlation, "Columns have"
    leading = np.argsort(-W, kind="stable")[:STRONGEST]
    leading = leading[W[leading] > 0]
    if correlation < ALIKE and len(request.correlations) == len(W) and len(leading):
        correlation, whose = float(np.mean(np.asarray(request.correlations)[leading])), "The strongest features have"
    if correlation < ALIKE:
        return ""
    return (
        f"Likely cause: {whose[0].lower()}{whose[1:]} a mean correlation of {correlation:.2f} with their own knockoffs, because "
        "they are strongly correlated with other columns, and no method can tell them apart. Next step: select groups of "
        "correlated columns, or larger groups (--group-threshold 0.8, or groups=)."
    )


def _beaten(W: np.ndarray, request: Request) -> str:
    """Features that stand in the way: as strong as the leading ones, but a knockoff that resembles them scored higher."""
    if len(request.correlations) != len(W) or not len(request.names) or not (W > 0).any():
        return ""
    leading = np.sort(W[W > 0])[-STRONGEST:][0]
    order = np.argsort(W, kind="stable")
    beaten = [j for j in order if -W[j] >= leading and request.correlations[j] >= ALIKE][:STRONGEST]
    if not beaten:
        return ""
    named = ", ".join(f"{short_name(request.names[j])} (correlation {request.correlations[j]:.2f})" for j in beaten)
    return (
        "Likely cause: features as strong as any scored below a knockoff of their own, which resembles them because other "
        f"columns nearly determine them: {named}. Such a loss counts against all weaker features. Next step: leave out columns "
        "that others determine, or select them together, as one group (--groups FILE, or groups=)."
    )


def _too_few(W: np.ndarray, request: Request) -> str:
    """More features win against every knockoff than chance explains, but too few for the rate."""
    beaten = float(np.max(-W, initial=0.0))
    leading = int(np.sum(beaten < W))
    if request.offset == 0 or (1 / (1 + request.copies)) ** leading > CHANCE:
        return ""
    needed = fewest_selected(request.fdr, request.copies)
    if leading >= needed:
        return ""
    enough = math.ceil(round(1 / (leading * request.fdr), 9))
    more = f"draw {enough} copies (--copies {enough}, or copies={enough})" if request.draws_copies else ""
    level = rounded_up(1 / (request.copies * leading))
    steps = [step for step in (more, f"ask for fdr {level:g}" if level < 1 else "") if step]
    return (
        f"Likely cause: too few. {count_features(leading)} stood above every knockoff, where {needed} are needed. "
        f"Next step: {' or '.join(steps)}."
    )


def _no_signal(request: Request) -> str:
    explained = request.explained
    if explained is not None and explained < PREDICTS:
        seen = f"no signal: the models predict {100 * explained:.1f} % of the response on rows held out"
    elif explained is not None:
        weak = "a weak signal, or none" if explained < BY_CHANCE else "a weak signal"
        seen = (
            f"{weak}: the models predict {100 * explained:.0f} % of the response on rows held out, but knockoffs do so "
            "nearly as well as the features"
        )
    else:
        seen = "no signal, one too weak for so few rows, or one that this statistic does not see"
    return (
        f"Likely cause: {seen}. Next step: check that the target and the roles of the columns are right; then more rows, "
        "fewer candidate columns, or groups of them."
    )
