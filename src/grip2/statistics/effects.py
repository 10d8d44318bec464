"""EffectPosterior: a Bayesian model of single effects and of pairs (not in the paper).

Each unit acts through one of its members, the original or one of its m knockoff copies, or not at all. The member that acts
does so through basis functions (a line, a V, steps, ...: `grip2.statistics.basis`) of one or more of its columns, and through
products of one of its functions with one of another unit's, with spike-and-slab priors:

    y = sum_j f_j(x_j) + sum_(j, k) b_jk g_jk(x_j) h_jk(x_k) + noise,    x_j: column j of the acting member of its unit,

where f_j is a sum of some basis functions, or 0, and most b_jk are 0. One member of a unit acts in all its terms. How many terms
act, along which functions, and how large effects and noise are is learned (`function_use`, `effect_chain`).

The importance of a member is the posterior probability that the unit acts through it, in any term. The model knows that all
members of a unit but one are knockoffs without effect, but not which: all have the same prior. A unit that does not act says
nothing about which member is the original, so with one copy

    W_j = P(original acts) - P(knockoff acts) = 2 P(the first member is the original | masked data) - 1,

a masked likelihood ratio statistic in the sense of Spector & Fithian, "Asymptotically optimal knockoff statistics via the
masked likelihood ratio" (2022), who show that it is asymptotically the most powerful one where the model holds. Where it does
not hold, the guarantee stays and power may suffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from grip2._random import stream
from grip2.errors import Grip2Error
from grip2.facts import StageFacts
from grip2.progress import Progress, share_progress
from grip2.responses import Measurement, Response
from grip2.result import Importance
from grip2.statistics.base import Statistic, check_whole
from grip2.statistics.effect_model import LEAST_PRODUCTS, LONG_TABLE
from grip2.statistics.effect_sampler import SWEEPS, EffectFit, fit_effects, sample_posterior
from grip2.statistics.effect_sums import WholeTable
from grip2.statistics.lasso_curves import LassoCurves
from grip2.statistics.stage import Stage, StageFit
from grip2.symmetry import Members
from grip2.units import Layout

# Chains disagree on a unit if their probabilities for it differ by more than this.
DISAGREEMENT = 0.5
# A fit that serves a rehearsal makes one sweep where the fit to all rows makes so many.
REHEARSAL_SHARE = 4
# Tables with fewer rows than this, and more units than rows, are modelled by straight lines only. From so few rows a sampler
# cannot learn how columns depend on each other along curves; knockoffs lack that dependence, and a model with curves would take
# it for effects. Found on NCI60 (64 rows; `results/real`).
ROWS_FOR_CURVES = 100
# Measurements in long tables get this many times as many sweeps: sweeps cost little there beside the moments, and modes lie
# further apart. Latent measurements are drawn anew in every round, which costs time, and get no more.
SWEEPS_OF_LONG = 5


class EffectPosterior(Statistic, Stage):
    """Posterior probability of having an effect, alone or together with another feature.

    Takes seconds on tables on which a network takes minutes. For classes, labels of each class against the rest are modelled
    by latent measurements (probit), and probabilities are summed over classes; for counts and times to an event, they are
    those of the working response of a penalised model by likelihood.

    Parameters
    ----------
    curves : bool
        Include the bent basis functions of every column. False: straight lines only. Tables with fewer than 100 rows and more
        units than rows have neither curves nor interactions.
    interactions : bool
        Include products of two features. False: features act alone only.
    sweeps : int
        Of the Gibbs sampler, in all of its four chains together; the first fifth is discarded as burn-in.
    """

    relative_time: ClassVar[int] = 6
    stage_name: ClassVar[str] = "effects"
    stage_explains: ClassVar[str] = "effects of single features and of pairs, straight or curved (Bayesian model)"

    def __init__(self, *, curves: bool = True, interactions: bool = True, sweeps: int = SWEEPS) -> None:
        self.curves = curves
        self.interactions = interactions
        self.sweeps = sweeps

    @property
    def streams(self) -> bool:
        return True

    def streamed(self, whole: WholeTable) -> EffectPosterior:
        from grip2.statistics.streamed_effects import StreamedEffects  # here, because it is a subclass of this class

        self._check_settings()
        return StreamedEffects(self, whole)

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        self._check_settings()
        Z = members.standardised(np.float32)
        if response.leaves_residual or response.latent_labels:
            return Importance(self._posterior(Z, members.layout, response, None, rng, progress).importance)
        vectors = response.contrasts
        if response.has_working_response:
            vectors = response.working_responses(self._lassos(Z, members.layout, response, rng).outputs)
        return Importance(self._of_measurements(Z, members.layout, vectors, None, rng, progress))

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
        self._check_settings()
        if response.leaves_residual or response.latent_labels:
            return self._posterior(Z, layout, response, fit_rows, stream(rng, "posterior"), progress)
        # Outputs come from lassos, which model the response itself; importances come from the Bayesian model of its working
        # responses, which has more power.
        lassos = self._lassos(Z, layout, response, rng, fit_rows)
        vectors = response.working_responses(lassos.outputs)
        found = self._of_measurements(Z, layout, vectors, fit_rows, stream(rng, "posterior"), progress)
        return StageFit(found, response, lassos.logits, 1.0, unit_weights(found), lassos.penalties)

    def _posterior(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        fit_rows: np.ndarray | None,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> StageFit:
        """Fit to measurements, or to labels through latent measurements: one model gives scores and predictions."""
        if response.leaves_residual:
            fit = self._fit(Z, layout, response.y, fit_rows, rng, progress)
            left = Measurement.residual(fit.residual, fit_rows)
            notes = (*lines_only_note(Z, layout), *agreement(fit.disagreement))
            return StageFit(fit.probability, left, None, left.scale, unit_weights(fit.probability), notes=notes)
        own = response if fit_rows is None else response.take(fit_rows)
        found = sample_posterior(
            Z if fit_rows is None else Z[fit_rows],
            layout,
            own.contrasts,
            rng=rng,
            labels=True,
            progress=progress,
            **self._settings(Z, layout, fit_rows),
        )
        every = range(len(own.contrasts))
        probability = np.asarray(np.sum([found.probability(k) for k in every], axis=0))
        outputs = response.outputs_of_chances(np.column_stack([found.chances(Z, k) for k in every]))
        notes = (*lines_only_note(Z, layout), *agreement(np.max([found.disagreement(k) for k in every], axis=0)))
        return StageFit(probability, response, outputs, 1.0, unit_weights(probability), notes=notes)

    def _lassos(
        self,
        Z: np.ndarray,
        layout: Layout,
        response: Response,
        rng: np.random.Generator,
        fit_rows: np.ndarray | None = None,
    ) -> StageFit:
        curves = bool(self.curves) and not lines_only(Z, layout)
        return LassoCurves(curves=curves).fit_stage(Z, layout, response, rng=rng, fit_rows=fit_rows)

    def facts(self, fit: StageFit) -> StageFacts:
        facts = super().facts(fit)
        if not fit.penalties:
            return facts
        return replace(facts, explains=f"{facts.explains}; for {fit.response.noun} the share is that of two lassos")

    def _of_measurements(
        self,
        Z: np.ndarray,
        layout: Layout,
        vectors: Sequence[np.ndarray],
        fit_rows: np.ndarray | None,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> np.ndarray:
        """(members, units) posterior probabilities summed over the ``vectors`` (rows,), each modelled as a measurement."""
        fits = [
            self._fit(Z, layout, one, fit_rows, rng, share_progress(progress, k, len(vectors)))
            for k, one in enumerate(vectors)
        ]
        return np.asarray(np.sum([fit.probability for fit in fits], axis=0))

    def _fit(
        self,
        Z: np.ndarray,
        layout: Layout,
        y: np.ndarray,
        fit_rows: np.ndarray | None,
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> EffectFit:
        settings = self._settings(Z, layout, fit_rows, len(Z))
        return fit_effects(Z, layout, y, rng=rng, fit_rows=fit_rows, progress=progress, **settings)

    def _settings(
        self, Z: np.ndarray, layout: Layout, fit_rows: np.ndarray | None, n_measured: int = 0
    ) -> dict[str, Any]:
        """Keyword arguments of a fit; ``n_measured``: the number of rows, or 0 if the response is latent."""
        bent = not lines_only(Z, layout)
        settings = {
            "curves": bool(self.curves) and bent,
            "interactions": bool(self.interactions) and bent,
            "sweeps": self._sweeps(fit_rows, n_measured),
        }
        # A fit to some of the rows is a rehearsal: fewer sweeps and only the best products hardly change its predictions.
        return settings if fit_rows is None else settings | {"most_products": LEAST_PRODUCTS}

    def _sweeps(self, fit_rows: np.ndarray | None, n_measured: int) -> int:
        if fit_rows is not None:
            return max(1, self.sweeps // REHEARSAL_SHARE)
        return SWEEPS_OF_LONG * self.sweeps if n_measured >= LONG_TABLE else self.sweeps

    def _check_settings(self) -> None:
        check_whole(self, "sweeps")
        for name in ("curves", "interactions"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise Grip2Error(f"EffectPosterior: {name} must be True or False, got {value!r}.")


def lines_only(Z: np.ndarray, layout: Layout) -> bool:
    """Does a table have so few rows that only straight lines are modelled?"""
    return len(Z) < min(ROWS_FOR_CURVES, len(layout.units))


def lines_only_note(Z: np.ndarray, layout: Layout) -> tuple[str, ...]:
    """A note for the reader, if only straight lines were modelled."""
    if not lines_only(Z, layout):
        return ()
    return (
        f"With {len(Z)} rows and {len(layout.units)} units only straight lines were modelled: how columns depend on each other "
        "along curves cannot be learned from so few rows.",
    )


def unit_weights(probability: np.ndarray) -> np.ndarray:
    """(units,) the probability that any member acts."""
    return np.asarray(np.minimum(1.0, sum(probability[1:], start=probability[0])))


def agreement(disagreement: np.ndarray) -> tuple[str, ...]:
    """A note for the reader, if the chains of the sampler disagree on some units."""
    torn = int(np.count_nonzero(disagreement > DISAGREEMENT))
    if not torn:
        return ()
    return (
        f"The chains of the sampler disagree on {torn} of {len(disagreement)} units (probabilities that differ by more than "
        f"{DISAGREEMENT:g}); averages are used.",
    )
