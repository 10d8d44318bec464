"""Is a probability of `EffectPosterior` a probability? Tables are drawn from the prior of its model, and the sampler is run.

    python benchmarks/posterior_calibration.py --tables 20000 --seconds 7200 --jobs 2

Shares of columns and pairs that act, sizes of effects, noise, acting members and effects are all drawn from the prior; columns
are normal and their copies correlate with them by 0.5. Tables whose response has a variance between 0.8 and 1.25 are kept,
because the sampler standardises the response, and the prior is one of standardised responses: a choice made from the data
leaves a posterior as it is. The probability P(original) = (1 + W) / 2 of the first member of a unit is compared with how often
it is the acting one, in ten bins, and the probability that a unit acts through a member with how often it does. At this size
the model has all nine products of all pairs, so that nothing of the prior is left out. Writes ``results/posterior/README.md``.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grip2.standardise import standardise
from grip2.statistics import effect_chain as prior
from grip2.statistics.basis import FUNCTIONS, SIDES, Basis, SideFunctions
from grip2.statistics.effect_model import SETS
from grip2.statistics.effect_sampler import CHAINS, SWEEPS, fit_effects
from grip2.statistics.function_use import prior_chances, set_shares
from grip2.statistics.pair_screen import KIND_OF, PRODUCTS_OF_KIND
from grip2.units import Layout, Units

RESULTS = Path(__file__).parents[1] / "results" / "posterior"
BINS = 10
TABLES_AT_A_TIME = 400
LIKENESS = 0.5  # correlation of a column and its copy
KEPT = (0.8, 1.25)  # variances of responses


class Drawn(NamedTuple):
    """A table of all members, its response, and who acts."""

    Z: np.ndarray  # (rows, members p)
    layout: Layout
    y: np.ndarray
    acts: np.ndarray  # (members, units)
    member: np.ndarray  # (units,) through which they act, if they do


def draw_table(n: int, p: int, rng: np.random.Generator) -> Drawn:
    """One column per unit, one copy."""
    X = rng.standard_normal((n, p))
    copy = LIKENESS * X + np.sqrt(1 - LIKENESS**2) * rng.standard_normal((n, p))
    Z, layout = standardise(np.hstack([X, copy])), Layout(2, Units.single(p))
    basis = Basis.fit(Z)
    main, sides = basis.evaluate(Z), SideFunctions.fit(Z, basis).evaluate(Z).astype(float)
    while True:
        y, acts, member = _draw_response(main, sides, p, rng)
        if KEPT[0] < y.var() < KEPT[1]:
            return Drawn(Z, layout, y, acts, member)


def _draw_response(
    main: np.ndarray, sides: np.ndarray, p: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, all_pairs = main.shape[1], p * (p - 1) // 2
    noise = prior.NOISE_ROWS / (2 * rng.gamma(0.5 * prior.NOISE_ROWS))
    variances = np.clip(0.5 * prior.EFFECT_VARIANCES / n / rng.gamma(0.5, size=FUNCTIONS + 1), 0.01 / n, 10.0)
    of_sets = set_shares(prior_chances(rng))
    acting = [rng.beta(1.0, idle) for idle in (max(1.0, prior.ROWS_PER_ACTING_COLUMN * p / n), 1.0)]
    outside, inside = (np.array([1.0 - share, *(share * of_sets)]) for share in acting)
    idle_pairs = max(1.0, prior.ROWS_PER_ACTING_COLUMN * all_pairs / n)
    pair_share = prior.draw_below(prior.MOST_PAIRS, 1.0, idle_pairs, rng)
    kinds = rng.dirichlet(PRODUCTS_OF_KIND / PRODUCTS_OF_KIND.sum())
    member, acts, in_pair = rng.integers(0, 2, p), np.zeros((2, p), dtype=bool), np.zeros(p, dtype=bool)
    y = np.sqrt(noise) * rng.standard_normal(n)
    of_product = (kinds / PRODUCTS_OF_KIND)[KIND_OF].ravel()
    left, right = np.triu_indices(p, 1)
    for q in np.flatnonzero(rng.random(all_pairs) < pair_share):
        both = np.array([left[q], right[q]])
        f, g = divmod(rng.choice(SIDES**2, p=of_product / of_product.sum()), SIDES)
        columns = member[both] * p + both
        product = standardise(sides[f, :, columns[0]] * sides[g, :, columns[1]])
        y += np.sqrt(variances[-1]) * rng.standard_normal() * product
        in_pair[both] = True
    for j in range(p):
        chosen = rng.choice(1 + len(SETS), p=inside if in_pair[j] else outside)
        used = np.flatnonzero(SETS[chosen - 1]) if chosen else np.zeros(0, int)
        y += (np.sqrt(variances[used]) * rng.standard_normal(len(used))) @ main[used, :, member[j] * p + j]
        acts[member[j], j] = in_pair[j] or chosen > 0
    return y, acts, member


class Answers(NamedTuple):
    """Probabilities of one table and what is true."""

    acting: np.ndarray  # (2 p,) of every member of every unit, that the unit acts through it
    acts: np.ndarray  # (2 p,)
    first: np.ndarray  # (p,) of every unit, that its first member is the one that acts if any does: (1 + W) / 2
    is_first: np.ndarray  # (p,)


def predictions(n: int, p: int, seed: int, sweeps: int, chains: int = CHAINS) -> Answers:
    drawn = draw_table(n, p, np.random.default_rng([seed, 71]))
    rng = np.random.default_rng([seed, 72])
    fit = fit_effects(drawn.Z, drawn.layout, drawn.y, rng=rng, sweeps=sweeps, chains=chains)
    of_first = 0.5 + 0.5 * (fit.probability[0] - fit.probability[1])
    return Answers(fit.probability.ravel(), drawn.acts.ravel(), of_first, drawn.member == 0)


class Bin(NamedTuple):
    """Predictions between two probabilities."""

    count: int
    predicted: float  # mean
    observed: float
    error: float  # standard error of observed - predicted, from differences between tables


def reliability(predicted: np.ndarray, acts: np.ndarray) -> list[Bin]:
    """Ten bins of the predictions (tables, predictions)."""
    found = []
    for k in range(BINS):
        inside = np.minimum((predicted * BINS).astype(int), BINS - 1) == k
        count = int(inside.sum())
        if not count:
            found.append(Bin(0, np.nan, np.nan, np.nan))
            continue
        of_table = ((acts - predicted) * inside).sum(axis=1)
        # Where few tables have predictions in a bin, the variance that the predictions themselves imply is the larger one.
        spread = max((of_table**2).sum(), (predicted * (1 - predicted) * inside).sum())
        found.append(Bin(count, predicted[inside].mean(), acts[inside].mean(), float(np.sqrt(spread)) / count))
    return found


def _table(predicted: np.ndarray, true: np.ndarray) -> list[str]:
    lines = [
        "| probability | predictions | mean probability | true | difference | standard error |",
        "|---|---|---|---|---|---|",
    ]
    for k, one in enumerate(reliability(predicted, true)):
        lines.append(
            f"| {k / BINS:.1f} to {(k + 1) / BINS:.1f} | {one.count:,} | {one.predicted:.3f} | {one.observed:.3f} | "
            f"{one.observed - one.predicted:+.3f} | {one.error:.3f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=SWEEPS, help="of all four chains together")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many seconds")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    began, found = time.perf_counter(), []
    one_table = partial(predictions, options.rows, options.columns, sweeps=options.sweeps)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as workers:
        for start in range(0, options.tables, TABLES_AT_A_TIME):
            seeds = range(start, min(start + TABLES_AT_A_TIME, options.tables))
            found.extend(workers.map(one_table, seeds, chunksize=20))
            print(f"{len(found):,} tables, {time.perf_counter() - began:.0f} s", flush=True)
            if time.perf_counter() - began > options.seconds:
                break
    lines = [
        "# Probabilities of `EffectPosterior` against frequencies",
        "",
        f"{len(found):,} tables from the prior of the model ({options.rows} rows, {options.columns} columns and one copy, "
        f"{options.sweeps} sweeps of {CHAINS} chains, seeds from 0): `python benchmarks/posterior_calibration.py --tables "
        f"{len(found)} --sweeps {options.sweeps}`.",
        "",
        "## P(original): which member of a unit acts, if it does",
        "",
        *_table(np.stack([one.first for one in found]), np.stack([one.is_first for one in found])),
        "",
        "## Probability that a unit acts through a member",
        "",
        *_table(np.stack([one.acting for one in found]), np.stack([one.acts for one in found])),
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
