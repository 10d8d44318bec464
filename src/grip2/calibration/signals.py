"""Simulated responses: the values of the user's y, dealt out to the rows by a signal with a known truth plus noise.

A few units at random have effects of equal size and random sign. Rows are ranked by signal plus normal noise, and the row of
rank r gets the r-th smallest of the user's own values. So the simulated response has the very distribution of the real one,
with its ties, outliers, class sizes and censored rows, and depends on the true units only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from grip2.knockoffs.unit_effects import bends_of, unit_effect
from grip2.responses import Response
from grip2.standardise import standardise
from grip2.units import Units

LINEAR, BENDS, PRODUCTS, MIXTURE = SIGNALS = ("linear", "bends", "products", "mixture")
FEWEST_TRUE = 2  # a product needs two
_GRID = 128  # quantiles of signal and of noise
_LARGEST_LATENT = 0.999


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of the columns that effects are made of."""

    lines: np.ndarray  # (n, p)
    bends: np.ndarray  # (n, p)
    units: Units

    @classmethod
    def of(cls, X: np.ndarray, units: Units) -> Functions:
        """Of a complete table."""
        values = X.astype(float)
        lines = standardise(values)
        return cls(lines, bends_of(values, lines), units)

    def take(self, rows: np.ndarray) -> Functions:
        """Of some of the rows."""
        return Functions(self.lines[rows], self.bends[rows], self.units)

    def effect(self, unit: int, rng: np.random.Generator, *, bent: bool = False) -> np.ndarray:
        return unit_effect(self.lines, self.bends, self.units.columns[unit], rng, bent=bent)

    def product(self, one: int, other: int, rng: np.random.Generator) -> np.ndarray:
        """The standardised product of two straight effects; their sum where the product does not vary (rare 0/1 columns)."""
        a, b = self.effect(one, rng), self.effect(other, rng)
        product = standardise(a * b)
        return product if product.any() else standardise(a + b)


@dataclass(frozen=True, eq=False)
class Truth:
    """A signal (n,) of mean 0 and deviation 1, and the units that it depends on, ascending."""

    signal: np.ndarray
    units: np.ndarray


def draw_truth(functions: Functions, kind: str, n_true: int, rng: np.random.Generator) -> Truth:
    """A signal of one kind in units drawn at random."""
    chosen = rng.permutation(len(functions.units))[:n_true]
    straight, bent, multiplied = {
        LINEAR: (chosen, chosen[:0], chosen[:0]),
        BENDS: (chosen[:0], chosen, chosen[:0]),
        PRODUCTS: (chosen[:0], chosen[:0], chosen),
        MIXTURE: np.array_split(chosen, 3),
    }[kind]
    effects = [functions.effect(unit, rng) for unit in straight]
    effects += [functions.effect(unit, rng, bent=True) for unit in bent]
    effects += [functions.product(one, other, rng) for one, other in _pairs(multiplied, chosen)]
    signs = rng.choice([-1.0, 1.0], len(effects))
    return Truth(standardise(signs @ np.stack(effects)), np.sort(chosen))


def _pairs(units: Sequence[int] | np.ndarray, chosen: np.ndarray) -> list[tuple[int, int]]:
    """Two and two; the last of an odd number is paired with the first of all true units."""
    pairs = [(int(one), int(other)) for one, other in zip(units[0::2], units[1::2], strict=False)]
    return pairs if len(units) % 2 == 0 else [*pairs, (int(units[-1]), int(chosen[0]))]


def simulated_response(response: Response, signal: np.ndarray, strength: float, rng: np.random.Generator) -> Response:
    """The values of ``response`` in the order of the signal plus noise; the signal explains the share ``strength`` of y.

    The share is that of the variance of y, or of the variables that stand for it in models of measurements (0/1 labels of
    classes, for example); it holds exactly for a normal signal.
    """
    ascending = response.latent_order(rng)
    latent = latent_share(response, ascending, strength)
    noisy = np.sqrt(latent) * signal + np.sqrt(1.0 - latent) * rng.standard_normal(len(signal))
    row_of = np.empty(len(signal), dtype=np.intp)
    row_of[np.argsort(noisy, kind="stable")] = ascending
    return response.take(row_of)


def latent_share(response: Response, ascending: np.ndarray, strength: float) -> float:
    """The share of signal in signal plus noise with which a normal signal explains the share ``strength`` of y.

    They are equal for a normal y. For two classes, say, 0.5 of signal explains a third of the variance of the label.
    """
    values = np.column_stack(response.contrasts)[ascending]
    low, high = 0.0, _LARGEST_LATENT
    for _ in range(30):  # the share explained rises with that of the signal
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _explained(values, middle) < strength else (low, middle)
    return 0.5 * (low + high)


def _explained(values: np.ndarray, share: float) -> float:
    """Share of the variance of ``values`` (n, contrasts), ascending, that the signal explains: var(E[value | signal]) / var."""
    grid = norm.ppf((np.arange(_GRID) + 0.5) / _GRID)
    rank = norm.cdf(np.sqrt(share) * grid[:, None] + np.sqrt(1.0 - share) * grid[None, :])
    found = values[np.minimum((rank * len(values)).astype(np.intp), len(values) - 1)]  # (signal, noise, contrasts)
    total = found.var(axis=(0, 1)).sum()
    return float(found.mean(axis=1).var(axis=0).sum() / total) if total > 0 else 1.0
