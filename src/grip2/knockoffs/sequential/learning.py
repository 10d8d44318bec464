"""Learning the chain of models: which model every part gets, and how alike its members are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grip2.knockoffs.sequential.boosted import RowHalves
from grip2.knockoffs.sequential.chain import (
    Chain,
    Noise,
    Scale,
    columns_of,
    copied_quantiles,
    draw_unit,
    learn_part,
)
from grip2.knockoffs.sequential.models import Law
from grip2.knockoffs.sequential.parts import Part, Plan

# The correlation of normal scores stays below _MOST, and above the least that the number of copies allows by _MARGIN.
_MOST, _MARGIN = 0.98, 0.02
# Values other than observed ones are drawn where a model of the observed ones leaves less than this share of the S wanted.
_LEAST_SHARE = 0.6


def learn_chain(
    X: np.ndarray,
    plan: Plan,
    S: np.ndarray,
    copies: int,
    rng: np.random.Generator,
    *,
    trees: bool = False,
    keep_values: bool = False,
) -> Chain:
    """Learn the models of all units from complete rows; one realisation of the knockoffs is drawn along the way.

    ``S`` (p,) or (p, p) is what the knockoffs should have, for columns of variance 1; what they have is found from the
    realisation. ``keep_values``: discrete numbers take observed values even where that leaves no power.
    """
    n, p = X.shape
    scale = Scale.of(X)
    M = scale.apply(X)
    halves = RowHalves.of(X) if trees else None
    drawn = np.empty((copies, n, p))
    learnt, own = [], np.zeros((p, p))
    for parts in plan.parts:
        columns = columns_of(parts)
        half = None if halves is None else halves.without(columns)
        allowed = np.setdiff1d(np.arange(p), columns)
        models = []
        noise = Noise.draw(n, copies, len(parts), rng)
        for number, part in enumerate(parts):
            wanted = _wanted(S, part, parts[:number])
            limit = 1.0 if keep_values else 1.0 - wanted * _LEAST_SHARE / len(part.columns)
            values = X[:, part.columns]
            model = learn_part(part, M, values, allowed, limit, half)
            rho = _calibrated(model.given(M, half), values, scale.spread[part.columns], wanted, noise.of_part(number), copies)
            models.append(replace(model, rho=rho))
            allowed = np.union1d(allowed, part.columns)
        learnt.append(tuple(models))
        members = draw_unit(learnt[-1], X, M, noise, scale, half, drawn)
        cross = members[0].T @ members[1:].mean(axis=0) / n
        own[np.ix_(columns, columns)] = (cross + cross.T) / 2
    return Chain(tuple(learnt), scale, copies, own)


def _wanted(S: np.ndarray, part: Part, earlier: tuple[Part, ...]) -> float:
    """The sum over the columns of a part of S given the earlier parts of its unit."""
    if S.ndim == 1:
        return float(S[part.columns].sum())
    own = S[np.ix_(part.columns, part.columns)]
    if earlier:
        before = columns_of(earlier)
        cross = S[np.ix_(before, part.columns)]
        own = own - cross.T @ np.linalg.lstsq(S[np.ix_(before, before)], cross, rcond=None)[0]
    return max(float(np.trace(own)), 0.0)


def _calibrated(
    law: Law,
    values: np.ndarray,
    spread: np.ndarray,
    wanted: float,
    noise: tuple[np.ndarray, np.ndarray],
    copies: int,
) -> float:
    """The correlation of normal scores with which columns and copies have a covariance of variance less S, given the rest.

    Exact for a normal law at once; where values are few, draws are less correlated than their scores, hence a second step.
    """
    lowest = -1.0 / copies + _MARGIN
    variance = float(np.sum(law.variance / spread**2))
    if variance <= 0:
        return 0.0
    target = 1.0 - wanted / variance
    rho = float(np.clip(target, lowest, _MOST))
    if abs(rho) < 0.02:
        return rho
    v, normal = noise
    drawn = law.draw(copied_quantiles(law.quantiles(values, v), normal, rho, copies)[0])
    mean = law.mean
    found = float(np.mean(np.sum((values - mean) * (drawn - mean) / spread**2, axis=1))) / variance
    ratio = float(np.clip(found / rho, 0.3, 1.2))
    return float(np.clip(target / ratio, lowest, _MOST))
