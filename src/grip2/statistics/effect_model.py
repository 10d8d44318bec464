"""The model of `EffectPosterior` for one table: its columns, single effects and screened pairs, and their moments.

Pairs are screened twice: first against the residual of single effects, so that these do not hide pairs; then against the
residual of single effects and the pairs found first, so that strong pairs do not hide weak ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grip2.engine.effect_sweeps import EffectTerms
from grip2.statistics.basis import FUNCTIONS, Basis, SideFunctions
from grip2.statistics.effect_design import COLUMNS_MAX, EffectColumns, EffectMoments, main_columns, moments_of
from grip2.statistics.effect_moves import correlated_columns, determined_units
from grip2.statistics.pair_screen import ALL_PRODUCTS, PairTerms, count_pairs, screen_pairs
from grip2.units import Layout

# A table with at least this many rows is long: effects are known so precisely that chains hardly move.
LONG_TABLE = 20_000
PAIRS_MAX = 500  # in the model
MOMENTS_WORK = 1.5e11  # multiplications that the moments may take, about
# All nine products of a pair are in the model, as its prior assumes. If that left room for fewer than ENOUGH_PAIRS pairs, as it
# may with several copies, only the best products of a pair are, but at least LEAST_PRODUCTS.
LEAST_PRODUCTS, ENOUGH_PAIRS = 3, 80
# Products, over all pairs and members, for every row of the table, at most: screening for more would find noise.
PRODUCTS_PER_ROW = 8
FIRST_SCREEN = 0.6  # share of the pairs that is found in the first screening
MANY_RESPONSES = 5  # from so many on, pairs are screened once, not twice

# Every non-empty set of basis functions through which a column may act.
SETS = np.array([used for used in itertools.product([0, 1], repeat=FUNCTIONS) if any(used)], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class EffectModel:
    """Columns and moments for one or several responses."""

    columns: EffectColumns
    moments: EffectMoments
    n_rows: int
    all_pairs: int  # pairs of columns of the table, of which the model has those that were screened; 0: no interactions

    def terms(self, response: int) -> EffectTerms:
        """What the sampler works on, for one of the responses."""
        absent = self.moments.size - 1
        units, pairs = self.columns.layout.units, self.columns.pairs
        return EffectTerms(
            self.moments.gram,
            self.moments.correlation[response].copy(),
            self.columns.place(absent),
            SETS,
            units.of_column,
            self.columns.pair_place(absent),
            pairs.kind,
            units.of_column[np.stack([pairs.left, pairs.right], axis=1)],
        )

    @cached_property
    def edges(self) -> np.ndarray:
        """(edges, 2) columns of different units that are correlated; the same for all responses."""
        return correlated_columns(self.terms(0))

    @cached_property
    def triples(self) -> list[tuple[int, int, int]]:
        """Three units each that determine each other; only in long tables, where chains alone cannot tell which of them act."""
        return determined_units(self.terms(0)) if self.n_rows >= LONG_TABLE else []

    def prediction(self, Z: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """(rows,) of effects (size,) on the columns of the model."""
        return self.moments.prediction(Z, self.columns, effects)


def fit_model(
    Z: np.ndarray,
    layout: Layout,
    Y: np.ndarray,
    *,
    curves: bool,
    interactions: bool,
    most_products: int = ALL_PRODUCTS,
    left_by: Callable[[EffectModel, int], np.ndarray],
    rng: np.random.Generator,
    n_rows: int | None = None,
) -> EffectModel:
    """The model of the columns ``Z`` (rows, members p) for the standardised responses ``Y`` (rows, responses).

    ``most_products``: how many products of a pair to keep at most, its best ones. ``left_by``: the residual (rows,) of a short
    fit of a model to one of the responses. ``n_rows``: of the table to which the model will be fitted, if the rows given are a
    sample of it: moments of more rows take longer, which leaves room for fewer pairs.
    """
    n, responses = Y.shape
    basis = Basis.fit(Z)
    side = SideFunctions.fit(Z, basis)
    all_pairs = count_pairs(layout) if interactions else 0
    room = min(COLUMNS_MAX, max(1000, int(np.sqrt(MOMENTS_WORK / (n_rows or n)))))
    products = _products_of_a_pair(room // 2, min(all_pairs, ENOUGH_PAIRS) * layout.members**2)
    per_pair = products * layout.members**2
    most_pairs = min(PAIRS_MAX, all_pairs, max(10, PRODUCTS_PER_ROW * n // per_pair))
    for_pairs = min(most_pairs, room // (2 * per_pair))
    main = main_columns(Z, layout, Y, basis, curves=curves, most=COLUMNS_MAX - for_pairs * per_pair)
    for_pairs = min(most_pairs, max(for_pairs, (room - len(main[0])) // per_pair))
    # Fewer products of a pair do not make room for more pairs: a rehearsal has as many pairs as the fit it serves.
    products = min(products, most_products)
    per_pair = products * layout.members**2
    columns = EffectColumns(layout, basis, side, *main, PairTerms.none(products))
    model = EffectModel(columns, moments_of(Z, Y, columns, len(main[0]) + for_pairs * per_pair + 1), n, all_pairs)
    # Pairs are screened for every response; once only if there are many, as for many classes.
    shares = (FIRST_SCREEN, 1.0) if responses < MANY_RESPONSES else (1.0,)
    for share in shares if for_pairs else ():
        known, most = columns.pairs, round(share * for_pairs)
        pairs = known
        for response in range(responses):
            residual = left_by(model, response)
            new = screen_pairs(Z, layout, side, residual, for_pairs, rng, products=products).without(pairs)
            # Later responses may use the room that earlier ones left.
            part = len(known) + (most - len(known)) * (response + 1) // responses
            pairs = pairs.joined(new.first(slice(0, max(0, part - len(pairs)))))
        columns = EffectColumns(layout, basis, side, *main, pairs)
        model = EffectModel(columns, moments_of(Z, Y, columns, model.moments.size, model.moments), n, all_pairs)
    return model


def _products_of_a_pair(columns: int, combinations: int) -> int:
    """How many products of a pair the model has room for in so many columns; ``combinations``: of members, over all pairs."""
    return max(LEAST_PRODUCTS, min(ALL_PRODUCTS, columns // max(1, combinations)))
