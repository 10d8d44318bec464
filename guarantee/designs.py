"""Tables to simulate, each with a sampler of exact knockoffs: the law of X is known.

Normal columns have means and scales of their own, so that a sampler that forgets either is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from grip2.knockoffs import GaussianKnockoffs
from grip2.knockoffs.base import KnockoffSampler
from grip2.units import Units
from guarantee.exact import ExactKnockoffs, HeavyTails, InBlocks

N_ROWS, N_COLUMNS, N_ACTING = 200, 30, 10
RHO = 0.8
LEVELS_OF_CATEGORY = 3
CATEGORIES_IN_BLOCK = 2


@dataclass(frozen=True, eq=False)
class Table:
    """Simulated rows, and the standardised value of every unit by which it acts on the response."""

    X: np.ndarray  # (rows, columns), NaN where a value is missing
    acts_by: np.ndarray  # (rows, units)


@dataclass(frozen=True, eq=False)
class Design:
    """A law of tables."""

    name: str
    n_rows: int
    units: Units
    n_acting: int
    draw: Callable[[int, np.random.Generator], Table]
    exact: Callable[[], KnockoffSampler]
    categories: tuple[tuple[int, ...], ...] = ()
    missing: bool = False
    gaussian: bool = True  # are the complete rows normal?

    def table(self, rng: np.random.Generator) -> Table:
        return self.draw(self.n_rows, rng)


def ar1(p: int, rho: float = RHO) -> np.ndarray:
    return np.asarray(rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))


def blocks(p: int, size: int, rho: float = RHO) -> np.ndarray:
    """Blocks of equally correlated columns, independent of each other."""
    return np.kron(np.eye(p // size), np.full((size, size), rho) + (1 - rho) * np.eye(size))


def _normal(
    name: str,
    correlation: np.ndarray,
    *,
    n: int = N_ROWS,
    acting: int = N_ACTING,
    missing: float = 0.0,
    repeated: int = 1,
    labels: list[int] | None = None,
    s: str = "mvr",
) -> Design:
    """Normal columns.

    ``repeated``: every row occurs so often. ``labels``: columns with one label form a unit. ``s``: the solver that chooses S.
    """
    p = len(correlation)
    mean, scale = 2.0 + np.arange(p) % 3, 0.5 + np.arange(p) % 4
    units = Units.single(p) if labels is None else Units.from_labels(labels)
    root = np.linalg.cholesky(correlation)

    def draw(rows: int, rng: np.random.Generator) -> Table:
        Z = rng.standard_normal((-(-rows // repeated), p)) @ root.T
        Z = np.tile(Z, (repeated, 1))[:rows]
        X = mean + scale * Z
        if missing:
            X[rng.random(X.shape) < missing] = np.nan
        return Table(X, np.stack([Z[:, columns].mean(axis=1) for columns in units.columns], axis=1))

    covariance = correlation * np.outer(scale, scale)
    exact = partial(GaussianKnockoffs, mean, covariance, s)
    return Design(name, n, units, acting, draw, exact, missing=missing > 0)


def _heavy(p: int = N_COLUMNS) -> Design:
    correlation, columns = ar1(p), HeavyTails()
    root = np.linalg.cholesky(correlation)

    def draw(rows: int, rng: np.random.Generator) -> Table:
        X = columns.values(rng.standard_normal((rows, p)) @ root.T)
        return Table(X, X / np.sqrt(3.0))  # the variance of t with 3 degrees of freedom is 3

    exact = partial(ExactKnockoffs, columns, correlation, np.arange(p))
    return Design("heavy tails", N_ROWS, Units.single(p), N_ACTING, draw, exact, gaussian=False)


def _zero_one(p: int = N_COLUMNS, size: int = 3) -> Design:
    """0/1 columns, a third of which are 1 in a third of the rows: blocks of columns cut from correlated scores."""
    within = blocks(size, size)
    cuts = ndtri([0.5, 1 / 3, 2 / 3])[:size]
    columns = InBlocks(within, lambda Z: np.asarray(Z < cuts, dtype=float), p // size)
    root = np.linalg.cholesky(np.kron(np.eye(p // size), within))

    def draw(rows: int, rng: np.random.Generator) -> Table:
        X = columns.values(rng.standard_normal((rows, p)) @ root.T)
        return Table(X, 2 * X - 1)

    exact = partial(ExactKnockoffs, columns, root @ root.T, np.arange(p))
    return Design("0/1", N_ROWS, Units.single(p), N_ACTING, draw, exact, gaussian=False)


def _indicators(Z: np.ndarray) -> np.ndarray:
    """(rows, 2 x categories) indicators of the levels 1 and 2: the utilities of levels 0, 1, 2 lie side by side."""
    level = Z.reshape(len(Z), -1, LEVELS_OF_CATEGORY).argmax(axis=2)
    return np.stack([level == 1, level == 2], axis=2).reshape(len(Z), -1).astype(float)


def _categories(n_units: int = 24) -> Design:
    """Categories of three levels, the largest of three utilities; the utilities of two categories are correlated."""
    within = np.kron(blocks(CATEGORIES_IN_BLOCK, CATEGORIES_IN_BLOCK, 0.7), np.eye(LEVELS_OF_CATEGORY))
    n_blocks = n_units // CATEGORIES_IN_BLOCK
    columns = InBlocks(within, _indicators, n_blocks)
    root = np.linalg.cholesky(np.kron(np.eye(n_blocks), within))

    def draw(rows: int, rng: np.random.Generator) -> Table:
        X = columns.values(rng.standard_normal((rows, len(root))) @ root.T)
        return Table(X, (X[:, 0::2] - X[:, 1::2]) * np.sqrt(1.5))

    units = Units(np.repeat(np.arange(n_units), LEVELS_OF_CATEGORY - 1))
    exact = partial(ExactKnockoffs, columns, root @ root.T, np.repeat(np.arange(n_units), LEVELS_OF_CATEGORY))
    pairs = tuple((2 * k, 2 * k + 1) for k in range(n_units))
    return Design("categories", N_ROWS, units, 8, draw, exact, categories=pairs, gaussian=False)


BASE = "AR(1) 0.8"

DESIGNS: dict[str, Design] = {
    design.name: design
    for design in (
        _normal(BASE, ar1(N_COLUMNS)),
        _normal("independent", np.eye(N_COLUMNS)),
        _normal("blocks 0.8", blocks(N_COLUMNS, 5)),
        # S as large as one copy allows: a copy is nearly a function of X, and copies drawn one by one are nearly equal.
        _normal("equal 0.5", blocks(N_COLUMNS, N_COLUMNS, 0.5), s="equi"),
        _heavy(),
        _zero_one(),
        _categories(),
        _normal("10 % missing", ar1(N_COLUMNS), missing=0.1),
        _normal("n < p", ar1(90), n=80, acting=20),
        _normal("groups", np.kron(ar1(20, 0.5), blocks(3, 3)), labels=np.repeat(np.arange(20), 3).tolist(), acting=6),
        _normal("repeated rows", ar1(N_COLUMNS), repeated=4),
    )
}
