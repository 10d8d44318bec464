"""The Gibbs sampler of `EffectPosterior`, from moments alone, so that the table is read once.

How many columns act, through which basis functions, how large effects and noise are: all of it is drawn along with the
effects, and nothing is left to set. Exact up to Monte Carlo error for the model (`grip2.engine.effect_sweeps` has its prior),
which is approximate for any real table.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from grip2.engine.effect_sweeps import EffectSweeps
from grip2.standardise import standardise
from grip2.statistics.augmented import threads_for
from grip2.statistics.basis import FUNCTIONS, Basis, column_blocks
from grip2.statistics.member_exchange import exchange_members
from grip2.units import Layout, Units

SWEEPS = 800
BURN_IN = 0.2  # share of the sweeps
SWEEPS_PER_ROUND = 4  # between two draws of noise variance, effect variances and shares
# Basis functions, of all members, in the largest Gram matrix (single precision: 144 MB). Beyond it the curves of the least
# correlated columns, then the columns themselves, are left out.
COLUMNS_MAX = 6000
LINES_SHARE = 2 / 3
ROWS_AT_A_TIME = 4096
# Single precision loses a little with every update of the residual's correlations; they are computed anew this often.
REFRESH_ROUNDS = 5  # of several sweeps
# Prior scale of the variance of effects, times 1/n of the response's variance: about three standard errors of an effect.
EFFECT_VARIANCES = 10.0
# The prior of the noise is worth this many rows; a priori at most one column acts for every ten rows, because with more
# basis functions than rows everything could be fitted.
NOISE_ROWS = 2.0
ROWS_PER_ACTING_COLUMN = 10.0
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
    """Posterior of the standardised columns ``Z`` (rows, members p) for the response ``y``.

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
        design = _design(fitted_on, layout, target, basis, curves)
        draws = _sample(design, layout.units, len(target), sweeps, rng)
        fitted = _prediction(Z, basis, draws.effect)
    return EffectFit(draws.probability, y - own.mean() - own.std() * fitted)


class _Design(NamedTuple):
    """Moments per row of the basis functions in the model; the last row and column are zero placeholders for absent ones."""

    place: np.ndarray  # (members, p, functions) number of a function's column
    gram: np.ndarray  # (columns + 1, columns + 1)
    correlation: np.ndarray  # (columns + 1,) with the response


def _design(Z: np.ndarray, layout: Layout, y: np.ndarray, basis: Basis, curves: bool) -> _Design:
    n = len(Z)
    present = layout.by_member(basis.present())  # (functions, members, p)
    # A curve that one member lacks would favour the others; so would a column of a larger unit that is constant in one.
    everywhere = np.asarray(present.all(axis=1, keepdims=True))
    present[1:] &= everywhere[1:] & curves
    present[0] &= everywhere[0] | (layout.units.sizes[layout.units.of_column] == 1)
    if present.sum() > COLUMNS_MAX:
        present &= _promising(Z, layout, y, basis, present)
    function, column = np.nonzero(present.reshape(FUNCTIONS, -1))
    size = len(function)
    place = np.full((FUNCTIONS, layout.n_columns), size)
    place[function, column] = np.arange(size)
    gram, correlation = np.zeros((size + 1, size + 1), np.float32), np.zeros(size + 1)
    for start in range(0, n, ROWS_AT_A_TIME):
        some = slice(start, start + ROWS_AT_A_TIME)
        values = _values(Z[some], basis, function, column)
        gram[:-1, :-1] += values.T @ values
        correlation[:-1] += values.T @ y[some]
    gram /= n
    return _Design(layout.by_member(place).transpose(1, 2, 0), gram, (correlation / n).astype(np.float32))


def _values(Z: np.ndarray, basis: Basis, function: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(rows, size) the basis functions in the model, ordered by function, then column."""
    values = np.empty((len(Z), len(function)), np.float32)
    for here in column_blocks(Z.shape[1], len(Z)):
        of_block = basis.take(here).evaluate(Z[:, here])
        mine = np.flatnonzero((column >= here.start) & (column < here.stop))
        values[:, mine] = of_block[function[mine], :, column[mine] - here.start].T
    return values


def _promising(Z: np.ndarray, layout: Layout, y: np.ndarray, basis: Basis, present: np.ndarray) -> np.ndarray:
    """Which basis functions of a wide table enter the model: those of columns that correlate most with the response.

    Straight lines get two thirds of the room, or more where there are few curves. A column is kept in all members, or in none.
    """
    promise = np.zeros((FUNCTIONS, layout.n_columns))
    for here in column_blocks(layout.n_columns, len(Z)):
        promise[:, here] = np.abs(np.einsum("knj,n->kj", basis.take(here).evaluate(Z[:, here]), y))
    of_column = (layout.by_member(promise) * present).max(axis=1)  # (functions, p)
    kept = np.zeros(present.shape, dtype=bool)
    room = COLUMNS_MAX // layout.members
    for_lines = round(LINES_SHARE * room) if present[1:].any() else room
    lines = np.argsort(-of_column[0], kind="stable")[:for_lines]
    kept[0][:, lines] = True
    curved = np.argsort(-of_column[1:].max(axis=0), kind="stable")[: max(0, (room - len(lines)) // (FUNCTIONS - 1))]
    kept[1:, :, curved] = True
    return kept


class _Draws(NamedTuple):
    """Means over the draws kept."""

    probability: np.ndarray  # (members, units) that the unit acts through the member
    effect: np.ndarray  # (members, p, functions)
    noise: float  # variance, where that of the response is 1


def _sample(design: _Design, units: Units, n: int, sweeps: int, rng: np.random.Generator) -> _Draws:
    """Gibbs sampling: column after column in random order, then acting members of larger units, noise, sizes of
    effects and shares of the sets of functions.
    """
    size, (members, p, _) = len(design.correlation) - 1, design.place.shape
    sampler = EffectSweeps(design.gram, design.correlation, design.place, SETS, units.of_column)
    noise, variances = 1.0, np.full(FUNCTIONS, EFFECT_VARIANCES / n)
    shares = np.array([0.9, *[0.1 / len(SETS)] * len(SETS)])  # of columns that do not act, and of each set
    in_advance = np.full(len(SETS) + 1, 1.0 / len(SETS))  # columns, as if counted
    in_advance[0] = max(1.0, ROWS_PER_ACTING_COLUMN * p / n)
    has_functions = (design.place != size).any(axis=(0, 2))
    probability, effect, noises = np.zeros((members, len(units))), np.zeros((members, p, FUNCTIONS)), 0.0
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
        state = draw.state
        if not units.all_single:
            state = exchange_members(
                state, design.gram, design.place, units, precision=n / noise, variances=variances, rng=rng
            )
            sampler.move_to(state)
        drawn = state.effects.astype(float)
        of_columns = drawn[design.place]  # (members, p, functions)
        unexplained = 1.0 - drawn @ (design.correlation + state.residual.astype(float))
        noise = (max(unexplained, LEAST_NOISE) * n + NOISE_ROWS) / (2.0 * rng.gamma(0.5 * (n + NOISE_ROWS)))
        acting = np.count_nonzero(of_columns, axis=(0, 1))
        spread = 0.5 * (of_columns**2).sum(axis=(0, 1)) + 0.5 * EFFECT_VARIANCES / n
        variances = np.clip(spread / rng.gamma(0.5 * acting + 0.5), 0.01 / n, 10.0)
        counts = np.bincount(state.chosen[has_functions], minlength=len(SETS) + 1)
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
