"""Latent normal scores of discrete columns, drawn given all other columns by a Gibbs sampler of truncated normals.

A value of a discrete column in a Gaussian copula reveals only the interval (cell) that contains its normal score. The same
holds for the spike (one value shared by many rows) of a column that is continuous otherwise. Randomised ranks draw the score
from its cell without looking at the other columns and lose the dependence inside cells: two 0/1 columns made from scores
with correlation 0.5 come out with 0.2, and their knockoffs with less. Drawing each score given the others preserves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from grip2.knockoffs.covariance import Scatter
from grip2.knockoffs.missing import MissingScores

# Iterations of stochastic EM after which the means of utilities are solved for again.
_ADAPT_EVERY = 10
# With so many categories or more, iterations cost most and start from estimates by moments: half of them are made.
_MANY_BLOCKS = 5
# Other columns explain at most this many times the variance that a category's scores have given them: 95 % of the whole.
_MOST_EXPLAINED = 19.0
# Rounds of the estimate by moments that starts the iterations: covariances depend on variances, and these on covariances.
_START_ROUNDS = 3
# Setting the variances of one block changes the conditional covariances of others, so all are set in turn, at most so many
# times: for a result, and inside the iterations.
_CYCLES, _CYCLES_INSIDE = 30, 4


class FixedBlock(Protocol):
    """Scores of several columns with a known covariance given all other columns: those of a category."""

    @property
    def columns(self) -> np.ndarray: ...

    @property
    def covariance_given_others(self) -> np.ndarray: ...

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None: ...

    def adapt(self, Z: np.ndarray, covariance: np.ndarray) -> None: ...

    def linear_scores(self, covariance: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Cells:
    """For each row of each discrete or spiked column, the interval of normal scores that its value stands for."""

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None:
        """Replace, in place, the scores in ``columns`` by draws given all other scores under N(0, precision^-1)."""
        for place, j in enumerate(self.columns):
            # Z_j | rest ~ N(-sum_{k != j} Q_jk Z_k / Q_jj, 1 / Q_jj), Q the precision matrix.
            mean = Z[:, j] - Z @ precision[:, j] / precision[j, j]
            deviation = 1 / np.sqrt(precision[j, j])
            low, high = self.low[:, place], self.high[:, place]
            Z[:, j] = truncated_normal(mean, deviation, low, high, rng)


@dataclass(frozen=True)
class HiddenScores:
    """All scores of some rows that are not known exactly, drawn by a Gibbs sampler with a step for each kind."""

    missing: MissingScores | None = None
    cells: Cells | None = None
    blocks: Sequence[FixedBlock] = ()

    @property
    def steps(self) -> list[MissingScores | Cells | FixedBlock]:
        return [step for step in (self.missing, self.cells, *self.blocks) if step is not None]

    @property
    def columns(self) -> np.ndarray:
        """The columns that have hidden scores, ascending."""
        return np.unique(np.concatenate([step.columns for step in self.steps]))

    def draw(self, Z: np.ndarray, precision: np.ndarray, sweeps: int, rng: np.random.Generator) -> None:
        """Replace the hidden scores, in place, by draws given all others under N(0, precision^-1)."""
        for _ in range(sweeps):
            for step in self.steps:
                step.sweep(Z, precision, rng)


def truncated_normal(
    mean: np.ndarray, deviation: float, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draws from N(mean, deviation^2) restricted to [low, high], by inversion of the distribution function."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    # In the upper tail the distribution function rounds to 1: mirror such intervals to the lower tail.
    mirror = a > 0
    a, b = np.where(mirror, -b, a), np.where(mirror, -a, b)
    below = ndtr(a)
    z = ndtri(below + (ndtr(b) - below) * rng.random(len(a)))
    # Where even the lower tail underflows, the draw is the end of the interval nearest to the mean.
    z = np.clip(np.nan_to_num(z, neginf=-40.0, posinf=40.0), a, b)
    drawn = mean + deviation * np.where(mirror, -z, z)
    return np.asarray(np.clip(drawn, low, high))


def latent_moments(
    Z: np.ndarray,
    hidden: HiddenScores,
    rng: np.random.Generator,
    *,
    iterations: int = 100,
) -> Scatter:
    """Moments of the scores by stochastic EM: draw the hidden scores, estimate their covariance, repeat.

    The estimates of the second half of the iterations are averaged. Shrinkage must be applied to the result, not inside the
    iteration: scores drawn under shrunk correlations are less correlated, and would be shrunk again until nothing is left.
    Inside, only a weight of 0.01 on the identity keeps the matrix invertible; 0.001 where scores are hidden only because
    values are missing.

    Two biases remain. (1) Strong correlations of latent scores come out slightly too small, because of that weight and because
    the chain starts from random ranks and forgets them slowly. Measured on neighbouring 0/1 columns of AR(1) scores: 0.58 to
    0.59 instead of 0.6 and 0.87 instead of 0.9 (10,000 rows, 10 columns), 0.74 to 0.77 instead of 0.8 (80 rows, 40 columns).
    (2) Unless there are many times more rows than columns, the smallest eigenvalues come out too small, because draws repeat
    the chance correlations of the previous iteration: 0.07 instead of 0.18 (AR(1) 0.7, 500 rows, 60 columns with 60 % zeros).
    Knockoffs then resemble their originals more than necessary. A weight of 0.001 would remove the first bias and make the
    second far worse (0.01 instead of 0.18).
    """
    n, p = Z.shape
    if len(hidden.blocks) >= _MANY_BLOCKS:
        iterations //= 2
    only_missing = hidden.cells is None and not hidden.blocks
    identity_weight = 0.001 if only_missing else 0.01
    columns = hidden.columns
    products = Z.T @ Z  # scores have mean zero by construction
    total, count = np.zeros((p, p)), 0
    for iteration in range(iterations):
        current = _unit(products, n, hidden.blocks)
        if iteration == 0 and hidden.blocks:
            current = _start(current, Z, hidden.blocks)
        variance = np.ones(p)
        for block in hidden.blocks:
            variance[block.columns] = np.diag(current)[block.columns]
        mixed = (1 - identity_weight) * current + identity_weight * np.diag(variance)
        if hidden.blocks:
            mixed = with_fixed_blocks(mixed, hidden.blocks, cycles=_CYCLES_INSIDE)
            if iteration % _ADAPT_EVERY == 0:
                for block in hidden.blocks:
                    block.adapt(Z, mixed)
        hidden.draw(Z, np.linalg.inv(mixed), 1, rng)
        changed = Z.T @ Z[:, columns]
        products[:, columns] = changed
        products[columns] = changed.T
        if iteration >= iterations // 2:
            total += _unit(products, n, hidden.blocks)
            count += 1
    mean_square = np.diag(products) / n if hidden.blocks else float(np.trace(products)) / (p * n)
    fourth = float(np.mean(np.einsum("ij,ij->i", Z, Z / mean_square) ** 2))
    return Scatter(n, np.zeros(p), total / count, fourth)


def _unit(products: np.ndarray, n: int, blocks: Sequence[FixedBlock]) -> np.ndarray:
    """The covariance of scores, rescaled to unit variances except in blocks, whose scale is fixed by the other columns.

    Cells assume scores of variance one; unscaled, the variances would drift.
    """
    root = np.sqrt(np.diag(products))
    for block in blocks:
        root[block.columns] = np.sqrt(n)
    return products / root[:, None] / root


def _start(Sigma: np.ndarray, Z: np.ndarray, blocks: Sequence[FixedBlock]) -> np.ndarray:
    """Sigma with the covariances of blocks with all other columns estimated by moments.

    Stochastic EM would need many hundred iterations for rare levels if it started from scores drawn given the level alone.
    The covariances of a level are multiplied by ``1 - q v / c^2``, at least 0, as James and Stein do: q is the number of
    other columns, v the variance of one such covariance, c^2 the sum of their squares.
    """
    n, p = Z.shape
    linear = Z.copy()
    for _ in range(_START_ROUNDS):
        for block in blocks:
            b, rest = block.columns, np.setdiff1d(np.arange(p), block.columns)
            linear[:, b] = block.linear_scores(Sigma)
            found = linear[:, b].T @ linear[:, rest] / n
            noise = np.mean(linear[:, b] ** 2, axis=0) / n * np.sum(linear[:, rest] ** 2) / n
            found *= np.maximum(0.0, 1 - noise / np.sum(found**2, axis=1))[:, None]
            Sigma[np.ix_(b, rest)], Sigma[np.ix_(rest, b)] = found, found.T
        Sigma = with_fixed_blocks(Sigma, blocks)
    return Sigma


def with_fixed_blocks(Sigma: np.ndarray, blocks: Sequence[FixedBlock], *, cycles: int = _CYCLES) -> np.ndarray:
    """Sigma with the variances of every block changed so that it has its known covariance given all other columns.

    Covariances between blocks and other columns stay, so the coefficients of the regression of a block on all other columns
    do too. With ``C = (Q_bb)^-1`` the covariance given others under Sigma = Q^-1, ``Sigma_bb + K - C`` gives it K. The
    result is positive definite, because its Schur complement K is.
    """
    Sigma, Q = Sigma.copy(), np.linalg.inv(Sigma)
    for _ in range(1 if len(blocks) < 2 else cycles):
        largest = 0.0
        for block in blocks:
            b = block.columns
            C = np.linalg.inv(Q[np.ix_(b, b)])
            change = block.covariance_given_others - C
            Sigma[np.ix_(b, b)] += change
            Q -= Q[:, b] @ change @ np.linalg.solve(block.covariance_given_others, C) @ Q[b]  # Woodbury
            largest = max(largest, float(np.abs(change).max()))
        if largest < 1e-6:
            break
    return bounded_blocks((Sigma + Sigma.T) / 2, blocks)


def bounded_blocks(Sigma: np.ndarray, blocks: Sequence[FixedBlock]) -> np.ndarray:
    """Sigma with weaker covariances between other columns and blocks that they explain almost perfectly.

    If the levels of a category follow from another one, no finite coefficients are large enough (separation, as in a logistic
    regression), and the variances of its scores would grow without bound. Here the other columns explain at most
    ``_MOST_EXPLAINED`` times the variance that is left.
    """
    for block in blocks:
        b, K = block.columns, block.covariance_given_others
        if np.all(np.diag(Sigma)[b] <= (1 + _MOST_EXPLAINED) * np.diag(K)):
            continue
        rest = np.setdiff1d(np.arange(len(Sigma)), b)
        explained = Sigma[np.ix_(b, b)] - K
        factor = np.sqrt(_MOST_EXPLAINED / float(np.max(np.diag(explained) / np.diag(K))))
        Sigma[np.ix_(b, rest)] *= factor
        Sigma[np.ix_(rest, b)] *= factor
        Sigma[np.ix_(b, b)] = K + factor**2 * explained
    return np.asarray(Sigma)
