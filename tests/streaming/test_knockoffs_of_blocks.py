"""Knockoffs that are drawn block by block: their moments, and that blocks do not share random numbers."""

from __future__ import annotations

import numpy as np

from grip2.knockoffs import GaussianKnockoffs
from grip2.streaming.blocks import ArrayBlocks
from grip2.streaming.keys import BlockKey
from grip2.streaming.sums import tables_of

P, BLOCK, BLOCKS = 5, 2000, 20
SIGMA = 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))


class SameForAllBlocks(BlockKey):
    """The broken twin: every block is given the random numbers of the first."""

    def generator(self, block: int) -> np.random.Generator:
        return super().generator(0)


def drawn(key: BlockKey) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their knockoffs of one draw, and S."""
    X = np.random.default_rng(0).multivariate_normal(np.zeros(P), SIGMA, BLOCK * BLOCKS)
    sampler = GaussianKnockoffs(mean=np.zeros(P), covariance=SIGMA).fit(X)
    source = ArrayBlocks(X, BLOCK)
    copies = [
        tables_of(block.X, sampler, 1, key.generator(block.number))[1]
        for span in source.spans
        for block in source.read(span)
    ]
    return X, np.concatenate(copies), sampler.s_


def shared_noise(X: np.ndarray, Xk: np.ndarray, s: np.ndarray) -> float:
    """Largest |z| of the correlation, between the same rows of two blocks, of what knockoffs do not have from X.

    One z for every pair of blocks and column, 950 in all: standard normal where blocks share nothing, so that the chance that any
    is beyond 6 is below 1e-5.
    """
    noise = Xk - (X - X @ np.linalg.solve(SIGMA, np.diag(s)))
    noise = noise.reshape(BLOCKS, BLOCK, P)
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    together = np.einsum("anp,bnp->abp", noise, noise) / np.sqrt(BLOCK)
    return float(np.abs(together[np.triu_indices(BLOCKS, 1)]).max())


def test_blocks_share_no_random_numbers():
    key = BlockKey.of(np.random.default_rng(7))
    assert shared_noise(*drawn(key)) < 6
    assert shared_noise(*drawn(SameForAllBlocks(key.words))) > 30


def test_moments_are_those_of_knockoffs():
    """40,000 rows: the standard error of a covariance is about 0.007, and each of 50 is within 5 of them (chance below 1e-4)."""
    X, Xk, s = drawn(BlockKey.of(np.random.default_rng(8)))
    joint = np.cov(np.hstack([X, Xk]).T)
    np.testing.assert_allclose(joint[P:, P:], SIGMA, atol=0.035)
    np.testing.assert_allclose(joint[:P, P:], SIGMA - np.diag(s), atol=0.035)


def test_keys_of_blocks_and_draws_differ():
    first, second = (BlockKey.of(np.random.default_rng(seed)) for seed in (1, 2))
    numbers = {first.generator(k).random() for k in range(50)} | {second.generator(k).random() for k in range(50)}
    assert len(numbers) == 100
    assert first.generator(3).random() == first.generator(3).random()
