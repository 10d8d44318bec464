"""Stages: models that run one after the other, and how their importances are added (not in the paper).

An additive model needs few rows for main effects; a network can fit anything but needs many more. Importances are added in
one unit, the share of the response's variance (of the deviance, for classes) that a stage explains on held-out rows, divided
among units in proportion to |W_j|. A stage that predicts nothing weighs nothing. All members of a unit are treated alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from grip2.errors import Grip2Error
from grip2.facts import StageFacts
from grip2.filter import contrast
from grip2.progress import Progress
from grip2.responses import Response, share_explained
from grip2.units import Layout

if TYPE_CHECKING:
    from grip2.statistics.effect_sums import WholeTable


@dataclass(frozen=True)
class StageFit:
    """What a stage found, and what it leaves to the next one."""

    importance: np.ndarray  # (members, units)
    response: Response  # for the next stage: the standardised residual, or y itself if that stage adds to `logits`
    logits: (
        np.ndarray | None
    )  # (rows, outputs) the stage's prediction, to which the next stage adds; None: a residual is left
    scale: float  # deviation of the residual, where that of y is 1
    unit_weights: np.ndarray  # (units,) from 0 to 1: how sure the stage is that a unit acts
    penalties: tuple[float, ...] = ()
    held_out_share: float = 0.0  # of the variance or deviance of y
    notes: tuple[str, ...] = ()  # what a reader should know of this fit
    # The same fit at other rows, whose residual is standardised in the same way; for a table that is read block by block.
    at_rows: Callable[[np.ndarray, Response], StageFit] | None = None

    @property
    def outputs(self) -> np.ndarray:
        """The logits of a stage that has them."""
        assert self.logits is not None
        return self.logits


class Stage(ABC):
    """A model that may come before the network of `Staged`."""

    stage_name: ClassVar[str]
    stage_explains: ClassVar[str]  # in words

    @property
    def streams(self) -> bool:
        """Can it be fitted to a table that is read block by block?"""
        return False

    def streamed(self, whole: WholeTable) -> Stage:
        """The stage for one knockoff draw of a table that is read block by block; ``whole`` computes sums over all rows."""
        raise Grip2Error(
            f"{type(self).__name__}: this stage needs all rows in memory at once. Use EffectPosterior(), which reads a table "
            "block by block."
        )

    @abstractmethod
    def fit_stage(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        *,
        rng: np.random.Generator,
        fit_rows: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> StageFit:
        """Fit to the standardised columns ``Z`` (rows, members p) of all members.

        ``fit_rows``: the numbers of the rows to fit on, all by default. Residual and logits are those of all rows.
        ``progress`` need not be called.
        """

    def facts(self, fit: StageFit) -> StageFacts:
        return StageFacts(
            self.stage_name, self.stage_explains, "response", fit.held_out_share, fit.penalties, fit.notes
        )


def rehearse_stage(
    stage: Stage,
    Z: np.ndarray,
    layout: Layout,
    response: Response,
    *,
    kept: np.ndarray,
    held_out: np.ndarray,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> StageFit:
    """The stage fitted to the rows ``kept`` only, with the share that it explains of the rows ``held_out``."""
    fit = stage.fit_stage(Z, layout, response, rng=rng, fit_rows=kept, progress=progress)
    return replace(fit, held_out_share=held_out_share(fit, response, kept, held_out))


def held_out_share(fit: StageFit, response: Response, kept: np.ndarray, held_out: np.ndarray) -> float:
    """Share of the loss of the best constant that a fit to the rows ``kept`` removes on the rows ``held_out``; at least 0."""
    judged = response.take(held_out)
    null = judged.mean_loss(response.take(kept).constant_outputs(prior_rows=1.0))
    if fit.logits is not None:
        left = judged.mean_loss(fit.logits[held_out])
    else:
        left = fit.response.take(held_out).mean_loss(np.zeros(1)) * fit.scale**2
    return share_explained(left, null)


def combined_importance(parts: Sequence[tuple[np.ndarray, float]]) -> np.ndarray:
    """(members, units) the sum of the importances of several models, in units of the share that each explains."""
    total = np.zeros_like(parts[0][0], dtype=float)
    if not any(share > 0 for _, share in parts):
        parts = [(importance, 1.0) for importance, _ in parts]  # no model predicts anything: all count alike
    for importance, share in parts:
        size = float(np.abs(contrast(importance)).sum())
        if size > 0:
            total += share * importance / size
    return total
