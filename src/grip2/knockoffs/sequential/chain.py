"""Knockoffs unit after unit: learnt once for a number of copies, then drawn for any rows.

The copies of a unit are drawn independently from a model of the unit given all other units and the copies that were drawn
already (sequential conditional independent pairs, Candes et al. 2018; several copies: Gimenez and Zou 2019). The members of a
unit that was drawn enter by their mean, so that the model treats them alike, and there are as many predictors as other columns
however many copies. Inside a unit, columns follow each other: a column of a copy is drawn given the earlier columns of the
same copy, never of the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.knockoffs.sequential.boosted import BoostedPrediction, RowHalves, learn_boosted
from grip2.knockoffs.sequential.models import ConditionalModel, Law
from grip2.knockoffs.sequential.parts import Part, Plan
from grip2.knockoffs.sequential.tilt import centre_and_scale

# A model has at most this many predictors, and at most one for so many rows.
_MAX_PREDICTORS, _ROWS_A_PREDICTOR = 150, 5


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of the columns; predictors are standardised by them."""

    centre: np.ndarray
    spread: np.ndarray

    def apply(self, X: np.ndarray, columns: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(..., columns) standardised values of some columns."""
        return np.asarray((X - self.centre[columns]) / self.spread[columns])


@dataclass(frozen=True, eq=False)
class PartModel:
    """The model of a part: which columns predict it, and how."""

    part: Part
    predictors: np.ndarray
    model: ConditionalModel
    boosted: BoostedPrediction | None

    def given(self, M: np.ndarray, halves: np.ndarray | None) -> Law:
        """The distribution of the part in rows with predictors among the columns of M (rows, p)."""
        Z = M[:, self.predictors]
        if self.boosted is not None and halves is not None:
            Z = np.hstack([Z, self.boosted.predict(Z, halves)])
        return self.model.given(Z)


def learn_part(
    part: Part, M: np.ndarray, values: np.ndarray, allowed: np.ndarray, halves: np.ndarray | None = None
) -> PartModel:
    """The model of a part from rows M of standardised predictors and its ``values`` (rows, columns).

    ``allowed``: the columns that may predict. If they are too many for the rows, those most correlated with the part are used.
    ``halves`` of the rows: boosted trees add a prediction.
    """
    n, p = M.shape
    limit = max(1, min(_MAX_PREDICTORS, n // _ROWS_A_PREDICTOR))
    predictors = allowed if len(allowed) <= limit else _most_correlated(M, values, allowed, limit)
    Z = M[:, predictors]
    boosted = None
    if halves is not None and not part.category:
        boosted = learn_boosted(Z, values[:, 0], halves, seed=int(part.columns[0]))
        if boosted is not None:
            Z = np.hstack([Z, boosted.predict(Z, halves)])
    return PartModel(part, predictors, part.learn(Z, values, p), boosted)


def _most_correlated(M: np.ndarray, values: np.ndarray, allowed: np.ndarray, limit: int) -> np.ndarray:
    centred = values - values.mean(axis=0)
    centred /= np.maximum(centred.std(axis=0), np.finfo(float).tiny)
    means = M.mean(axis=0)
    spread = np.sqrt(np.maximum(np.einsum("ij,ij->j", M, M) / len(M) - means**2, np.finfo(float).tiny))
    correlation = np.abs(centred.T @ M).max(axis=0) / spread
    best = np.argsort(-correlation[allowed], kind="stable")[:limit]
    return np.sort(allowed[best])


@dataclass(frozen=True, eq=False)
class Chain:
    """The models of all units in the order of drawing, for one number of copies.

    ``own`` (p, p): covariance of the columns of a unit with their own knockoffs, estimated over the fitted rows with
    standardised columns; 0 between units.
    """

    units: tuple[tuple[PartModel, ...], ...]
    scale: Scale
    copies: int
    own: np.ndarray

    def draw(self, X: np.ndarray, u: np.ndarray, halves: RowHalves | None = None) -> np.ndarray:
        """(copies, rows, p) knockoffs of some rows; u (rows, copies, parts) are uniform random numbers."""
        M = self.scale.apply(X)
        drawn = np.empty((self.copies, *X.shape))
        done = 0
        for models in self.units:
            draw_unit(models, M, drawn, u[:, :, done : done + len(models)], self.scale, halves)
            done += len(models)
        return drawn


def columns_of(parts: tuple[Part, ...]) -> np.ndarray:
    """The columns of all parts of a unit."""
    return np.concatenate([part.columns for part in parts])


def draw_unit(
    models: tuple[PartModel, ...],
    M: np.ndarray,
    drawn: np.ndarray,
    u: np.ndarray,
    scale: Scale,
    halves: RowHalves | None,
) -> np.ndarray:
    """Draw all copies of a unit into ``drawn`` and replace its columns in M by the mean of its members.

    Returns (rows, columns of the unit) the expected values of the columns in their models, averaged over copies.
    """
    columns = columns_of(tuple(model.part for model in models))
    half = None if halves is None else halves.without(columns)
    original = M[:, columns]
    total, expected = original.copy(), np.zeros_like(original)
    law = models[0].given(M, half)  # the first part does not depend on the copy
    for copy in range(len(drawn)):
        place = 0
        for number, model in enumerate(models):
            own = model.part.columns
            if number:
                law_here = model.given(M, half)
            else:
                law_here = law
            values = law_here.draw(u[:, copy, number])
            drawn[copy][:, own] = values
            M[:, own] = scale.apply(values, own)
            expected[:, place : place + len(own)] += law_here.mean / len(drawn)
            place += len(own)
        total += M[:, columns]
    M[:, columns] = total / (1 + len(drawn))
    return expected


def learn_chain(
    X: np.ndarray, plan: Plan, copies: int, rng: np.random.Generator, *, trees: bool = False
) -> Chain:
    """Learn the models of all units from complete rows; one realisation of the knockoffs is drawn along the way."""
    n, p = X.shape
    scale = scale_of(X)
    M = scale.apply(X)
    halves = RowHalves.of(X) if trees else None
    drawn = np.empty((copies, n, p))
    learnt, own = [], np.zeros((p, p))
    for parts in plan.parts:
        columns = columns_of(parts)
        half = None if halves is None else halves.without(columns)
        allowed = np.setdiff1d(np.arange(p), columns)
        models = []
        for part in parts:
            models.append(learn_part(part, M, X[:, part.columns], allowed, half))
            allowed = np.union1d(allowed, part.columns)
        learnt.append(tuple(models))
        original = M[:, columns]
        expected = draw_unit(learnt[-1], M, drawn, rng.random((n, copies, len(parts))), scale, halves)
        cross = original.T @ (scale.apply(expected, columns)) / n
        own[np.ix_(columns, columns)] = (cross + cross.T) / 2
    return Chain(tuple(learnt), scale, copies, own)


def scale_of(X: np.ndarray) -> Scale:
    """Means and standard deviations of complete columns."""
    found = np.array([centre_and_scale(X[:, j]) for j in range(X.shape[1])])
    return Scale(found[:, 0], found[:, 1])
