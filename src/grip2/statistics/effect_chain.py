"""A chain of the sampler of `EffectPosterior`: sweeps, joint moves, and draws of everything that sweeps hold fixed.

How many columns and pairs act, through which functions, and how large effects and noise are is drawn together with the effects:
no hyper-parameter has to be set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, ndtr, ndtri

from grip2.engine.effect_sweeps import EffectState, EffectSums, EffectTerms, Prior, nothing_acts, refresh, sweep
from grip2.statistics.basis import FUNCTIONS
from grip2.statistics.effect_model import SETS, EffectModel
from grip2.statistics.effect_moves import EffectMoves, kinds_of_acting_pairs, log_density
from grip2.statistics.effect_start import greedy_state
from grip2.statistics.function_use import draw_chances, even_chances, set_shares
from grip2.statistics.pair_screen import PRODUCTS_OF_KIND

SWEEPS_PER_ROUND = 4  # between two draws of noise, effect variances and shares
ROUNDS_PER_MOVE = 1  # between two joint moves
ROUNDS_PER_COLLAPSE = 5  # between two collapsed moves, with all effects integrated out
LAST_OF_WARM_UP = 1e9  # multiplications of the collapsed move that ends a burn-in, about
REFRESH_ROUNDS = 20  # correlations with the residual are computed anew this often: rounding errors add up
# Prior scale of the variance of effects, in units of the response's variance divided by n: effects of about three standard
# errors.
EFFECT_VARIANCES = 10.0
NOISE_ROWS = 2.0  # the prior of the noise counts as much as this many rows
# A priori at most one column acts for every so many rows: more basis functions than rows could fit anything.
ROWS_PER_ACTING_COLUMN = 10.0
LEAST_NOISE = 1e-6  # share of the response's variance
LEAST_PRIOR = 1e-6  # shares that are drawn are no smaller
MOST_PAIRS = 0.5  # share of the pairs that act, at most
# The burn-in begins as if a table had no more rows than this, so that chains do not stick where they begin.
TEMPERED_ROWS = 2000.0
_EXTREME = 30.0  # latent means are clipped to this distance from zero


def draw_below(most: float, a: float, b: float, rng: np.random.Generator) -> float:
    """A draw of Beta(a, b) that is at most ``most``."""
    drawn = float(rng.beta(a, b))
    if drawn <= most:
        return drawn
    below = float(betainc(a, b, most))
    # Where next to nothing lies below, nearly all of it lies at the limit.
    return min(float(betaincinv(a, b, rng.random() * below)), most) if below > 0 else most


class Noise(ABC):
    """Relates the sum of all effects to the response: the noise of a measurement, or of a latent one behind a label."""

    @abstractmethod
    def draw(self, terms: EffectTerms, state: EffectState, rng: np.random.Generator) -> float:
        """Draw it given all effects; returns the variance of the noise."""

    @abstractmethod
    def constant(self) -> float:
        """Mean over all draws so far of what is added to the sum of the effects."""

    @abstractmethod
    def begin_at(self, other: Noise) -> None:
        """Continue from the state of that of another chain."""


class MeasurementNoise(Noise):
    """Normal noise of unknown variance around a standardised response of ``n`` rows."""

    def __init__(self, n: int) -> None:
        self._n = n

    def draw(self, terms: EffectTerms, state: EffectState, rng: np.random.Generator) -> float:
        unexplained = 1.0 - float(state.effects @ (terms.correlation + state.residual))
        shape = 0.5 * (self._n + NOISE_ROWS)
        return float((max(unexplained, LEAST_NOISE) * self._n + NOISE_ROWS) / (2.0 * rng.gamma(shape)))

    def constant(self) -> float:
        return 0.0

    def begin_at(self, other: Noise) -> None:
        pass  # nothing is remembered


class ProbitNoise(Noise):
    """Labels 0/1 are the signs of latent measurements with noise of variance 1, drawn along with the effects.

    Albert and Chib, "Bayesian analysis of binary and polychotomous response data" (1993).
    """

    def __init__(self, labels: np.ndarray, values: np.ndarray) -> None:
        self._sign = np.where(labels > 0, 1.0, -1.0)
        self._values = values  # (size, rows) the standardised columns of the model
        share = np.clip(labels.mean(), 0.5 / len(labels), 1 - 0.5 / len(labels))
        self._intercept = float(ndtri(share))
        self._intercepts: list[float] = []

    def draw(self, terms: EffectTerms, state: EffectState, rng: np.random.Generator) -> float:
        n, used = len(self._sign), np.flatnonzero(state.effects)
        fitted = state.effects[used] @ self._values[used].astype(float)
        towards = np.clip(self._sign * (fitted + self._intercept), -_EXTREME, _EXTREME)
        # A normal number with mean ``towards``, given that it is positive.
        latent = self._sign * (towards - ndtri(rng.random(n) * ndtr(towards)))
        self._intercept = float((latent - fitted).mean() + rng.standard_normal() / np.sqrt(n))
        self._intercepts.append(self._intercept)
        terms.correlation[: len(self._values)] = self._values @ (latent - self._intercept).astype(np.float32) / n
        refresh(terms, state)
        return 1.0

    def constant(self) -> float:
        return float(np.mean(self._intercepts[len(self._intercepts) // 5 :]))

    def begin_at(self, other: Noise) -> None:
        assert isinstance(other, ProbitNoise)
        self._intercept = other._intercept


class Draws(NamedTuple):
    """What a chain found after its burn-in."""

    probability: np.ndarray  # (members, units) mean probability that the unit acts through the member
    effects: np.ndarray  # (size,) means
    constant: float  # added to their sum
    samples: tuple[
        tuple[np.ndarray, np.ndarray], ...
    ]  # after every round: numbers and values of the effects that are not zero


@dataclass(eq=False)
class Chain:
    """One chain: its state, and the variances and shares that sweeps hold fixed."""

    terms: EffectTerms
    moves: EffectMoves
    n: int
    all_pairs: int
    noise_model: Noise
    rng: np.random.Generator
    state: EffectState = field(init=False)
    noise: float = field(init=False, default=1.0)
    rounds: int = field(init=False, default=0)  # so far
    tempered: bool = field(init=False, default=True)  # is the likelihood tempered in its burn-in?
    variances: np.ndarray = field(init=False)  # (functions + 1,) of effects of each basis function, and of products
    chances: np.ndarray = field(init=False)  # (functions,) that a column which acts does so along each of them
    # (2, 1 + sets) share of columns that do not act and of each set of functions; for units outside and inside of acting pairs
    shares: np.ndarray = field(init=False)
    pair_share: float = field(init=False)  # of pairs that act
    kind_shares: np.ndarray = field(init=False)  # (kinds,) of each kind of product among them

    @classmethod
    def of(cls, model: EffectModel, response: int, noise: Noise, rng: np.random.Generator) -> Chain:
        terms = model.terms(response)
        return cls(terms, EffectMoves(terms, model.edges, model.triples), model.n_rows, model.all_pairs, noise, rng)

    def __post_init__(self) -> None:
        self.state = nothing_acts(self.terms)
        self._present = (self.terms.place != len(self.terms.gram) - 1).any(axis=0)  # (p, functions) of any member
        self._has_functions = self._present.any(axis=1)
        # Columns of a wide table that are not in the model have nothing to draw.
        pairs = len(self._has_functions) + np.arange(len(self.state.pair))
        self._visited = np.concatenate([np.flatnonzero(self._has_functions), pairs])
        self.variances = np.full(FUNCTIONS + 1, EFFECT_VARIANCES / self.n)
        self.chances = even_chances()
        self.shares = np.tile([0.9, *(0.1 * set_shares(self.chances))], (2, 1))
        self.pair_share = 1.0 / max(2, self.all_pairs)
        self.kind_shares = PRODUCTS_OF_KIND / PRODUCTS_OF_KIND.sum()

    def begin_greedily(self) -> Chain:
        """Begin where a greedy search ends, without tempering, which would only lead away from there."""
        found = greedy_state(self.terms, self.n)
        if found.acting.any():
            self.state, self.tempered = found, False
            chances, shares, pair_share = self.chances, self.shares.copy(), self.pair_share
            self._draw_fixed()
            # The search finds the strongest terms only, so that how often terms act is not estimated from it: those shares keep
            # their prior values.
            self.chances, self.shares, self.pair_share = chances, shares, pair_share
        return self

    def run(self, rounds: int, burn_in: int) -> Draws:
        """A warm-up of ``burn_in`` rounds, and what the rest of ``rounds`` rounds find."""
        self.warm_up(burn_in)
        return self.collect(rounds - burn_in)

    def warm_up(self, rounds: int, after_round: Callable[[], None] = lambda: None) -> Chain:
        """The burn-in. If tempered, it begins as if the table had few rows, and has all of them after three quarters."""
        self.noise = self.noise_model.draw(self.terms, self.state, self.rng)
        for k in range(rounds):
            remaining = max(0.0, 1.0 - k / max(1.0, 0.75 * rounds))
            self._round(min(1.0, TEMPERED_ROWS / self.n) ** remaining if self.tempered else 1.0)
            after_round()
        self.moves.collapse(self.state, self.prior(), self.rng, LAST_OF_WARM_UP)
        return self

    def collect(self, rounds: int, after_round: Callable[[], None] = lambda: None) -> Draws:
        """Rounds after the burn-in, and averages over them."""
        units, members = len(self.state.acting), len(self.terms.place)
        probability, visits, effects = np.zeros((units, members)), np.zeros(units), np.zeros(len(self.state.effects))
        samples = []
        for k in range(max(1, rounds)):
            if k % REFRESH_ROUNDS == 0:
                refresh(self.terms, self.state)
            sums = self._round(1.0)
            probability += sums.probability
            visits += sums.visits
            effects += sums.effects
            used = np.flatnonzero(self.state.effects)
            samples.append((used, self.state.effects[used]))
            after_round()
        mean = (probability / np.maximum(visits, 1.0)[:, None]).T
        return Draws(mean, effects / (SWEEPS_PER_ROUND * len(samples)), self.noise_model.constant(), tuple(samples))

    def begin_at(self, other: Chain) -> None:
        """Continue from the state of another chain, with this chain's own random numbers."""
        self.terms.correlation[:] = other.terms.correlation
        self.state = EffectState(*(part.copy() for part in other.state))
        self.noise, self.variances, self.shares = other.noise, other.variances.copy(), other.shares.copy()
        self.chances, self.pair_share, self.kind_shares = other.chances, other.pair_share, other.kind_shares.copy()
        self.noise_model.begin_at(other.noise_model)

    def log_density(self, prior: Prior) -> float:
        """Log posterior density of the state with the sizes of effects integrated out, under the given prior."""
        return log_density(self.terms, self.state, prior)

    def prior(self) -> Prior:
        return self._prior(1.0)

    def _round(self, tempered: float) -> EffectSums:
        """Sweeps, joint moves and a draw of what they hold fixed; ``tempered``: share of the rows that count."""
        everyone = np.tile(self._visited, (SWEEPS_PER_ROUND, 1))
        prior = self._prior(tempered)
        sums = sweep(self.terms, self.state, self.rng.permuted(everyone, axis=1), prior, self.rng)
        if self.rounds % ROUNDS_PER_MOVE == 0:
            self.moves.move(self.state, prior, self.rng)
        if self.rounds % ROUNDS_PER_COLLAPSE == ROUNDS_PER_COLLAPSE - 1:
            self.moves.collapse(self.state, prior, self.rng)
        self.rounds += 1
        self._draw_fixed()
        return sums

    def _prior(self, tempered: float) -> Prior:
        log_pair = np.log([1.0 - self.pair_share, *(self.pair_share * self.kind_shares / PRODUCTS_OF_KIND)])
        return Prior(tempered * self.n / self.noise, self.variances, np.log(self.shares), log_pair)

    def _draw_fixed(self) -> None:
        """Draw what sweeps hold fixed, given which terms act and how: noise, variances of effects, and shares."""
        terms, state, n, rng = self.terms, self.state, self.n, self.rng
        of_columns = state.effects[terms.place]  # (members, p, functions)
        act = np.flatnonzero(state.pair)
        of_pairs = state.effects[terms.pair_place[act]]
        acting = np.array([*np.count_nonzero(of_columns, axis=(0, 1)), np.count_nonzero(of_pairs)])
        squares = np.array([*(of_columns**2).sum(axis=(0, 1)), (of_pairs**2).sum()])
        spread = 0.5 * squares + 0.5 * EFFECT_VARIANCES / n
        self.variances = np.clip(spread / rng.gamma(0.5 * acting + 0.5), 0.01 / n, 10.0)
        acts = state.chosen > 0
        self.chances = draw_chances(SETS[state.chosen[acts] - 1] > 0, self._present[acts], self.chances, rng)
        of_sets = set_shares(self.chances)
        inside = state.in_pairs[terms.unit] > 0
        for h, idle in enumerate((max(1.0, ROWS_PER_ACTING_COLUMN * len(terms.unit) / n), 1.0)):
            these = self._has_functions & (inside == bool(h))
            share = rng.beta(1.0 + np.count_nonzero(these & acts), idle + np.count_nonzero(these & ~acts))
            self.shares[h] = np.maximum([1.0 - share, *(share * of_sets)], LEAST_PRIOR)
        if self.all_pairs:
            idle = max(1.0, ROWS_PER_ACTING_COLUMN * self.all_pairs / n)
            share = draw_below(MOST_PAIRS, 1.0 + len(act), idle + self.all_pairs - len(act), rng)
            self.pair_share = max(share, LEAST_PRIOR**2)
            counts = np.bincount(kinds_of_acting_pairs(terms, state), minlength=len(PRODUCTS_OF_KIND))
            prior_counts = PRODUCTS_OF_KIND / PRODUCTS_OF_KIND.sum()
            self.kind_shares = np.maximum(rng.dirichlet(counts + prior_counts), LEAST_PRIOR)
        self.noise = self.noise_model.draw(terms, state, rng)
