"""The sampler of `EffectPosterior`: several chains on one model of a table, for one or several responses.

Exact up to Monte Carlo error for the model (`grip2.engine.effect_sweeps` has its prior) with the pairs that were screened
(`grip2.statistics.effect_model`); the model itself is an approximation for any real table. Half of the chains begin without
effects and, for long tables, with a tempered likelihood; the other half begin at what a greedy search finds. If they end in
different modes, probabilities are averages over chains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from grip2.engine.effect_sweeps import Prior
from grip2.progress import Progress, counted_progress, split_progress
from grip2.standardise import standardise
from grip2.statistics.augmented import shared_among_threads, threads_for
from grip2.statistics.effect_chain import SWEEPS_PER_ROUND, Chain, Draws, MeasurementNoise, Noise, ProbitNoise
from grip2.statistics.effect_model import LONG_TABLE, EffectModel, fit_model
from grip2.statistics.effect_start import greedy_state
from grip2.statistics.pair_screen import ALL_PRODUCTS
from grip2.units import Layout

SWEEPS = 1600  # of all chains together
CHAINS = 4
# Several responses, such as one for each of many classes, share SHARED_SWEEPS times the sweeps of a single one, but each gets at
# least one LEAST_SHARE-th of those.
SHARED_SWEEPS, LEAST_SHARE = 3, 4
BURN_IN = 0.2  # share of the sweeps of a chain
SCREENING_ROUNDS = 12  # of the short chain that screens pairs
# Within one mode the log density of a state fluctuates by about this much: differences between chains are divided by it.
FLATTENED = 5.0
# Labels are modelled by latent measurements if the table of the model's columns has at most so many entries. In larger ones they
# are modelled as measurements, which loses little there.
LATENT_ENTRIES = 60_000_000
# Latent measurements need at least this many rows per unit. With fewer the units can separate the classes without error, latent
# measurements of any scale fit, and the model loses power (seen for two classes, linear effects: n = p = 300, 300 x 100,
# 600 x 200).
LATENT_ROWS_PER_UNIT = 4
LEAST_CHANCE = 1e-3  # predicted probabilities of a label stay this far from 0 and 1
# Shares of the time, for the progress bar: the model with its screened pairs, and the chains.
_WORK = (1_000, 2_000)


class EffectFit(NamedTuple):
    """Posterior means of one response."""

    probability: np.ndarray  # (members, units) that the unit acts through this member
    residual: np.ndarray  # (rows,) what the mean effects leave, in the units of the response
    disagreement: np.ndarray  # (units,) largest difference of a probability between chains


@dataclass(frozen=True, eq=False)
class Posterior:
    """A model and the draws of all chains, for every response."""

    model: EffectModel
    draws: tuple[tuple[Draws, ...], ...]  # for every response, of every chain
    means: np.ndarray  # (responses,) of the responses
    deviations: np.ndarray  # (responses,)
    latent: bool  # True: predictions are those of latent measurements, whose signs are the labels

    def probability(self, response: int) -> np.ndarray:
        """(members, units) that a unit acts through a member: the mean over chains."""
        return np.asarray(np.mean([each.probability for each in self.draws[response]], axis=0))

    def disagreement(self, response: int) -> np.ndarray:
        """(units,) largest difference of a probability between two chains."""
        by_chain = np.stack([each.probability for each in self.draws[response]])
        return np.asarray(np.ptp(by_chain, axis=0).max(axis=0))

    def prediction(self, Z: np.ndarray, response: int) -> np.ndarray:
        """(rows,) of the posterior mean effects: of the standardised response, or of its latent measurements."""
        effects = np.mean([each.effects for each in self.draws[response]], axis=0)
        constant = np.mean([each.constant for each in self.draws[response]])
        return np.asarray(self.model.prediction(Z, effects) + constant)

    def chances(self, Z: np.ndarray, response: int) -> np.ndarray:
        """(rows,) predicted probabilities of the label 1."""
        found = self.prediction(Z, response)
        found = ndtr(found) if self.latent else self.means[response] + self.deviations[response] * found
        return np.asarray(np.clip(found, LEAST_CHANCE, 1.0 - LEAST_CHANCE))


def fit_effects(
    Z: np.ndarray,
    layout: Layout,
    y: np.ndarray,
    *,
    rng: np.random.Generator,
    fit_rows: np.ndarray | None = None,
    curves: bool = True,
    interactions: bool = True,
    most_products: int = ALL_PRODUCTS,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    progress: Progress | None = None,
) -> EffectFit:
    """Posterior of the standardised columns ``Z`` (rows, members p) for the measurements ``y``.

    ``fit_rows``: the numbers of the rows to fit on, all by default; the residual is that of all rows. ``curves=False``:
    straight lines only; ``interactions=False``: no pairs; ``most_products``: how many products of a pair to keep at most.
    """
    own = y if fit_rows is None else y[fit_rows]
    if len(own) < 2 or not standardise(own).any():
        nothing = np.zeros((layout.members, len(layout.units)))
        return EffectFit(nothing, y - own.mean(), nothing[0])
    found = sample_posterior(
        Z if fit_rows is None else Z[fit_rows],
        layout,
        [own],
        rng=rng,
        curves=curves,
        interactions=interactions,
        most_products=most_products,
        sweeps=sweeps,
        chains=chains,
        progress=progress,
    )
    residual = y - own.mean() - own.std() * found.prediction(Z, 0)
    return EffectFit(found.probability(0), residual, found.disagreement(0))


def sample_posterior(
    Z: np.ndarray,
    layout: Layout,
    responses: Sequence[np.ndarray],
    *,
    rng: np.random.Generator,
    labels: bool = False,
    curves: bool = True,
    interactions: bool = True,
    most_products: int = ALL_PRODUCTS,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    progress: Progress | None = None,
) -> Posterior:
    """Posteriors of responses (rows,), each by itself, on one model of the columns ``Z`` (rows, members p).

    ``labels``: the responses are 0 and 1, to be modelled by latent measurements if there are enough rows. Otherwise they are
    modelled as measurements.
    """
    of_model, of_chains = split_progress(progress, *_WORK)
    given = np.array(responses)
    with threads_for(Z):
        model = model_of(
            Z,
            layout,
            given.T,
            curves=curves,
            interactions=interactions,
            most_products=most_products,
            rng=rng,
        )
        rows_enough = len(Z) >= LATENT_ROWS_PER_UNIT * len(layout.units)
        latent = labels and rows_enough and len(Z) * len(model.columns) <= LATENT_ENTRIES
        values = model.moments.standardised(Z, model.columns) if latent else np.zeros((0, 0))

        def noise(response: int) -> Noise:
            return ProbitNoise(np.asarray(responses[response]), values) if latent else MeasurementNoise(len(Z))

        if of_model is not None:
            of_model(1, 1)
        return posterior_of(
            model,
            given.mean(axis=1),
            given.std(axis=1),
            rng=rng,
            sweeps=sweeps,
            chains=chains,
            noise=noise,
            latent=latent,
            progress=of_chains,
        )


def model_of(
    Z: np.ndarray,
    layout: Layout,
    responses: np.ndarray,
    *,
    curves: bool,
    interactions: bool,
    rng: np.random.Generator,
    most_products: int = ALL_PRODUCTS,
    n_rows: int | None = None,
) -> EffectModel:
    """The model of the columns ``Z`` (rows, members p) for the ``responses`` (rows, responses), with its screened pairs.

    ``n_rows``: of the whole table, if ``Z`` is a sample of it.
    """
    Y = np.column_stack([standardise(np.asarray(one, dtype=float)) for one in responses.T])
    return fit_model(
        Z,
        layout,
        Y,
        curves=curves,
        interactions=interactions,
        most_products=most_products,
        left_by=lambda model, response: Y[:, response] - _first_look(model, Z, response, rng),
        rng=rng,
        n_rows=n_rows,
    )


def posterior_of(
    model: EffectModel,
    means: np.ndarray,
    deviations: np.ndarray,
    *,
    rng: np.random.Generator,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    noise: Callable[[int], Noise] | None = None,
    latent: bool = False,
    progress: Progress | None = None,
) -> Posterior:
    """The draws of all chains on the moments of a model, for every response.

    ``means``, ``deviations`` (responses,): of the responses. ``noise``: of one of them; None: normal noise, for measurements.
    """
    responses = len(means)
    sweeps = min(sweeps, max(sweeps // LEAST_SHARE, SHARED_SWEEPS * sweeps // responses))
    rounds = max(1, -(-sweeps // (SWEEPS_PER_ROUND * chains)))
    noise = noise or (lambda _: MeasurementNoise(model.n_rows))
    runs = [
        Chain.of(model, response, noise(response), own) for response in range(responses) for own in rng.spawn(chains)
    ]
    for run in runs[::2]:  # the other half begin without effects
        run.begin_greedily()
    burn_in = int(BURN_IN * rounds)
    after_round = counted_progress(progress, len(runs) * (burn_in + max(1, rounds - burn_in)))
    shared_among_threads(lambda chain: chain.warm_up(burn_in, after_round), runs)
    for response in range(responses):
        _resample(runs[response * chains : (response + 1) * chains], rng)
    drawn = shared_among_threads(lambda chain: chain.collect(rounds - burn_in, after_round), runs)
    by_response = tuple(tuple(drawn[k : k + chains]) for k in range(0, len(drawn), chains))
    return Posterior(model, by_response, means, deviations, latent)


def _resample(chains: Sequence[Chain], rng: np.random.Generator) -> None:
    """Chains that ended their burn-in in a mode of much lower density begin anew where others are.

    A step of sequential Monte Carlo with systematic resampling: as many chains as before are drawn with weights that grow with
    the density of their states; chains of equal density stay where they are.
    """
    priors = [chain.prior() for chain in chains]
    common = Prior(
        float(np.exp(np.mean(np.log([prior.precision for prior in priors])))),
        np.exp(np.mean(np.log([prior.variances for prior in priors]), axis=0)),
        np.mean([prior.log_shares for prior in priors], axis=0),
        np.mean([prior.log_pair for prior in priors], axis=0),
    )
    density = np.array([chain.log_density(common) for chain in chains])
    weight = np.exp((density - density.max()) / FLATTENED)
    ladder = np.cumsum(weight) / weight.sum()
    chosen = np.minimum(np.searchsorted(ladder, (np.arange(len(chains)) + rng.random()) / len(chains)), len(chains) - 1)
    times = Counter(chosen.tolist())
    lost = [k for k in range(len(chains)) if k not in times]
    sources = [k for k in sorted(times) for _ in range(times[k] - 1)]
    for k, source in zip(lost, sources, strict=True):
        chains[k].begin_at(chains[source])


def _first_look(model: EffectModel, Z: np.ndarray, response: int, rng: np.random.Generator) -> np.ndarray:
    """(rows,) prediction of a short fit, for the screening of pairs; labels are modelled as measurements."""
    # In long tables a greedy search finds every strong term, and the same ones for every seed.
    if len(Z) >= LONG_TABLE:
        return model.prediction(Z, greedy_state(model.terms(response), len(Z)).effects)
    chain = Chain.of(model, response, MeasurementNoise(len(Z)), rng).begin_greedily()
    return model.prediction(Z, chain.run(SCREENING_ROUNDS, SCREENING_ROUNDS // 2).effects)
