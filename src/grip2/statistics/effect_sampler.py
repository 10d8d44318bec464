"""The Gibbs sampler of `EffectPosterior`: single effects and pairs, several chains, from moments alone.

How many columns and pairs act, through which functions, how large effects and noise are: all of it is drawn along with the
effects, and nothing is left to set. Exact up to Monte Carlo error for the model (`grip2.engine.effect_sweeps` has its prior),
which is approximate for any real table, and for the pairs that were screened (`grip2.statistics.pair_screen`). Pairs are
screened twice: against what single effects leave, and against what these and the first pairs leave.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grip2.engine.effect_sweeps import EffectState, EffectTerms, Prior, nothing_acts, refresh, sweep
from grip2.standardise import standardise
from grip2.statistics.augmented import shared_among_threads, threads_for
from grip2.statistics.basis import FUNCTIONS, Basis, SideFunctions
from grip2.statistics.effect_design import COLUMNS_MAX, EffectColumns, EffectMoments, main_columns, moments_of
from grip2.statistics.effect_moves import EffectMoves
from grip2.statistics.pair_screen import PRODUCTS, PRODUCTS_OF_KIND, PairTerms, count_pairs, screen_pairs
from grip2.units import Layout

SWEEPS = 800  # of all chains together
CHAINS = 4
BURN_IN = 0.2  # share of the sweeps of a chain
SWEEPS_PER_ROUND = 4  # between two draws of noise variance, effect variances and shares, and two joint moves
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
# Burn-in begins as if a table had no more rows than this, so that chains do not stick where they begin.
TEMPERED_ROWS = 2000.0
# Pairs in the model, at most, and multiplications that their moments may take.
PAIRS_MAX = 500
MOMENTS_WORK = 1.5e11
SCREENING_ROUNDS = 12
FIRST_SCREEN = 0.6  # of the pairs are found in the first screening

# Which basis functions act: every set of them but the empty one.
SETS = np.array([used for used in itertools.product([0, 1], repeat=FUNCTIONS) if any(used)], dtype=np.float32)


class EffectFit(NamedTuple):
    """Posterior means of one response."""

    probability: np.ndarray  # (members, units) that the unit acts through this member
    residual: np.ndarray  # (rows,) what the mean effects leave, in the units of the response
    disagreement: np.ndarray  # (units,) largest difference of a probability between chains


def fit_effects(
    Z: np.ndarray,
    layout: Layout,
    y: np.ndarray,
    *,
    rng: np.random.Generator,
    fit_rows: np.ndarray | None = None,
    curves: bool = True,
    interactions: bool = True,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
) -> EffectFit:
    """Posterior of the standardised columns ``Z`` (rows, members p) for the response ``y``.

    ``fit_rows``: the numbers of the rows to fit on, all by default; the residual is that of all rows. ``curves=False``:
    straight lines only; ``interactions=False``: no pairs.
    """
    own = y if fit_rows is None else y[fit_rows]
    target = standardise(own)
    if len(target) < 2 or not target.any():
        nothing = np.zeros((layout.members, len(layout.units)))
        return EffectFit(nothing, y - own.mean(), nothing[0])
    fitted_on = Z if fit_rows is None else Z[fit_rows]
    with threads_for(Z):
        model = _Model.of(fitted_on, layout, target, curves=curves, interactions=interactions, rng=rng)
        drawn = _run_chains(model, len(target), sweeps, chains, rng)
        effects = np.mean([each.effects for each in drawn], axis=0)
        fitted = model.moments.prediction(Z, model.columns, effects)
    by_chain = np.stack([each.probability for each in drawn])
    return EffectFit(by_chain.mean(axis=0), y - own.mean() - own.std() * fitted, np.ptp(by_chain, axis=0).max(axis=0))


@dataclass(frozen=True, eq=False)
class _Model:
    """The columns of the model, their moments, and how many pairs there are of which some were screened."""

    columns: EffectColumns
    moments: EffectMoments
    all_pairs: int

    @classmethod
    def of(
        cls,
        Z: np.ndarray,
        layout: Layout,
        y: np.ndarray,
        *,
        curves: bool,
        interactions: bool,
        rng: np.random.Generator,
    ) -> _Model:
        basis = Basis.fit(Z)
        side = SideFunctions.fit(Z, basis)
        all_pairs = count_pairs(layout) if interactions else 0
        per_pair = PRODUCTS * layout.members**2
        room = min(COLUMNS_MAX, max(1000, int(np.sqrt(MOMENTS_WORK / len(Z)))))
        for_pairs = min(PAIRS_MAX, all_pairs, room // (2 * per_pair))
        main = main_columns(Z, layout, y, basis, curves=curves, most=COLUMNS_MAX - for_pairs * per_pair)
        for_pairs = min(PAIRS_MAX, all_pairs, max(for_pairs, (room - len(main[0])) // per_pair))
        size = len(main[0]) + for_pairs * per_pair + 1
        columns = EffectColumns(layout, basis, side, *main, PairTerms.none())
        moments = moments_of(Z, y, columns, size)
        for share in (FIRST_SCREEN, 1.0) if for_pairs else ():
            residual = y - cls(columns, moments, all_pairs).screened(Z, rng)
            new = screen_pairs(Z, layout, side, residual, for_pairs, rng).without(columns.pairs)
            pairs = columns.pairs.joined(new.first(slice(0, round(share * for_pairs) - len(columns.pairs))))
            columns = EffectColumns(layout, basis, side, *main, pairs)
            moments = moments_of(Z, y, columns, size, moments)
        return cls(columns, moments, all_pairs)

    def screened(self, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(rows,) prediction of a short chain, for the screening of further pairs."""
        found = _Chain.of(self, len(Z), rng).run(SCREENING_ROUNDS, SCREENING_ROUNDS // 2)
        return self.moments.prediction(Z, self.columns, found.effects)

    def terms(self) -> EffectTerms:
        """What the sampler works on."""
        absent = len(self.moments.correlation) - 1
        units, pairs = self.columns.layout.units, self.columns.pairs
        return EffectTerms(
            self.moments.gram,
            self.moments.correlation,
            self.columns.place(absent),
            SETS,
            units.of_column,
            self.columns.pair_place(absent),
            pairs.kind,
            units.of_column[np.stack([pairs.left, pairs.right], axis=1)],
        )


class _Draws(NamedTuple):
    """Means over the draws kept."""

    probability: np.ndarray  # (members, units) that the unit acts through the member
    effects: np.ndarray  # (size,)


def _run_chains(model: _Model, n: int, sweeps: int, chains: int, rng: np.random.Generator) -> list[_Draws]:
    rounds = max(1, -(-sweeps // (SWEEPS_PER_ROUND * chains)))
    runs = [_Chain.of(model, n, own) for own in rng.spawn(chains)]
    burn_in = int(BURN_IN * rounds)
    return shared_among_threads(lambda chain: chain.run(rounds, burn_in), runs)


@dataclass(eq=False)
class _Chain:
    """One chain: sweeps, joint moves, and draws of what sweeps hold fixed."""

    terms: EffectTerms
    moves: EffectMoves
    n: int
    all_pairs: int
    rng: np.random.Generator
    state: EffectState
    variances: np.ndarray
    shares: np.ndarray  # (2, 1 + sets) of columns that do not act, and of each set; outside and inside of acting pairs
    pair_share: float  # of pairs that act
    kind_shares: np.ndarray  # (kinds,) of products among them
    noise: float = 1.0

    @classmethod
    def of(cls, model: _Model, n: int, rng: np.random.Generator) -> _Chain:
        terms = model.terms()
        return cls(
            terms,
            EffectMoves(terms),
            n,
            model.all_pairs,
            rng,
            nothing_acts(terms),
            variances=np.full(FUNCTIONS + 1, EFFECT_VARIANCES / n),
            shares=np.tile(np.array([0.9, *[0.1 / len(SETS)] * len(SETS)]), (2, 1)),
            pair_share=1.0 / max(1, model.all_pairs),
            kind_shares=PRODUCTS_OF_KIND / PRODUCTS_OF_KIND.sum(),
        )

    def run(self, rounds: int, burn_in: int) -> _Draws:
        members = len(self.terms.place)
        probability, visits = np.zeros((len(self.state.acting), members)), np.zeros(len(self.state.acting))
        effects, kept = np.zeros(len(self.terms.correlation)), 0
        for k in range(rounds):
            if k % REFRESH_ROUNDS == 0:
                refresh(self.terms, self.state)
            # From few rows to all of them, in the first three quarters of the burn-in.
            left = max(0.0, 1.0 - k / max(1.0, 0.75 * burn_in)) if burn_in else 0.0
            prior = self._prior(min(1.0, TEMPERED_ROWS / self.n) ** left)
            everyone = np.tile(np.arange(len(self.state.chosen) + len(self.state.pair)), (SWEEPS_PER_ROUND, 1))
            sums = sweep(self.terms, self.state, self.rng.permuted(everyone, axis=1), prior, self.rng)
            self.moves.move(self.state, prior, self.rng)
            self._draw_fixed()
            if k >= burn_in:
                probability += sums.probability
                visits += sums.visits
                effects += sums.effects
                kept += SWEEPS_PER_ROUND
        return _Draws((probability / np.maximum(visits, 1.0)[:, None]).T, effects / max(1, kept))

    def _prior(self, tempered: float) -> Prior:
        log_pair = np.log([1.0 - self.pair_share, *(self.pair_share * self.kind_shares / PRODUCTS_OF_KIND)])
        return Prior(tempered * self.n / self.noise, self.variances, np.log(self.shares), log_pair)

    def _draw_fixed(self) -> None:
        """Noise, sizes of effects, and shares, given all effects."""
        terms, state, n, rng = self.terms, self.state, self.n, self.rng
        drawn = state.effects
        unexplained = 1.0 - drawn @ (terms.correlation + state.residual)
        self.noise = (max(unexplained, LEAST_NOISE) * n + NOISE_ROWS) / (2.0 * rng.gamma(0.5 * (n + NOISE_ROWS)))
        of_columns = drawn[terms.place]  # (members, p, functions)
        of_pairs = drawn[terms.pair_place[np.flatnonzero(state.pair)]]
        acting = np.array([*np.count_nonzero(of_columns, axis=(0, 1)), np.count_nonzero(of_pairs)])
        squares = np.array([*(of_columns**2).sum(axis=(0, 1)), (of_pairs**2).sum()])
        spread = 0.5 * squares + 0.5 * EFFECT_VARIANCES / n
        self.variances = np.clip(spread / rng.gamma(0.5 * acting + 0.5), 0.01 / n, 10.0)
        p = len(terms.unit)
        has_functions = (terms.place != len(terms.gram) - 1).any(axis=(0, 2))
        inside = state.in_pairs[terms.unit] > 0
        for h, idle in enumerate((max(1.0, ROWS_PER_ACTING_COLUMN * p / n), 1.0)):
            counts = np.bincount(state.chosen[has_functions & (inside == bool(h))], minlength=len(SETS) + 1)
            in_advance = np.array([idle, *[1.0 / len(SETS)] * len(SETS)])  # columns, as if counted
            self.shares[h] = np.maximum(rng.dirichlet(counts + in_advance), LEAST_PRIOR)
        if self.all_pairs:
            idle = max(1.0, ROWS_PER_ACTING_COLUMN * self.all_pairs / n)
            active = int(np.count_nonzero(state.pair))
            self.pair_share = float(rng.beta(1.0 + active, idle + self.all_pairs - active))
            self.pair_share = min(max(self.pair_share, LEAST_PRIOR**2), 0.5)
            act = np.flatnonzero(state.pair)
            kinds = terms.pair_kind[act, (state.pair[act] - 1) % terms.pair_place.shape[-1]]
            counts = np.bincount(kinds, minlength=len(PRODUCTS_OF_KIND))
            in_advance = PRODUCTS_OF_KIND / PRODUCTS_OF_KIND.sum()
            self.kind_shares = np.maximum(rng.dirichlet(counts + in_advance), LEAST_PRIOR)
