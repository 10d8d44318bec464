"""Large tables: float32 in, float32 out, and never more memory than three times that of X."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs


def peak(action) -> tuple[int, object]:
    """Peak number of bytes allocated by ``action``, and its result; NumPy reports its arrays to tracemalloc."""
    tracemalloc.start()
    try:
        result = action()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def table(n: int, p: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    X[:, 1:] += 0.5 * X[:, :-1]
    return X


@pytest.mark.slow
@pytest.mark.parametrize("Sampler", [GaussianKnockoffs, CopulaKnockoffs])
def test_a_large_table_is_sampled_in_blocks(Sampler):
    """n = 100,000, p = 500 (200 MB): fit and sample add at most twice X, so X and all else stay below three times."""
    X = table(100_000, 500)
    fitting, sampler = peak(lambda: Sampler().fit(X))
    drawing, Xk = peak(lambda: sampler.sample(X, rng=np.random.default_rng(1)))
    print(f"{Sampler.__name__}: fit {fitting / X.nbytes:.2f}, sample {drawing / X.nbytes:.2f} times X")
    assert Xk.dtype == np.float32
    assert fitting <= 2 * X.nbytes
    assert drawing <= 2 * X.nbytes


@pytest.mark.parametrize("Sampler", [GaussianKnockoffs, CopulaKnockoffs])
def test_memory_does_not_grow_with_float64_copies(Sampler):
    """The quick twin: 100,000 x 100 float32 (40 MB). One float64 copy would take twice X by itself."""
    X = table(100_000, 100)
    fitting, sampler = peak(lambda: Sampler(s="equi").fit(X))
    drawing, _ = peak(lambda: sampler.sample(X, rng=np.random.default_rng(1)))
    block = 7 * 8_000_000  # some blocks of 8 MB are in flight
    assert drawing <= X.nbytes + block + 100 * 12_000 * 8
    assert fitting <= block + 100 * 12_000 * 16


@pytest.mark.parametrize("Sampler", [GaussianKnockoffs, CopulaKnockoffs])
def test_memory_of_copies_is_that_of_the_result(Sampler):
    """15,000 x 100 float32 (6 MB), five copies: the result (30 MB) and a few blocks; all draws at once would be 130 MB."""
    X = table(15_000, 100)
    sampler = Sampler(s="equi").fit(X)
    sampler.s_for(5)
    drawing, Xk = peak(lambda: sampler.sample(X, rng=np.random.default_rng(1), copies=5))
    assert Xk.dtype == np.float32
    assert drawing <= 5 * X.nbytes + 7 * 8_000_000
