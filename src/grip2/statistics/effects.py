"""A Bayesian additive model of pairs (not in the paper): sums of straight lines and curves of single features.

Each pair acts through one of its two members, or not at all; the member that acts does so through one or more of the shapes
of `grip2.statistics.basis`:

    y = sum_j f_j(one member of pair j) + noise,    f_j = sum of some shapes, or 0.

The importance of a column is the posterior probability that it is the member that acts. That a knockoff never acts is told
to the model, which of the two is the knockoff is not: both members have the same prior, so the model is one of the
knockoff statistics, of the kind that Spector and Fithian (2022) show to be the most powerful where the model holds. Where it does
not hold, the guarantee stays and power may suffer.

Gibbs sampling from moments alone, so the table is read once. How many pairs act, through which shapes, how large effects
and noise are: all of it is drawn along with the effects, and nothing is left to set.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from grip2.engine.effect_sweeps import EffectSweeps
from grip2.errors import Grip2Error
from grip2.result import Importance
from grip2.statistics.augmented import one_against_rest, paired_inputs, threads_for
from grip2.statistics.base import Progress, Statistic, check_whole, standardise
from grip2.statistics.basis import SHAPES, Basis, blocks
from grip2.statistics.parts import Part

SWEEPS = 800
BURN_IN = 0.2  # share of the sweeps
TOGETHER = 4  # sweeps between two draws of noise, sizes and shares
# Columns of the largest Gram matrix (single precision: 144 MB). Beyond it bends, then pairs, that promise least are left out.
COLUMNS_MAX = 6000
LINES_SHARE = 2 / 3
ROWS_AT_A_TIME = 4096
# Single precision loses a little with every update of the residual's correlations; they are computed anew this often.
REFRESH_ROUNDS = 5  # of several sweeps
# Prior scale of effects, in n-ths of the response's variance: about three standard errors of one.
EFFECT_VARIANCES = 10.0
# Priors worth so many rows, and a tenth of the rows as acting pairs: with more shapes than rows everything could be fitted.
NOISE_ROWS = 2.0
ROWS_PER_ACTING_PAIR = 10.0
LEAST_NOISE = 1e-6  # share of the response's variance
LEAST_PRIOR = 1e-6

# Which shapes act: every set of them but the empty one.
SETS = np.array([used for used in itertools.product([0, 1], repeat=SHAPES) if any(used)], dtype=np.float32)


class EffectPosterior(Statistic):
    """Posterior probability of having an effect in an additive model of lines and curves: what GRIP2 asks before its network.

    A second for tables on which a network takes minutes, and blind to features that act only together. For classes, the
    same model of the 0/1 indicator of each class.

    Parameters
    ----------
    curves : bool
        Bent shapes of every column too. False: straight lines only.
    sweeps : int
        Of the sampler, the first fifth of which is thrown away.
    """

    def __init__(self, *, curves: bool = True, sweeps: int = SWEEPS) -> None:
        self.curves = curves
        self.sweeps = sweeps

    def _importance(
        self,
        X: np.ndarray,
        Xk: np.ndarray,
        y: np.ndarray,
        *,
        rng: np.random.Generator,
        task: str,
        progress: Progress | None,
    ) -> Importance:
        check_whole(self, "sweeps")
        if not isinstance(self.curves, bool | np.bool_):
            raise Grip2Error(f"EffectPosterior: curves must be True or False, got {self.curves!r}.")
        Z, p = paired_inputs(X, Xk, np.float32), X.shape[1]
        fit = class_probabilities if task == "classification" else _probabilities
        strength = fit(Z, y, rng=rng, curves=bool(self.curves), sweeps=self.sweeps)
        return Importance(strength[:p], strength[p:])


def class_probabilities(
    Z: np.ndarray, y: np.ndarray, *, rng: np.random.Generator, rows: np.ndarray | None = None, **settings: Any
) -> np.ndarray:
    """(2p,) for class numbers ``y``: probabilities of acting on the 0/1 indicator of a class, summed over classes.

    An indicator is no normal variable; that can cost power and nothing else.
    """
    labels = [label if rows is None else label[rows] for label in one_against_rest(y)]
    own = Z if rows is None else Z[rows]
    return np.sum([_probabilities(own, label, rng=rng, **settings) for label in labels], axis=0)


def _probabilities(Z: np.ndarray, y: np.ndarray, **settings: Any) -> np.ndarray:
    return fit_effects(Z, standardise(y), **settings).strength


def fit_effects(
    Z: np.ndarray,
    y: np.ndarray,
    *,
    rng: np.random.Generator,
    rows: np.ndarray | None = None,
    curves: bool = True,
    sweeps: int = SWEEPS,
) -> Part:
    """Posterior of the standardised columns ``Z`` (rows, 2p) for the standardised response ``y``.

    ``rows``: the numbers of those to fit on, all by default; what is left is that of all rows. ``curves=False``: straight
    lines only. The part's share is that of the rows fitted on, 1 - noise variance: take one of held-out rows to compare it.
    """
    fitted_on = Z if rows is None else Z[rows]
    target = standardise(y if rows is None else y[rows])
    p = Z.shape[1] // 2
    if len(target) < 2 or not target.any():
        return Part("additive", np.zeros(2 * p), 0.0, y, None, [], probability=True)
    with threads_for(Z):
        bends = Basis.fit(fitted_on)
        design = _design(fitted_on, target, bends, curves)
        draws = _sample(design, len(target), sweeps, rng)
        fitted = _prediction(Z, bends, draws.effect)
    own = y if rows is None else y[rows]
    residual = y - own.mean() - own.std() * fitted
    return Part(
        "additive",
        draws.probability.reshape(2 * p),
        max(0.0, 1.0 - draws.noise),
        standardise(residual),
        None,
        [],
        float(residual.std()),
        probability=True,
    )


class _Design(NamedTuple):
    """Moments of the shapes that take part, per row; the last row and column, all zero, stand for those that do not."""

    place: np.ndarray  # (2, p, shapes) number of a shape's column
    gram: np.ndarray  # (columns + 1, columns + 1)
    correlation: np.ndarray  # (columns + 1,) with the response


def _design(Z: np.ndarray, y: np.ndarray, bends: Basis, curves: bool) -> _Design:
    p, n = Z.shape[1] // 2, len(Z)
    present = bends.present().reshape(SHAPES, 2, p)
    # A bend that one member lacks would favour the other.
    present[1:] &= present[1:].all(axis=1, keepdims=True) & curves
    if present.sum() > COLUMNS_MAX:
        present &= _promising(Z, y, bends, present)
    shape, column = np.nonzero(present.reshape(SHAPES, 2 * p))
    size = len(shape)
    place = np.full((SHAPES, 2 * p), size)
    place[shape, column] = np.arange(size)
    gram, correlation = np.zeros((size + 1, size + 1), np.float32), np.zeros(size + 1)
    for start in range(0, n, ROWS_AT_A_TIME):
        some = slice(start, start + ROWS_AT_A_TIME)
        values = _values(Z[some], bends, shape, column)
        gram[:-1, :-1] += values.T @ values
        correlation[:-1] += values.T @ y[some]
    gram /= n
    return _Design(place.reshape(SHAPES, 2, p).transpose(1, 2, 0), gram, (correlation / n).astype(np.float32))


def _values(Z: np.ndarray, bends: Basis, shape: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(rows, size) the shapes that take part, in order of shape and column."""
    values = np.empty((len(Z), len(shape)), np.float32)
    for here in blocks(Z.shape[1], len(Z)):
        of_block = bends.take(here).of(Z[:, here])
        mine = np.flatnonzero((column >= here.start) & (column < here.stop))
        values[:, mine] = of_block[shape[mine], :, column[mine] - here.start].T
    return values


def _promising(Z: np.ndarray, y: np.ndarray, bends: Basis, present: np.ndarray) -> np.ndarray:
    """Which shapes of a wide table take part: those of pairs whose shapes correlate most with the response.

    Straight lines have two thirds of the room, or more if there are few; the rest is for bends. Pairs are kept as a whole.
    """
    p = present.shape[2]
    promise = np.zeros(present.shape).reshape(SHAPES, 2 * p)
    for here in blocks(2 * p, len(Z)):
        promise[:, here] = np.abs(np.einsum("knj,n->kj", bends.take(here).of(Z[:, here]), y))
    of_pair = (promise.reshape(present.shape) * present).max(axis=1)  # (shapes, p)
    kept = np.zeros(present.shape, dtype=bool)
    room = COLUMNS_MAX // 2
    for_lines = round(LINES_SHARE * room) if present[1:].any() else room
    lines = np.argsort(-of_pair[0], kind="stable")[:for_lines]
    kept[0][:, lines] = True
    curved = np.argsort(-of_pair[1:].max(axis=0), kind="stable")[: max(0, (room - len(lines)) // (SHAPES - 1))]
    kept[1:, :, curved] = True
    return kept


class _Draws(NamedTuple):
    """Means over the draws kept."""

    probability: np.ndarray  # (2, p) that the member acts
    effect: np.ndarray  # (2, p, shapes)
    noise: float  # variance, where that of the response is 1


def _sample(design: _Design, n: int, sweeps: int, rng: np.random.Generator) -> _Draws:
    """Gibbs sampling: pair after pair in random order, then noise, sizes of effects and shares of the sets of shapes."""
    size, p = len(design.correlation) - 1, design.place.shape[1]
    sampler = EffectSweeps(design.gram, design.correlation, design.place, SETS)
    noise, variances = 1.0, np.full(SHAPES, EFFECT_VARIANCES / n)
    shares = np.array([0.9, *[0.1 / len(SETS)] * len(SETS)])  # of pairs that do not act, and of each set of shapes
    in_advance = np.full(len(SETS) + 1, 1.0 / len(SETS))  # pairs, as if counted
    in_advance[0] = max(1.0, ROWS_PER_ACTING_PAIR * p / n)
    has_shapes = (design.place != size).any(axis=(0, 2))
    probability, effect, noises = np.zeros((2, p)), np.zeros((2, p, SHAPES)), 0.0
    rounds = -(-sweeps // TOGETHER)
    first = int(BURN_IN * rounds)
    for k in range(rounds):
        if k % REFRESH_ROUNDS == 0:
            sampler.refresh()
        draw = sampler.draw(
            order=rng.permuted(np.tile(np.arange(p, dtype=np.int32), (TOGETHER, 1)), axis=1),
            uniform=rng.random((TOGETHER, p), dtype=np.float32),
            normal=rng.standard_normal((TOGETHER, p, SHAPES), dtype=np.float32),
            precision=n / noise,
            variances=variances,
            log_shares=np.log(shares),
        )
        drawn = draw.effects.astype(float)
        of_pairs = drawn[design.place]  # (2, p, shapes)
        unexplained = 1.0 - drawn @ (design.correlation + draw.residual.astype(float))
        noise = (max(unexplained, LEAST_NOISE) * n + NOISE_ROWS) / (2.0 * rng.gamma(0.5 * (n + NOISE_ROWS)))
        acting = np.count_nonzero(of_pairs, axis=(0, 1))
        spread = 0.5 * (of_pairs**2).sum(axis=(0, 1)) + 0.5 * EFFECT_VARIANCES / n
        variances = np.clip(spread / rng.gamma(0.5 * acting + 0.5), 0.01 / n, 10.0)
        counts = np.bincount(draw.chosen[has_shapes], minlength=len(SETS) + 1)
        shares = np.maximum(rng.dirichlet(counts + in_advance), LEAST_PRIOR)
        if k >= first:
            probability += draw.probability.T
            effect += draw.mean_effect.transpose(1, 0, 2)
            noises += noise
    kept = rounds - first
    return _Draws(probability / kept, effect / kept, noises / kept)


def _prediction(Z: np.ndarray, bends: Basis, effect: np.ndarray) -> np.ndarray:
    """(rows,) of the mean effects."""
    weights = effect.transpose(2, 0, 1).reshape(SHAPES, -1)
    used = np.flatnonzero(weights.any(axis=0))
    fitted = np.zeros(len(Z))
    for here in blocks(len(used), len(Z)):
        columns = used[here]
        fitted += np.einsum("knj,kj->n", bends.take(columns).of(Z[:, columns]), weights[:, columns])
    return fitted
