"""Describes how the selected features act.

A Bayesian model of effects (`grip2.statistics.effect_sampler`) is fitted to the selected features after the selection, which it
therefore cannot influence. The result is a description without an error guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from grip2 import feature_effects as words
from grip2._random import stream
from grip2.blas_threads import one_blas_thread
from grip2.describe.columns import CURVE_POINTS, SURFACE_POINTS, DescribedColumn, described_columns
from grip2.describe.draws import EffectDraws, PairColumns
from grip2.draws import OneRowEach
from grip2.feature_effects import EffectCurve, EffectDescription, EffectSurface, FeatureEffect, Interaction, rounded
from grip2.knockoffs import KnockoffSampler
from grip2.progress import Progress
from grip2.responses import Response
from grip2.standardise import standardise
from grip2.statistics.curve_lasso import fit_curve_lasso
from grip2.statistics.effect_sampler import SWEEPS, Posterior, sample_posterior
from grip2.statistics.linear_lasso import fit_linear_lasso
from grip2.tables import PreparedTable
from grip2.units import Layout, Units

MOST_FEATURES = 40  # that are described
MOST_ROWS = 20_000  # that the model is fitted to
MOST_PARTNERS = 5  # of a feature
# With many classes, or more columns than MANY_COLUMNS, as categories have them, the sweeps are shared out; at least so many each.
LEAST_SWEEPS = 240
MANY_COLUMNS = 30
# A term with at least the posterior probability PROBABLE is described, and products that act at least FREQUENT times as often as
# the most frequent one of their interaction.
PROBABLE, FREQUENT = 0.5, 0.2
# A curve is monotone if its best monotone approximation has this share of its variance over the rows.
MONOTONE = 0.9
_DIRECTION_POINTS = 200  # quantiles of a column at which this is judged


def describe_effects(
    table: PreparedTable,
    response: Response,
    selected: np.ndarray,
    W: np.ndarray,
    *,
    sampler: KnockoffSampler,
    one_row_each: OneRowEach | None,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> EffectDescription:
    """How the selected units (a mask) of a table act on the response; at most 40, those with the largest ``W``.

    Missing values are completed once by the ``sampler``; of rows that come in clusters one of each is used, and of long tables a
    random part. Rows of ``response`` beyond those of the table are ignored.
    """
    order = np.flatnonzero(selected)
    order = order[np.argsort(-W[order], kind="stable")]
    chosen = np.sort(order[:MOST_FEATURES])
    if not len(chosen):
        return EffectDescription(response.effects_scale, 0, (), ())
    notes = []
    if len(order) > len(chosen):
        notes.append(f"Of {len(order)} selected features the {len(chosen)} with the largest W are described.")
    rows = np.arange(len(table)) if one_row_each is None else one_row_each.choose(stream(rng, "rows of clusters"))
    if len(rows) > MOST_ROWS:
        notes.append(f"Fitted to {MOST_ROWS} of {len(rows)} rows, chosen at random.")
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    units = table.units.units
    numbers = np.flatnonzero(np.isin(units.of_column, chosen))
    with one_blas_thread():
        X = sampler.complete(table.X[rows], rng=rng)[:, numbers]
        layout = Layout(1, Units(np.searchsorted(chosen, units.of_column[numbers])))
        own = response.take(rows)
        posterior = _posterior(standardise(X.astype(float)).astype(np.float32), layout, own, rng, progress)
        every = [EffectDraws(posterior, k) for k in range(len(posterior.draws))]
        columns = described_columns(table, numbers, X)
        names = [table.units.names[u] for u in chosen]
        description = _Description(every, columns, layout.units, names, own.contrast_names, response.effect_unit)
        found = [description.feature(int(np.searchsorted(chosen, u))) for u in order[:MOST_FEATURES]]
    scale = response.effects_scale if posterior.latent or not own.latent_labels else "chance of the class"
    return EffectDescription(scale, len(rows), tuple(notes), tuple(found))


def _posterior(
    Z: np.ndarray, layout: Layout, response: Response, rng: np.random.Generator, progress: Progress | None
) -> Posterior:
    """Of measurements, of labels by latent measurements, or of working responses at a penalised fit."""
    if response.leaves_residual or response.latent_labels:
        responses = response.contrasts
    else:
        lines = fit_linear_lasso(Z, response, rng=stream(rng, "lasso"))
        curves = fit_curve_lasso(Z, layout, lines, rng=stream(rng, "curves"))
        responses = response.working_responses(np.zeros((len(Z), 1)) if curves.logits is None else curves.logits)
    sweeps = max(LEAST_SWEEPS, SWEEPS * MANY_COLUMNS // (len(responses) * max(MANY_COLUMNS, layout.n_columns)))
    return sample_posterior(
        Z, layout, responses, rng=rng, labels=response.latent_labels, sweeps=sweeps, progress=progress
    )


class _UnitTerms(NamedTuple):
    """Numbers of the columns of the model in which a unit acts."""

    alone: np.ndarray
    together: np.ndarray


@dataclass(frozen=True, eq=False)
class _Description:
    """Everything that is needed to describe one feature after the other."""

    draws: list[EffectDraws]  # of every response
    columns: list[DescribedColumn]
    units: Units
    names: list[str]  # of the units
    outputs: tuple[str, ...]  # names of the responses
    unit: float  # the user's units in one unit of the response

    def feature(self, u: int) -> FeatureEffect:
        """How one unit acts; of several responses, on the one on which it acts most."""
        terms = [self._terms(draws, u) for draws in self.draws]
        shares = [draws.share(np.concatenate(of)) for draws, of in zip(self.draws, terms, strict=True)]
        k = int(np.argmax(shares))
        draws, own = self.draws[k], terms[k]
        curves = tuple(
            self._curve(draws, int(j)) for j in self.units.columns[u] if not self.columns[int(j)].of_category
        )
        return FeatureEffect(
            name=self.names[u],
            direction=self._direction(u, curves, draws.acts(own.alone), draws.acts(own.together)),
            share=rounded(shares[k]),
            share_alone=rounded(draws.share(own.alone)),
            output=self.outputs[k],
            curves=curves,
            interactions=self._interactions(draws, u),
        )

    def _terms(self, draws: EffectDraws, u: int) -> _UnitTerms:
        alone = [draws.of_column(int(j)) for j in self.units.columns[u]]
        together = [pair.numbers for pair in draws.pairs if u in self._units_of(pair)]
        return _UnitTerms(np.concatenate(alone), np.concatenate([np.zeros(0, np.intp), *together]))

    def _units_of(self, pair: PairColumns) -> tuple[int, int]:
        return int(self.units.of_column[pair.left]), int(self.units.of_column[pair.right])

    def _direction(self, u: int, curves: tuple[EffectCurve, ...], alone: float, together: float) -> str:
        if alone < PROBABLE:
            return words.TOGETHER if together >= PROBABLE else words.UNCLEAR
        if not curves:
            return words.BY_LEVEL
        found = {curve.direction for curve in curves if curve.direction != words.UNCLEAR}
        if any(self.columns[int(j)].of_category for j in self.units.columns[u]) or len(found) > 1:
            return words.BY_COLUMN
        # If every column of a group acts in few draws, there is none: the direction of the column that acts most.
        return found.pop() if found else max(curves, key=lambda curve: curve.share).direction

    def _curve(self, draws: EffectDraws, j: int) -> EffectCurve:
        column, numbers = self.columns[j], draws.of_column(j)
        grid = column.grid(CURVE_POINTS)
        values = self.unit * draws.values({j: column.standardised(grid)}, numbers)
        tail = 0.5 * (1.0 - words.BAND)
        lower, upper = np.quantile(values, [tail, 1.0 - tail], axis=1)
        direction = words.UNCLEAR
        if draws.acts(numbers) >= PROBABLE:
            points = np.quantile(column.values, np.linspace(0.0, 1.0, _DIRECTION_POINTS))
            direction = direction_of(draws.values({j: column.standardised(points)}, numbers).mean(axis=1))
        return EffectCurve(
            column.name,
            direction,
            rounded(draws.share(numbers)),
            tuple(grid.tolist()),
            column.labels(grid),
            rounded(values.mean(axis=1)),
            rounded(lower),
            rounded(upper),
        )

    def _interactions(self, draws: EffectDraws, u: int) -> tuple[Interaction, ...]:
        by_partner: dict[int, list[PairColumns]] = {}
        for pair in draws.pairs:
            left, right = self._units_of(pair)
            if u in (left, right):
                by_partner.setdefault(right if left == u else left, []).append(pair)
        found = []
        for partner, pairs in by_partner.items():
            numbers = np.concatenate([pair.numbers for pair in pairs])
            probability = draws.acts(numbers)
            if probability < PROBABLE:
                continue
            strongest = max(pairs, key=lambda pair: draws.share(pair.numbers))
            left_is_own = self._units_of(strongest)[0] == u
            found.append(
                Interaction(
                    self.names[partner],
                    rounded(probability),
                    rounded(draws.share(numbers)),
                    _functions(draws, strongest, left_is_own),
                    self._surface(draws, strongest, left_is_own),
                )
            )
        return tuple(sorted(found, key=lambda each: -each.share)[:MOST_PARTNERS])

    def _surface(self, draws: EffectDraws, pair: PairColumns, left_is_own: bool) -> EffectSurface:
        own, other = (pair.left, pair.right) if left_is_own else (pair.right, pair.left)
        first, second = self.columns[own], self.columns[other]
        grid, partner_grid = first.grid(SURFACE_POINTS), second.grid(SURFACE_POINTS)
        at_own, at_other = np.meshgrid(first.standardised(grid), second.standardised(partner_grid), indexing="ij")
        mean = self.unit * draws.values({own: at_own.ravel(), other: at_other.ravel()}, pair.numbers).mean(axis=1)
        return EffectSurface(
            first.name,
            second.name,
            tuple(grid.tolist()),
            first.labels(grid),
            tuple(partner_grid.tolist()),
            second.labels(partner_grid),
            rounded(mean.reshape(at_own.shape)),
        )


def _functions(draws: EffectDraws, pair: PairColumns, left_is_own: bool) -> tuple[str, ...]:
    """The products through which a pair acts often, the most frequent first."""
    often = np.array([draws.acts(pair.numbers[[k]]) for k in range(len(pair.numbers))])
    order = [k for k in np.argsort(-often, kind="stable") if often[k] >= FREQUENT * often.max()]
    named = [pair.functions[k] if left_is_own else pair.functions[k][::-1] for k in order]
    return tuple(f"{first} x {second}" for first, second in named)


def direction_of(values: np.ndarray) -> str:
    """The direction of a curve at equally likely points, ascending: monotone if a monotone curve has nearly all its variance."""
    whole = float(np.var(values))
    if whole == 0.0:
        return words.UNCLEAR
    at = np.arange(len(values))
    for direction, rises in ((words.INCREASING, True), (words.DECREASING, False)):
        if np.var(IsotonicRegression(increasing=rises).fit_transform(at, values)) >= MONOTONE * whole:
            return direction
    return words.NOT_MONOTONE
