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

# The correlation of normal scores is at most _MOST, and exceeds the least that the number of copies allows by at least _MARGIN.
_MOST, _MARGIN = 0.99, 0.02
_CALIBRATIONS = 2
# The covariance of columns with their own knockoffs is averaged over several realisations if there are fewer rows than this.
_OWN_ROWS = 2_000
# A discrete column is drawn by regression if a model of its observed values leaves less than this share of the S wanted.
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

    ``S`` (p,) or (p, p) is the S to aim at, for columns of variance 1; the S that the knockoffs have is found from the
    realisation. ``keep_values``: discrete numbers take observed values even if that leaves no power.
    """
    n, p = X.shape
    scale = Scale.of(X)
    M = scale.apply(X)
    halves = RowHalves.of(X) if trees else None
    drawn = np.empty((copies, n, p))
    repeats = max(1, _OWN_ROWS // n)
    learnt, own = [], np.zeros((p, p))
    for parts in plan.parts:
        columns = columns_of(parts)
        half = None if halves is None else halves.without(columns)
        allowed = np.setdiff1d(np.arange(p), columns)
        models = []
        for number, part in enumerate(parts):
            wanted = _wanted(S, part, parts[:number])
            limit = 1.0 if keep_values else 1.0 - wanted * _LEAST_SHARE / len(part.columns)
            values = X[:, part.columns]
            model = learn_part(part, M, values, allowed, limit, half)
            rho = _calibrated(model.given(M, half), scale.spread[part.columns], wanted, copies, rng)
            models.append(replace(model, rho=rho))
            allowed = np.union1d(allowed, part.columns)
        learnt.append(tuple(models))
        original, cross = M[:, columns].copy(), np.zeros((len(columns), len(columns)))
        for _ in range(repeats):
            M[:, columns] = original
            noise = Noise.draw(n, copies, len(parts), rng)
            members = draw_unit(learnt[-1], X, M, noise, scale, half, drawn)
            cross += original.T @ members[1:].mean(axis=0) / n / repeats
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


def _calibrated(law: Law, spread: np.ndarray, wanted: float, copies: int, rng: np.random.Generator) -> float:
    """The correlation of normal scores for which members have the covariance ``variance - S`` given everything else.

    For a normal law it is 1 - S / variance. Values of other laws are less correlated than their scores; by how much is found
    from draws of two members. For rare values these depend on few rows, hence the bounds.
    """
    variance = float(np.sum(law.variance / spread**2))
    if variance <= 0:
        return 0.0
    lowest = -1.0 / copies + _MARGIN
    target = float(np.clip(1.0 - wanted / variance, lowest, _MOST))
    n = len(law.mean)
    noise = [(rng.random(n), rng.standard_normal((n, 1))) for _ in range(max(1, _OWN_ROWS // n))]
    scores = [0.0, 1.0] if target > 0 else [lowest, 0.0]
    found = list(scores)
    rho = target
    for _ in range(_CALIBRATIONS):
        bounds = (rho**4, rho) if rho > 0 else (rho, 0.0)
        value = np.mean([_covariance(law, spread, rho, *numbers) for numbers in noise]) / variance
        place = int(np.searchsorted(scores, rho))
        scores.insert(place, rho)
        found.insert(place, float(np.clip(value, *bounds)))
        rho = float(np.interp(target, np.maximum.accumulate(found), scores))
    return float(np.clip(rho, lowest, _MOST))


def _covariance(law: Law, spread: np.ndarray, rho: float, uniform: np.ndarray, normal: np.ndarray) -> float:
    """The covariance of two members whose normal scores have the correlation rho, summed over columns, from one draw."""
    first = law.draw(uniform) - law.mean
    second = law.draw(copied_quantiles(uniform, normal, rho, 1)[0]) - law.mean
    return float(np.mean(np.sum(first * second / spread**2, axis=1)))
