"""Makes the record of a selection: what was drawn and decided, with reasons and assumptions in words."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Any

import numpy as np

from grip2.copies import CopiesChoice
from grip2.decision import Decision, Evidence
from grip2.draws import Drawn, OneRowEach
from grip2.explain import assumptions_behind, reason_for
from grip2.facts import KnockoffQuality
from grip2.knockoff_quality import knockoff_quality
from grip2.knockoffs import KnockoffSampler
from grip2.lasso_beside import lasso_comparison
from grip2.level_contrasts import level_contrasts
from grip2.responses import Response
from grip2.result import SelectionResult
from grip2.statistics.base import Statistic
from grip2.tables import PreparedTable

_REPORTED_PACKAGES = ("grip2", "jax", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Fit:
    """The outcome of a fit: the table, the models that were fitted to it, and the draws."""

    drawn: Drawn
    table: PreparedTable
    response: Response  # of the rows that were scored, including rows that the sampler added
    response_of_table: Response  # of the rows of ``table``
    statistic: Statistic
    sampler: KnockoffSampler
    copies: CopiesChoice
    n_rows: int  # given by the user
    one_row_each: OneRowEach | None  # where rows belong together

    @property
    def n_added(self) -> int:
        """Rows that the sampler added."""
        return len(self.response) - self.n_rows

    @property
    def n_clusters(self) -> int:
        """Of rows that belong together; 0: all are independent."""
        return 0 if self.one_row_each is None else len(self.one_row_each)

    def describe_response(self) -> str:
        """The response, and where rows belong together how many of them a draw uses."""
        told = self.response.describe()
        if self.one_row_each is None:
            return told
        used = f"{self.n_clusters:,} of {self.n_rows:,} rows, one of each cluster, in every draw"
        holds = self.response.describe_part(self.one_row_each.expected)
        return f"{told}; {used}, with {holds}" if holds else f"{told}; {used}"

    def knockoff_quality(self) -> KnockoffQuality:
        return knockoff_quality(
            self.sampler,
            self.copies.copies,
            units=self.table.units.units,
            names=self.table.units.names,
            lines_only=self.statistic.lines_only,
            explained=self.drawn.importances[0].facts.explained,
        )


def selection_record(
    fit: Fit, *, fdr: float, offset: int, n_draws: int, settings: dict[str, Any], seed: int | None, seconds: float
) -> SelectionResult:
    """The selection at ``fdr``, and everything that a reader should know of it."""
    importances, copies, names = fit.drawn.importances, fit.copies.copies, fit.table.units.names
    evidence = Evidence.of(importances, offset=offset)
    decision = evidence.decide(fdr)
    quality = fit.knockoff_quality()
    return SelectionResult(
        feature_names=names,
        W=decision.W,
        q_values=decision.q_values,
        selected_mask=decision.selected,
        original=np.mean([importance.original for importance in importances], axis=0),
        knockoff=np.mean([importance.knockoff for importance in importances], axis=0),
        fdr=fdr,
        offset=offset,
        threshold=decision.threshold,
        reason=_reason(fit, decision, quality, fdr=fdr, offset=offset, n_draws=n_draws),
        assumptions=tuple(
            assumptions_behind(
                fit.sampler,
                fit.statistic,
                fit.response,
                offset,
                copies=copies,
                grouped=not fit.table.units.units.all_single,
                n_added=fit.n_added,
                n_clusters=fit.n_clusters,
            )
        ),
        facts=importances[0].facts,
        knockoff_quality=quality,
        settings=settings,
        task=fit.response.task,
        response=fit.describe_response(),
        n_rows=fit.n_rows,
        seed=seed,
        versions={name: importlib.metadata.version(name) for name in _REPORTED_PACKAGES},
        seconds=seconds,
        copies=copies,
        copies_reason=fit.copies.reason,
        copies_limit=fit.copies.limit,
        W_draws=np.array(evidence.draws) if len(evidence.draws) > 1 else None,
        e_values=decision.e_values,
        frequency=decision.frequency,
        groups=fit.table.stands_for(),
        columns=tuple(variable.facts() for variable in fit.table.variables),
        level_contrasts=() if fit.n_added else level_contrasts(fit.table, fit.response_of_table, decision.selected),
        lasso=lasso_comparison(fit.drawn.beside, offset),
        surface=importances[0].surface,
    )


def _reason(fit: Fit, decision: Decision, quality: KnockoffQuality, *, fdr: float, offset: int, n_draws: int) -> str:
    return reason_for(
        decision,
        fdr=fdr,
        offset=offset,
        n_draws=n_draws,
        copies=fit.copies.copies,
        draws_copies=fit.sampler.draws_copies,
        own_correlation=quality.mean_correlation,
        correlations=quality.unit_correlations,
        names=fit.table.units.names,
        explained=fit.drawn.importances[0].facts.explained,
        limiting=quality.limiting,
    )
