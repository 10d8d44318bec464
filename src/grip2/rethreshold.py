"""Selects at another fdr from the numbers of a fit: nothing is fitted again.

Exact: selection, threshold, q-values, e-values and frequencies are those of a fit at the other fdr with the same seed and the
same number of copies. Two things may differ from such a fit, and the new result says so: ``copies="auto"`` might have chosen
another number, and the description of effects is that of the features selected by the fit.
"""

from __future__ import annotations

from dataclasses import replace

from grip2.copies import AUTOMATIC, automatic_copies
from grip2.decision import Decision, Evidence
from grip2.errors import Grip2Error
from grip2.explain import reason_for
from grip2.feature_effects import EffectDescription
from grip2.filter import check_fdr, fewest_selected
from grip2.plain_text import short_name
from grip2.result import SelectionResult

SHOWN_NAMES = 10


def at_fdr(result: SelectionResult, fdr: float) -> SelectionResult:
    """The result of the same fit at ``fdr``."""
    check_fdr(fdr)
    known, fdr = result.origin or result, float(fdr)
    if fdr == known.fdr:
        return known
    decision = _evidence(known).decide(fdr)
    of_fit = known.fitted_fdr or known.fdr
    chosen = replace(
        known,
        fdr=fdr,
        selected_mask=decision.selected,
        threshold=decision.threshold,
        e_values=decision.e_values,
        frequency=decision.frequency,
        fitted_fdr=None if fdr == of_fit else of_fit,
        origin=known,
    )
    return _retold(chosen, decision, known)


def _evidence(known: SelectionResult) -> Evidence:
    draws = [known.W] if known.n_draws == 1 else known.W_draws
    if draws is None:
        raise Grip2Error(
            f"SelectionResult.at: the statistics of each of the {known.n_draws} draws are needed, but this result was written "
            "without them, by an earlier version of grip2. Run the selection again."
        )
    return Evidence(known.W, known.q_values, list(draws), known.copies, known.offset)


def _retold(chosen: SelectionResult, decision: Decision, known: SelectionResult) -> SelectionResult:
    """The selection with its own reason, assumptions and descriptions."""
    quality = known.knockoff_quality
    reason = reason_for(
        decision,
        fdr=chosen.fdr,
        offset=chosen.offset,
        n_draws=chosen.n_draws,
        copies=chosen.copies,
        draws_copies=quality.draws_copies,
        own_correlation=quality.mean_correlation,
        correlations=quality.unit_correlations,
        names=chosen.feature_names,
        explained=chosen.facts.explained,
        limiting=quality.limiting,
    )
    effects = _described(chosen)
    # Sentences about the fdr of the known result are replaced by those about the chosen one.
    effects_notes = () if effects is None else _instead(effects.notes, _about_effects(known), _about_effects(chosen))
    return replace(
        chosen,
        reason=" ".join([reason, *_differences(chosen)]),
        assumptions=_instead(known.assumptions, _chosen_afterwards(known), _chosen_afterwards(chosen)),
        copies_reason=_copies_reason(chosen),
        level_contrasts=tuple(each for each in known.level_contrasts if each.variable in _columns(chosen)),
        effects=None if effects is None else replace(effects, notes=effects_notes),
    )


def _instead(sentences: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    """The sentences without ``old`` and, unless it is empty, with ``new``."""
    kept = [sentence for sentence in sentences if sentence != old]
    return (*kept, new) if new else tuple(kept)


def _differences(chosen: SelectionResult) -> list[str]:
    """Differences to a fit at this fdr, one sentence each."""
    sentences = []
    if chosen.fitted_fdr is not None:
        sentences.append(f"Thresholded anew after a fit at fdr {chosen.fitted_fdr:g}.")
    automatic = _automatic(chosen)
    if automatic not in (None, chosen.copies):
        sentences.append(
            f"A fit at fdr {chosen.fdr:g} would draw {automatic} knockoff {'copy' if automatic == 1 else 'copies'} of every "
            f'feature, not {chosen.copies} (copies="auto"), and may select other features.'
        )
    new = [] if chosen.effects is None else [name for name in chosen.selected if name not in chosen.effects]
    if new:
        more = f" and {len(new) - SHOWN_NAMES} more" if len(new) > SHOWN_NAMES else ""
        names = ", ".join(map(short_name, new[:SHOWN_NAMES])) + more
        sentences.append(f"Selected, but not described, as a fit at fdr {chosen.fdr:g} would: {names}.")
    return sentences


def _automatic(chosen: SelectionResult) -> int | None:
    """The copies that a fit at this fdr would choose; None: the number was given, or it is not known."""
    if chosen.settings.get("copies") != AUTOMATIC or chosen.copies_limit is None:
        return None
    return automatic_copies(chosen.fdr, chosen.copies_limit, len(chosen.W), chosen.n_draws)


def _copies_reason(chosen: SelectionResult) -> str:
    if chosen.settings.get("copies") != AUTOMATIC or not chosen.knockoff_quality.draws_copies:
        return chosen.copies_reason
    fewest = fewest_selected(chosen.fdr, chosen.copies)
    fitted = chosen.fitted_fdr or chosen.fdr
    return f"automatic for a fit at fdr {fitted:g}; at fdr {chosen.fdr:g} as few as {fewest} can be selected"


def _chosen_afterwards(chosen: SelectionResult) -> str:
    if chosen.fitted_fdr is None:
        return ""
    return (
        f"The fdr of {chosen.fdr:g} was set after a fit at {chosen.fitted_fdr:g}. The rate is controlled at every fdr that is "
        "chosen without looking at the result, not at one that is chosen because of what it selects."
    )


def _about_effects(chosen: SelectionResult) -> str:
    if chosen.fitted_fdr is None:
        return ""
    return (
        f"Described are features that were selected at fdr {chosen.fitted_fdr:g}, by one model of them all; shares include "
        f"interactions with those that are not selected at fdr {chosen.fdr:g}."
    )


def _columns(chosen: SelectionResult) -> set[str]:
    """Columns of the selected units."""
    return {column for name in chosen.selected for column in (name, *chosen.groups.get(name, ()))}


def _described(chosen: SelectionResult) -> EffectDescription | None:
    """The effects of features that are still selected, with partners that are."""
    if chosen.effects is None:
        return None
    names = set(chosen.selected)
    still = [effect for effect in chosen.effects if effect.name in names]
    return replace(
        chosen.effects,
        features=tuple(
            replace(effect, interactions=tuple(each for each in effect.interactions if each.partner in names))
            for effect in still
        ),
    )
