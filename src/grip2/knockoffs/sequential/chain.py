"""The chain of models that draws knockoffs unit after unit: learnt once for a number of copies, then used for any rows.

Let F be the distribution of a unit given all other units and the copies that were drawn before, and u = F(x) the quantile of the
original x. The quantiles of its copies are drawn so that those of all members, as normal scores, are jointly normal with one
correlation rho; a copy is the value of F at its quantile. The members are then exchangeable given everything else. (With
rho = 0 the copies do not depend on the original: sequential conditional independent pairs, Candes et al. 2018. If columns are
strongly correlated, these give the units that are drawn first the largest possible S and leave almost none to the last; rho
shares S out.) Several copies: Gimenez and Zou 2019; sequential conditional exchangeable pairs: Bates et al. 2021.

The members of a unit that was drawn enter later models by their mean: so models treat them alike, and the number of predictors
does not depend on the number of copies. Inside a unit, columns are drawn one after the other: a column of a member is modelled
given the earlier columns of the same member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from grip2.knockoffs.sequential.boosted import BoostedPrediction, RowHalves, learn_boosted
from grip2.knockoffs.sequential.models import ConditionalModel, Law
from grip2.knockoffs.sequential.parts import Part
from grip2.knockoffs.sequential.tilt import centre_and_scale

# A model has at most this many predictors, and at most one for every so many rows.
_MAX_PREDICTORS, _ROWS_A_PREDICTOR = 150, 5
_EDGE = 1e-12  # quantiles are kept this far from 0 and 1


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of the columns; predictors are standardised by them."""

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Scale:
        """From the observed values of every column."""
        found = np.array([centre_and_scale(column[~np.isnan(column)]) for column in X.T])
        return cls(found[:, 0], found[:, 1])

    def apply(self, X: np.ndarray, columns: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(..., columns) standardised values of some columns."""
        return np.asarray((X - self.centre[columns]) / self.spread[columns])


@dataclass(frozen=True, eq=False)
class Noise:
    """Random numbers of some rows: ties are broken by ``uniform`` (rows, parts), copies are drawn with ``normal``.

    ``normal`` is (rows, 1 or 1 + copies, parts): one number that all copies share and, for several copies, one for each.
    """

    uniform: np.ndarray
    normal: np.ndarray

    @classmethod
    def draw(cls, n_rows: int, copies: int, n_parts: int, rng: np.random.Generator) -> Noise:
        width = 1 if copies == 1 else 1 + copies
        return cls(rng.random((n_rows, n_parts)), rng.standard_normal((n_rows, width, n_parts)))

    def of_unit(self, first: int, parts: int) -> Noise:
        """The random numbers of the parts of one unit."""
        return Noise(self.uniform[:, first : first + parts], self.normal[:, :, first : first + parts])

    def of_part(self, part: int) -> tuple[np.ndarray, np.ndarray]:
        return self.uniform[:, part], self.normal[:, :, part]


def copied_quantiles(u: np.ndarray, normal: np.ndarray, rho: float, copies: int) -> np.ndarray:
    """(copies, rows) quantiles of the copies: all normal scores, those of u among them, have correlation rho."""
    score = ndtri(np.clip(u, _EDGE, 1 - _EDGE))
    common = rho * score + np.sqrt((1 - rho) * (rho + 1 / copies)) * normal[:, 0]
    if copies == 1:
        return np.asarray(ndtr(common)[None])
    own = normal[:, 1:].T
    return np.asarray(ndtr(common + np.sqrt(1 - rho) * (own - own.mean(axis=0))))


@dataclass(frozen=True, eq=False)
class PartModel:
    """The model of a part given its predictors; ``rho`` is the correlation of the normal scores of its members."""

    part: Part
    predictors: np.ndarray
    model: ConditionalModel
    boosted: BoostedPrediction | None
    rho: float = 0.0

    def given(self, M: np.ndarray, halves: np.ndarray | None) -> Law:
        """The distribution of the part in rows with predictors among the columns of M (rows, p)."""
        Z = M[:, self.predictors]
        if self.boosted is not None and halves is not None:
            Z = np.hstack([Z, self.boosted.predict(Z, halves)])
        return self.model.given(Z)


def learn_part(
    part: Part,
    M: np.ndarray,
    values: np.ndarray,
    allowed: np.ndarray,
    most_alike: float,
    halves: np.ndarray | None = None,
) -> PartModel:
    """The model of a part from rows M of standardised predictors and its ``values`` (rows, columns).

    ``allowed``: the columns that may predict. If they are too many for the rows, those most correlated with the part are used.
    ``halves`` of the rows: boosted trees add a prediction.
    """
    limit = max(1, min(_MAX_PREDICTORS, len(M) // _ROWS_A_PREDICTOR))
    predictors = allowed if len(allowed) <= limit else _most_correlated(M, values, allowed, limit)
    Z = M[:, predictors]
    boosted = None
    if halves is not None and not part.category:
        boosted = learn_boosted(Z, values[:, 0], halves, seed=int(part.columns[0]))
        if boosted is not None:
            Z = np.hstack([Z, boosted.predict(Z, halves)])
    return PartModel(part, predictors, part.learn(Z, values, most_alike), boosted)


def _most_correlated(M: np.ndarray, values: np.ndarray, allowed: np.ndarray, limit: int) -> np.ndarray:
    """The ``limit`` allowed columns of M that correlate most with any column of the values, ascending."""
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

    def draw(self, X: np.ndarray, noise: Noise, halves: RowHalves | None = None) -> np.ndarray:
        """(copies, rows, p) knockoffs of some rows."""
        M = self.scale.apply(X)
        drawn = np.empty((self.copies, *X.shape))
        done = 0
        for models in self.units:
            half = None if halves is None else halves.without(columns_of([model.part for model in models]))
            draw_unit(models, X, M, noise.of_unit(done, len(models)), self.scale, half, drawn)
            done += len(models)
        return drawn


def draw_unit(
    models: tuple[PartModel, ...],
    X: np.ndarray,
    M: np.ndarray,
    noise: Noise,
    scale: Scale,
    halves: np.ndarray | None,
    drawn: np.ndarray,
) -> np.ndarray:
    """Draw all copies of a unit into ``drawn`` (copies, rows, p), and put the mean of its members into its columns of M.

    Returns (1 + copies, rows, columns of the unit) the standardised members.
    """
    columns, copies = columns_of([model.part for model in models]), len(drawn)
    members = np.empty((1 + copies, len(X), len(columns)))
    members[0] = M[:, columns]
    laws = [model.given(M, halves) for model in models]  # of the original: given its own earlier columns
    quantiles = []
    for number, (model, law) in enumerate(zip(models, laws, strict=True)):
        v, normal = noise.of_part(number)
        u = law.quantiles(X[:, model.part.columns], v)
        quantiles.append(copied_quantiles(u, normal, model.rho, copies))
    for copy in range(copies):
        for number, model in enumerate(models):
            own = model.part.columns
            law = model.given(M, halves) if number else laws[0]  # the first part depends on no column of its unit
            drawn[copy][:, own] = law.draw(quantiles[number][copy])
            M[:, own] = scale.apply(drawn[copy][:, own], own)
        members[1 + copy] = M[:, columns]
    M[:, columns] = members.mean(axis=0)
    return members


def columns_of(parts: Sequence[Part]) -> np.ndarray:
    """The columns of all parts of a unit."""
    return np.concatenate([part.columns for part in parts])
