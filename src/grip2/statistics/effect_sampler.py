"""The Gibbs sampler of `EffectPosterior`, from moments alone, so that the table is read once.

How many pairs act, through which basis functions, how large effects and noise are: all of it is drawn along with the effects,
and nothing is left to set. Exact up to Monte Carlo error for the model, which is approximate for any real table.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from grip2.engine.effect_sweeps import EffectSweeps
from grip2.standardise import standardise
from grip2.statistics.augmented import threads_for
from grip2.statistics.basis import FUNCTIONS, Basis, column_blocks
from grip2.units import Layout

SWEEPS = 800
BURN_IN = 0.2  # share of the sweeps
SWEEPS_PER_ROUND = 4  # between two draws of noise variance, effect variances and shares
# Columns of the largest Gram matrix (single precision: 144 MB). Beyond it the least correlated curves, then pairs, are left out.
COLUMNS_MAX = 6000
LINES_SHARE = 2 / 3
ROWS_AT_A_TIME = 4096
# Single precision loses a little with every update of the residual's correlations; they are computed anew this often.
REFRESH_ROUNDS = 5  # of several sweeps
# Prior scale of the variance of effects, times 1/n of the response's variance: about three standard errors of an effect.
EFFECT_VARIANCES = 10.0
# The prior of the noise is worth this many rows; a priori at most one pair acts for every ten rows, because with more basis
# functions than rows everything could be fitted.
NOISE_ROWS = 2.0
ROWS_PER_ACTING_PAIR = 10.0
LEAST_NOISE = 1e-6  # share of the response's variance
LEAST_PRIOR = 1e-6

# Which basis functions act: every set of them but the empty one.
SETS = np.array([used for used in itertools.product([0, 1], repeat=FUNCTIONS) if any(used)], dtype=np.float32)


class EffectFit(NamedTuple):
    """Posterior means of one response."""

    probability: np.ndarray  # (members, units) that the unit acts through this member
    residual: np.ndarray  # (rows,) what the mean effects leave, in the units of the response


def fit_effects(
    Z: np.ndarray,
    layout: Layout,
    y: np.ndarray,
    *,
    rng: np.random.Generator,
    fit_rows: np.ndarray | None = None,
    curves: bool = True,
    sweeps: int = SWEEPS,
) -> EffectFit:
    """Posterior of the standardised columns ``Z`` (rows, 2p) for the response ``y``.

    ``fit_rows``: the numbers of the rows to fit on, all by default; the residual is that of all rows. ``curves=False``:
    straight lines only.
    """
    own = y if fit_rows is None else y[fit_rows]
    target = standardise(own)
    if len(target) < 2 or not target.any():
        return EffectFit(np.zeros((layout.members, len(layout.units))), y - own.mean())
    fitted_on = Z if fit_rows is None else Z[fit_rows]
    with threads_for(Z):
        basis = Basis.fit(fitted_on)
        design = _design(fitted_on, target, basis, curves)
        draws = _sample(design, len(target), sweeps, rng)
        fitted = _prediction(Z, basis, draws.effect)
    return EffectFit(draws.probability, y - own.mean() - own.std() * fitted)


class _Design(NamedTuple):
    """Moments per row of the basis functions in the model; the last row and column are zero placeholders for absent ones."""

    place: np.ndarray  # (2, p, functions) number of a function's column
    gram: np.ndarray  # (columns + 1, columns + 1)
    correlation: np.ndarray  # (columns + 1,) with the response


def _design(Z: np.ndarray, y: np.ndarray, basis: Basis, curves: bool) -> _Design:
    p, n = Z.shape[1] // 2, len(Z)
    present = basis.present().reshape(FUNCTIONS, 2, p)
    # A curve that one member lacks would favour the other.
    present[1:] &= present[1:].all(axis=1, keepdims=True) & curves
    if present.sum() > COLUMNS_MAX:
        present &= _promising(Z, y, basis, present)
    function, column = np.nonzero(present.reshape(FUNCTIONS, 2 * p))
    size = len(function)
    place = np.full((FUNCTIONS, 2 * p), size)
    place[function, column] = np.arange(size)
    gram, correlation = np.zeros((size + 1, size + 1), np.float32), np.zeros(size + 1)
    for start in range(0, n, ROWS_AT_A_TIME):
        some = slice(start, start + ROWS_AT_A_TIME)
        values = _values(Z[some], basis, function, column)
        gram[:-1, :-1] += values.T @ values
        correlation[:-1] += values.T @ y[some]
    gram /= n
    return _Design(place.reshape(FUNCTIONS, 2, p).transpose(1, 2, 0), gram, (correlation / n).astype(np.float32))


def _values(Z: np.ndarray, basis: Basis, function: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(rows, size) the basis functions in the model, ordered by function, then column."""
    values = np.empty((len(Z), len(function)), np.float32)
    for here in column_blocks(Z.shape[1], len(Z)):
        of_block = basis.take(here).evaluate(Z[:, here])
        mine = np.flatnonzero((column >= here.start) & (column < here.stop))
        values[:, mine] = of_block[function[mine], :, column[mine] - here.start].T
    return values


def _promising(Z: np.ndarray, y: np.ndarray, basis: Basis, present: np.ndarray) -> np.ndarray:
    """Which basis functions of a wide table enter the model: those of pairs that correlate most with the response.

    Straight lines get two thirds of the room, or more where there are few curves. Both members of a pair are kept, or none.
    """
    p = present.shape[2]
    promise = np.zeros(present.shape).reshape(FUNCTIONS, 2 * p)
    for here in column_blocks(2 * p, len(Z)):
        promise[:, here] = np.abs(np.einsum("knj,n->kj", basis.take(here).evaluate(Z[:, here]), y))
    of_pair = (promise.reshape(present.shape) * present).max(axis=1)  # (functions, p)
    kept = np.zeros(present.shape, dtype=bool)
    room = COLUMNS_MAX // 2
    for_lines = round(LINES_SHARE * room) if present[1:].any() else room
    lines = np.argsort(-of_pair[0], kind="stable")[:for_lines]
    kept[0][:, lines] = True
    curved = np.argsort(-of_pair[1:].max(axis=0), kind="stable")[: max(0, (room - len(lines)) // (FUNCTIONS - 1))]
    kept[1:, :, curved] = True
    return kept


class _Draws(NamedTuple):
    """Means over the draws kept."""

    probability: np.ndarray  # (2, p) that the member acts
    effect: np.ndarray  # (2, p, functions)
    noise: float  # variance, where that of the response is 1


def _sample(design: _Design, n: int, sweeps: int, rng: np.random.Generator) -> _Draws:
    """Gibbs sampling: pair after pair in random order, then noise, sizes of effects and shares of the sets of functions."""
    size, p = len(design.correlation) - 1, design.place.shape[1]
    sampler = EffectSweeps(design.gram, design.correlation, design.place, SETS)
    noise, variances = 1.0, np.full(FUNCTIONS, EFFECT_VARIANCES / n)
    shares = np.array([0.9, *[0.1 / len(SETS)] * len(SETS)])  # of pairs that do not act, and of each set of functions
    in_advance = np.full(len(SETS) + 1, 1.0 / len(SETS))  # pairs, as if counted
    in_advance[0] = max(1.0, ROWS_PER_ACTING_PAIR * p / n)
    has_functions = (design.place != size).any(axis=(0, 2))
    probability, effect, noises = np.zeros((2, p)), np.zeros((2, p, FUNCTIONS)), 0.0
    rounds = -(-sweeps // SWEEPS_PER_ROUND)
    first = int(BURN_IN * rounds)
    for k in range(rounds):
        if k % REFRESH_ROUNDS == 0:
            sampler.refresh()
        draw = sampler.draw(
            order=rng.permuted(np.tile(np.arange(p, dtype=np.int32), (SWEEPS_PER_ROUND, 1)), axis=1),
            uniform=rng.random((SWEEPS_PER_ROUND, p), dtype=np.float32),
            normal=rng.standard_normal((SWEEPS_PER_ROUND, p, FUNCTIONS), dtype=np.float32),
            precision=n / noise,
            variances=variances,
            log_shares=np.log(shares),
        )
        drawn = draw.effects.astype(float)
        of_pairs = drawn[design.place]  # (2, p, functions)
        unexplained = 1.0 - drawn @ (design.correlation + draw.residual.astype(float))
        noise = (max(unexplained, LEAST_NOISE) * n + NOISE_ROWS) / (2.0 * rng.gamma(0.5 * (n + NOISE_ROWS)))
        acting = np.count_nonzero(of_pairs, axis=(0, 1))
        spread = 0.5 * (of_pairs**2).sum(axis=(0, 1)) + 0.5 * EFFECT_VARIANCES / n
        variances = np.clip(spread / rng.gamma(0.5 * acting + 0.5), 0.01 / n, 10.0)
        counts = np.bincount(draw.chosen[has_functions], minlength=len(SETS) + 1)
        shares = np.maximum(rng.dirichlet(counts + in_advance), LEAST_PRIOR)
        if k >= first:
            probability += draw.probability.T
            effect += draw.mean_effect.transpose(1, 0, 2)
            noises += noise
    kept = rounds - first
    return _Draws(probability / kept, effect / kept, noises / kept)


def _prediction(Z: np.ndarray, basis: Basis, effect: np.ndarray) -> np.ndarray:
    """(rows,) of the mean effects."""
    weights = effect.transpose(2, 0, 1).reshape(FUNCTIONS, -1)
    used = np.flatnonzero(weights.any(axis=0))
    fitted = np.zeros(len(Z))
    for here in column_blocks(len(used), len(Z)):
        columns = used[here]
        fitted += np.einsum("knj,kj->n", basis.take(columns).evaluate(Z[:, columns]), weights[:, columns])
    return fitted
