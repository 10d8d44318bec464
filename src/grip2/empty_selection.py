"""Explains an empty selection: the strongest features, the likely cause, and the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grip2.copies import why_impossible
from grip2.decision import Decision
from grip2.facts import LimitingUnit
from grip2.filter import estimated_fdp, fewest_selected
from grip2.plain_text import short_name

# A mean correlation of columns with their own knockoffs of at least this is the likely cause of an empty selection.
ALIKE = 0.9
# Columns are said to resemble others if their largest correlations are on average at least this.
RESEMBLES = 0.8
# Features that are named, and whose correlations with their knockoffs are looked at.
STRONGEST = 3
# Leading features that win against all copies count as more than chance if this would have a smaller probability by chance.
CHANCE = 0.1
# Knockoffs score far above every feature from so many times the largest W on; by chance they often do so by less.
FAR = 2.0
# Below this share of the response on held-out rows, models are said to predict nothing.
PREDICTS = 0.01
# A smaller share than this may be chance, if rows are few.
BY_CHANCE = 0.1


@dataclass(frozen=True)
class Request:
    """What was asked for, and facts about the sampler and the models."""

    fdr: float
    offset: int
    n_draws: int
    copies: int
    names: Sequence[str] = ()
    draws_copies: bool = True  # could the sampler draw more copies than these?
    correlations: Sequence[float] = ()  # of every unit with its own knockoff
    own_correlation: float = 0.0  # the mean over all columns
    explained: float | None = None  # the largest held-out share of a stage; None: not measured
    limiting: Sequence[LimitingUnit] = ()  # units that resemble their knockoffs, and the others that they resemble


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
    listed = [f"{', '.join(names)} ({level})" for level, names in named.items()]
    return f"The strongest {'was' if len(leading) == 1 else 'were'} {'; '.join(listed)}."


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
    """A level in three digits, rounded up so that a selection at the rounded level is not empty."""
    return math.ceil(round(level * 1000, 9)) / 1000


def _cause(W: np.ndarray, request: Request) -> str:
    """The likely cause and the next step; causes that are most certain are tried first."""
    if request.offset == 1:
        impossible = why_impossible(request.fdr, request.copies, len(W), draws_copies=request.draws_copies)
        if impossible:
            return f"The request was impossible: {impossible}"
    cause = _alike(W, request) or _beaten(W, request)
    return (
        cause
        or _too_few(W, request)
        or " ".join(part for part in (_outscored(W, request), _no_signal(request)) if part)
    )


def _alike(W: np.ndarray, request: Request) -> str:
    """Columns can hardly be told from their knockoffs: all of them on average, or the leading ones."""
    correlation, whose, names = request.own_correlation, "columns", list(request.names)
    leading = np.argsort(-W, kind="stable")[:STRONGEST]
    leading = leading[W[leading] > 0]
    if correlation < ALIKE and len(request.correlations) == len(W) and len(leading):
        correlation, whose = float(np.mean(np.asarray(request.correlations)[leading])), "the strongest features"
        names = [request.names[j] for j in leading] if len(request.names) else []
    if correlation < ALIKE:
        return ""
    resemblances = [unit.resemblance for unit in request.limiting if unit.name in names]
    if resemblances and np.mean(resemblances) >= RESEMBLES:
        return (
            f"Likely cause: {whose} have a mean correlation of {correlation:.2f} with their own knockoffs, because they are "
            f"strongly correlated with other columns (by up to {_rounded_down(max(resemblances)):.2f}), and no method can tell "
            "them apart. Next step: select groups of correlated columns, or larger groups (--group-threshold 0.8, or groups=)."
        )
    alone = (
        f", though no single column is correlated with them by more than {max(resemblances):.2f}"
        if resemblances
        else ""
    )
    fewer = ", draw fewer copies (--copies 1)" if request.copies > 1 else ""
    return (
        f"Likely cause: the fitted knockoffs of {whose} resemble them (mean correlation {correlation:.2f}){alone}. Next step: "
        f"try other knockoffs (--knockoffs sequential){fewer}, leave out or pool columns with very few ones, or select groups of "
        "columns that determine each other (groups=)."
    )


def _rounded_down(correlation: float) -> float:
    """So that 0.998 is not told as 1."""
    return math.floor(round(correlation * 100, 9)) / 100


def _beaten(W: np.ndarray, request: Request) -> str:
    """If features block others: they are as strong as the leading ones, but a knockoff that resembles them scored higher."""
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


def _outscored(W: np.ndarray, request: Request) -> str:
    """Knockoffs that score far above every feature, whatever they resemble, and what that means for the list of one draw."""
    leading = float(np.max(W, initial=0.0))
    above = np.flatnonzero(-W >= FAR * leading)
    if request.n_draws > 1 or leading <= 0 or not len(above) or not len(request.names):
        return ""
    above = above[np.argsort(W[above], kind="stable")]
    named = [short_name(request.names[j]) for j in above[:STRONGEST]]
    if len(above) > STRONGEST:
        named.append(f"{len(above) - STRONGEST} more")
    who = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    scores = ", ".join(f"{W[j]:.3g}" for j in above[:STRONGEST])
    single = len(above) == 1 and request.copies == 1
    needed = math.ceil(round((request.offset + len(above)) / (request.copies * request.fdr), 9))
    means = (
        "nothing can be selected at this fdr"
        if needed > len(W) - len(above)
        else f"at least {count_features(needed)} must be selected together at this fdr"
    )
    return (
        f"The {'knockoff' if single else 'knockoffs'} of {who} {'scores' if single else 'score'} highest of all (W = {scores}): "
        f"with {'it' if single else 'them'} above every feature {means}."
    )


def _too_few(W: np.ndarray, request: Request) -> str:
    """If more features win against every knockoff than chance explains, but too few for the rate."""
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
