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
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri

from grip2.knockoffs.covariance import Scatter


class GibbsStep(Protocol):
    """Some hidden scores, and how each of them is drawn once given all others."""

    @property
    def columns(self) -> np.ndarray: ...

    def sweep(self, Z: np.ndarray, precision: np.ndarray, rng: np.random.Generator) -> None: ...


@dataclass(frozen=True)
class HiddenScores:
    """All scores of some rows that are not known exactly, as the steps of a Gibbs sampler."""

    steps: Sequence[GibbsStep]

    @property
    def columns(self) -> np.ndarray:
        """The columns that have such scores, ascending."""
        return np.unique(np.concatenate([step.columns for step in self.steps]))

    def draw(self, Z: np.ndarray, precision: np.ndarray, sweeps: int, rng: np.random.Generator) -> None:
        """Replace the hidden scores, in place, by draws given all others under N(0, precision^-1)."""
        for _ in range(sweeps):
            for step in self.steps:
                step.sweep(Z, precision, rng)


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
class FixedBlock:
    """Columns whose scores have a known covariance: those of a category."""

    columns: np.ndarray
    covariance: np.ndarray


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
    fixed: Sequence[FixedBlock] = (),
    iterations: int = 100,
) -> Scatter:
    """Moments of the scores by stochastic EM: draw the hidden scores, estimate their covariance, repeat.

    The estimates of the second half of the iterations are averaged. Shrinkage must be applied to the result, not inside the
    iteration: scores drawn under shrunk correlations are less correlated, and would be shrunk again until nothing is left.
    Inside, only a weight of 0.01 on the identity keeps the matrix invertible.

    Two biases remain. (1) Strong correlations of latent scores come out slightly too small, because of that weight and because
    the chain starts from random ranks and forgets them slowly. Measured on neighbouring 0/1 columns of AR(1) scores: 0.58 to
    0.59 instead of 0.6 and 0.87 instead of 0.9 (10,000 rows, 10 columns), 0.74 to 0.77 instead of 0.8 (80 rows, 40 columns).
    (2) Unless there are many times more rows than columns, the smallest eigenvalues come out too small, because draws repeat
    the chance correlations of the previous iteration: 0.07 instead of 0.18 (AR(1) 0.7, 500 rows, 60 columns with 60 % zeros).
    Knockoffs then resemble their originals more than necessary. A weight of 0.001 would remove the first bias and make the
    second far worse (0.01 instead of 0.18).
    """
    n, p = Z.shape
    identity_weight = 0.01
    independent = with_fixed_blocks(np.eye(p), fixed)
    columns = hidden.columns
    products = Z.T @ Z  # scores have mean zero by construction
    total, count = np.zeros((p, p)), 0
    for iteration in range(iterations):
        current = with_fixed_blocks(products, fixed)
        hidden.draw(Z, np.linalg.inv((1 - identity_weight) * current + identity_weight * independent), 1, rng)
        changed = Z.T @ Z[:, columns]
        products[:, columns] = changed
        products[columns] = changed.T
        if iteration >= iterations // 2:
            total += with_fixed_blocks(products, fixed)
            count += 1
    fourth = float(np.mean(np.einsum("ij,ij->i", Z, Z) ** 2)) * (p * n / float(np.trace(products))) ** 2
    return Scatter(n, np.zeros(p), total / count, fourth)


def with_fixed_blocks(Sigma: np.ndarray, fixed: Sequence[FixedBlock]) -> np.ndarray:
    """Rescale a covariance to unit variances, and to the known covariance in every fixed block.

    Cells assume scores of variance one, and the model of a category one covariance; left alone, both would drift. The result
    is ``T Sigma T^T`` with a block-diagonal T, hence positive definite if Sigma is. Of all T that give a block its
    covariance, the symmetric positive definite one is used: it is nearest to the identity.
    """
    root = np.sqrt(np.diag(Sigma))
    R = Sigma / root[:, None] / root
    for block in fixed:
        if len(block.columns) == 1:
            continue
        root, inverse = _roots(R[np.ix_(block.columns, block.columns)])
        T = inverse @ _roots(root @ block.covariance @ root)[0] @ inverse
        R[block.columns] = T @ R[block.columns]
        R[:, block.columns] = R[:, block.columns] @ T.T
        R[np.ix_(block.columns, block.columns)] = block.covariance
    return np.asarray(R)


def _roots(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The symmetric square root of a positive definite matrix, and its inverse."""
    values, vectors = eigh(M)
    values = np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    return vectors * values @ vectors.T, vectors / values @ vectors.T
