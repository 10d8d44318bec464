"""EffectPosterior of a table that is read block by block: the model is chosen on some rows, its moments are those of all rows.

Basis functions and pairs are chosen on the rows that are given, a random sample of the table (`grip2.streaming`). The sums of
products of all rows come from a pass over the table. From there on everything is as for a table in memory, because the chains
work on moments alone. Labels of classes are modelled as measurements, as in all long tables.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grip2._random import stream
from grip2.progress import Progress, split_progress
from grip2.responses import Measurement, Response
from grip2.result import Importance
from grip2.statistics.effect_model import EffectModel
from grip2.statistics.effect_sampler import Posterior, model_of, posterior_of
from grip2.statistics.effect_sums import EffectSums, WholeTable, sums_of
from grip2.statistics.effects import EffectPosterior, agreement, unit_weights
from grip2.statistics.stage import StageFit
from grip2.symmetry import Members
from grip2.units import Layout

# Shares of the time, for the progress bar: the choice of the model, the pass over the table, and the chains.
_WORK = (1_000, 6_000, 1_000)


class StreamedEffects(EffectPosterior):
    """An `EffectPosterior` for one draw of knockoffs of one table; made by ``EffectPosterior.streamed``."""

    def __init__(self, settings: EffectPosterior, whole: WholeTable) -> None:
        super().__init__(curves=settings.curves, interactions=settings.interactions, sweeps=settings.sweeps)
        self._whole = whole
        self._model: EffectModel | None = None
        self._sums: EffectSums | None = None

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        Z = members.standardised(np.float32)
        fit = self.fit_stage(Z, members.layout, response, rng=rng, progress=progress)
        return Importance(fit.importance)

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
        """Fit to all rows of the table, of which ``Z`` and ``response`` are a sample.

        With ``fit_rows``, the other rows of ``Z`` are left out. The residual is that of the rows of ``Z``.
        """
        self._check_settings()
        rng = stream(rng, "posterior")
        of_model, of_pass, of_chains = split_progress(progress, *_WORK)
        contrasts = np.column_stack(response.contrasts)
        if self._model is None:
            own = np.arange(len(Z)) if fit_rows is None else fit_rows
            self._model = self._chosen_model(Z[own], layout, contrasts[own], rng)
            if of_model is not None:
                of_model(1, 1)
            self._sums = self._whole.sums(self._model.columns, of_pass)
        assert self._sums is not None
        sums = self._sums
        if fit_rows is not None:
            held_out = np.setdiff1d(np.arange(len(Z)), fit_rows)
            sums = sums.without(sums_of(Z[held_out], contrasts[held_out], self._model.columns))
        model = replace(self._model, moments=sums.moments(self._model.moments.size), n_rows=sums.n)
        sweeps = self._sweeps(fit_rows, sums.n)
        found = posterior_of(model, sums.means, sums.deviations, rng=rng, sweeps=sweeps, progress=of_chains)
        return _stage_fit(found, Z, response, fit_rows)

    def _chosen_model(
        self, Z: np.ndarray, layout: Layout, contrasts: np.ndarray, rng: np.random.Generator
    ) -> EffectModel:
        return model_of(
            Z,
            layout,
            contrasts,
            curves=bool(self.curves),
            interactions=bool(self.interactions),
            n_rows=self._whole.n_rows,
            rng=rng,
        )


def _stage_fit(found: Posterior, Z: np.ndarray, response: Response, fit_rows: np.ndarray | None) -> StageFit:
    """The posterior as the fit of a stage: its predictions of the rows of ``Z``, and of other rows on request."""
    every = range(len(found.draws))
    probability = np.asarray(np.sum([found.probability(k) for k in every], axis=0))
    notes = agreement(np.max([found.disagreement(k) for k in every], axis=0))
    left, logits = response, None
    if response.leaves_residual:
        left = Measurement.residual(_residual(found, Z, response), fit_rows)
    else:
        logits = _outputs(found, Z, response)
    scale = left.scale if isinstance(left, Measurement) else 1.0
    fit = StageFit(probability, left, logits, scale, unit_weights(probability), notes=notes)

    def at_rows(Z: np.ndarray, response: Response) -> StageFit:
        if not isinstance(left, Measurement):
            return replace(fit, response=response, logits=_outputs(found, Z, response))
        y = (_residual(found, Z, response) - left.centre) / (left.scale or 1.0)
        return replace(fit, response=replace(left, y=y))

    return replace(fit, at_rows=at_rows)


def _residual(found: Posterior, Z: np.ndarray, response: Response) -> np.ndarray:
    return np.asarray(response.y - found.means[0] - found.deviations[0] * found.prediction(Z, 0))


def _outputs(found: Posterior, Z: np.ndarray, response: Response) -> np.ndarray:
    chances = [found.chances(Z, k) for k in range(len(found.draws))]
    return response.outputs_of_chances(np.column_stack(chances))
