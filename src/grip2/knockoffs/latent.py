"""Latent normal scores of discrete columns, drawn given all other columns by a Gibbs sampler of truncated normals.

A value of a discrete column in a Gaussian copula reveals only the interval (cell) that contains its normal score. The same
holds for the spike (one value shared by many rows) of a column that is continuous otherwise. Randomised ranks draw the score
from its cell without looking at the other columns and lose the dependence inside cells: two 0/1 columns made from scores
with correlation 0.5 come out with 0.2, and their knockoffs with less. Drawing each score given the others preserves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from grip2.knockoffs.covariance import Scatter


@dataclass(frozen=True)
class Cells:
    """For each row of each discrete or spiked column, the interval of normal scores that its value stands for."""

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def draw(self, Z: np.ndarray, precision: np.ndarray, sweeps: int, rng: np.random.Generator) -> None:
        """Replace, in place, the scores in ``columns`` by draws given all other scores under N(0, precision^-1)."""
        for _ in range(sweeps):
            for place, j in enumerate(self.columns):
                # Z_j | rest ~ N(-sum_{k != j} Q_jk Z_k / Q_jj, 1 / Q_jj), Q the precision matrix.
                mean = Z[:, j] - Z @ precision[:, j] / precision[j, j]
                deviation = 1 / np.sqrt(precision[j, j])
                low, high = self.low[:, place], self.high[:, place]
                Z[:, j] = truncated_normal(mean, deviation, low, high, rng)


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


def latent_moments(Z: np.ndarray, cells: Cells, rng: np.random.Generator, *, iterations: int = 100) -> Scatter:
    """Moments of the scores by stochastic EM: draw the latent scores, estimate their covariance, repeat.

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
    products = Z.T @ Z  # scores have mean zero by construction
    total, count = np.zeros((p, p)), 0
    for iteration in range(iterations):
        cells.draw(Z, np.linalg.inv((1 - identity_weight) * _unit(products) + identity_weight * np.eye(p)), 1, rng)
        changed = Z.T @ Z[:, cells.columns]
        products[:, cells.columns] = changed
        products[cells.columns] = changed.T
        if iteration >= iterations // 2:
            total += _unit(products)
            count += 1
    fourth = float(np.mean(np.einsum("ij,ij->i", Z, Z) ** 2)) * (p * n / float(np.trace(products))) ** 2
    return Scatter(n, np.zeros(p), total / count, fourth)


def _unit(Sigma: np.ndarray) -> np.ndarray:
    """Rescale a covariance to unit variances. The cells assume scores of variance one; unscaled, the variances would drift."""
    root = np.sqrt(np.diag(Sigma))
    return Sigma / root[:, None] / root
