"""EffectPosterior: a Bayesian additive model of single effects (not in the paper).

Each unit acts through one of its members, the original or one of its m knockoff copies, or not at all. The member that acts
does so through one or more of the basis functions (a line, a V, an S: `grip2.statistics.basis`) of one or more of its columns,
with spike-and-slab priors:

    y = sum_j f_j(column j of the acting member of its unit) + noise,    f_j = a sum of some basis functions, or 0.

The importance of a member is the posterior probability that the unit acts through it. The model knows that all members of a
unit but one are knockoffs without effect, but not which: all have the same prior. A unit that does not act says nothing about
which member is the original, so with one copy

    W_j = P(original acts) - P(knockoff acts) = 2 P(the first member is the original | masked data) - 1,

a masked likelihood ratio statistic in the sense of Spector & Fithian, "Asymptotically optimal knockoff statistics via the
masked likelihood ratio" (2022), who show that it is asymptotically the most powerful one where the model holds. Where it does
not hold, the guarantee stays and power may suffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.facts import StageFacts
from grip2.progress import Progress
from grip2.responses import Measurement, Response
from grip2.result import Importance
from grip2.statistics.base import Statistic, check_whole
from grip2.statistics.effect_sampler import SWEEPS, EffectFit, fit_effects
from grip2.statistics.lasso_curves import LassoCurves
from grip2.statistics.stage import Stage, StageFit
from grip2.symmetry import Members
from grip2.units import Layout


class EffectPosterior(Statistic, Stage):
    """Posterior probability of having an effect in an additive model of lines and curves.

    Takes about a second on tables on which a network takes minutes, and cannot see features that act only together. For
    classes, probabilities are those of the 0/1 label of each class against the rest, summed over classes; for counts and times to
    an event, those of the working response of a penalised model by likelihood.

    Parameters
    ----------
    curves : bool
        Include the bent basis functions of every column. False: straight lines only.
    sweeps : int
        Of the Gibbs sampler, the first fifth of which is discarded as burn-in.
    """

    stage_name: ClassVar[str] = "effects"
    stage_explains: ClassVar[str] = "effects of single features, straight or curved (Bayesian additive model)"

    def __init__(self, *, curves: bool = True, interactions: bool = True, sweeps: int = SWEEPS) -> None:
        self.curves = curves
        self.interactions = interactions
        self.sweeps = sweeps

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        Z = members.standardised(np.float32)
        vectors = response.contrasts
        if response.has_working_response:
            vectors = response.working_responses(self._lassos(Z, members.layout, response, rng).outputs)
        return Importance(self._probabilities(Z, members.layout, vectors, None, rng))

    def fit_stage(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        *,
        rng: np.random.Generator,
        fit_rows: np.ndarray | None = None,
    ) -> StageFit:
        self._check_settings()
        if response.leaves_residual:
            fit = self._fit(Z, layout, response.y, fit_rows, stream(rng, "posterior"))
            weights = _unit_weights(fit.probability)
            left = Measurement.residual(fit.residual, fit_rows)
            return StageFit(fit.probability, left, None, left.scale, weights)
        # The additive model is one of measurements. Outputs come from lassos, which model the response; probabilities of
        # its working responses, or of 0/1 labels, find more. That these are not normal can cost power and nothing else.
        lassos = self._lassos(Z, layout, response, rng, fit_rows)
        vectors = response.working_responses(lassos.outputs)
        found = self._probabilities(Z, layout, vectors, fit_rows, stream(rng, "posterior"))
        return StageFit(found, response, lassos.logits, 1.0, _unit_weights(found), lassos.penalties)

    def _lassos(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        rng: np.random.Generator,
        fit_rows: np.ndarray | None = None,
    ) -> StageFit:
        return LassoCurves(curves=bool(self.curves)).fit_stage(Z, layout, response, rng=rng, fit_rows=fit_rows)

    def facts(self, fit: StageFit) -> StageFacts:
        told = super().facts(fit)
        if fit.logits is None:
            return told
        return replace(told, explains=f"{told.explains}; for {fit.response.noun} the share is that of two lassos")

    def _probabilities(
        self,
        Z: np.ndarray,
        layout: Layout,
        vectors: Sequence[np.ndarray],
        fit_rows: np.ndarray | None,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """(members, units) summed over the ``vectors`` (rows,), each a response of its own."""
        fits = [self._fit(Z, layout, one, fit_rows, rng) for one in vectors]
        return np.asarray(np.sum([fit.probability for fit in fits], axis=0))

    def _fit(
        self, Z: np.ndarray, layout: Layout, y: np.ndarray, fit_rows: np.ndarray | None, rng: np.random.Generator
    ) -> EffectFit:
        # A fit to some rows serves a rehearsal only, and needs fewer sweeps.
        sweeps = self.sweeps if fit_rows is None else max(1, self.sweeps // 2)
        return fit_effects(
            Z,
            layout,
            y,
            rng=rng,
            fit_rows=fit_rows,
            curves=bool(self.curves),
            interactions=bool(self.interactions),
            sweeps=sweeps,
        )

    def _check_settings(self) -> None:
        check_whole(self, "sweeps")
        if not isinstance(self.curves, bool | np.bool_):
            raise Grip2Error(f"EffectPosterior: curves must be True or False, got {self.curves!r}.")


def _unit_weights(probability: np.ndarray) -> np.ndarray:
    """(units,) the probability that any member acts."""
    return np.asarray(np.minimum(1.0, sum(probability[1:], start=probability[0])))
