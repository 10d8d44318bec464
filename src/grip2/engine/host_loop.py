"""The host's part of every training run: minibatches, chunks of compiled steps, progress, and a check of every loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from grip2.errors import Grip2Error
from grip2.progress import Progress

# A chunk is about this much work, so that a progress bar moves and Ctrl-C is answered at once.
CHUNK_FLOPS = 2e10
CHUNK_STEPS_MAX = 4096

# Runs steps start .. start + count, laid out in arrays of the given capacity, and returns their losses (..., count).
Advance = Callable[[int, int, int], np.ndarray]


class NonFiniteTrainingError(Grip2Error, FloatingPointError):
    """The loss or the weights stopped being finite; no importance can be read off such a run."""


def run_in_chunks(
    n_steps: int,
    flops_per_step: float,
    advance: Advance,
    *,
    hint: str,
    progress: Progress | None = None,
    ended: Callable[[], bool] = lambda: False,
) -> int:
    """Advance a run chunk by chunk; returns the number of steps done, fewer than ``n_steps`` if ``progress`` ended it.

    ``ended`` is asked after every chunk whether the run may end there.
    ``hint`` tells the reader of an error what to change when losses stop being finite.
    """
    capacity = chunk_capacity(n_steps, flops_per_step)
    done, stopped = 0, False
    while done < n_steps and not stopped:
        count = min(capacity, n_steps - done)
        losses = advance(done, count, capacity)
        bad = ~np.isfinite(losses)
        if bad.any():
            step = done + int(np.min(np.nonzero(bad)[-1])) + 1
            raise NonFiniteTrainingError(f"Training became non-finite at step {step} {hint}")
        done += count
        stopped = (progress is not None and progress(done, n_steps) is False) or ended()
    return done


def stop_reason(done: int, n_steps: int, whole: str) -> str:
    """Why a run ended, in words; ``whole`` where nothing was cut off."""
    return whole if done == n_steps else f"stopped by the caller after {done} of {n_steps} steps"


def chunk_capacity(n_steps: int, flops_per_step: float) -> int:
    """Steps per chunk: a power of two, so that few distinct shapes are ever compiled."""
    steps = min(max(CHUNK_FLOPS / flops_per_step, 1), CHUNK_STEPS_MAX, n_steps)
    return 1 << int(np.ceil(np.log2(steps)))


def padded(values: np.ndarray, start: int, count: int, capacity: int) -> np.ndarray:
    """Rows ``start .. start + count``, filled up with zeros to ``capacity``."""
    part = values[start : start + count]
    return np.concatenate([part, np.zeros((capacity - count, *part.shape[1:]), part.dtype)])


def minibatches(n_rows: int, batch_size: int, n_steps: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers (steps, batch): each pass visits the rows in a new order, an incomplete last batch is dropped."""
    per_pass = n_rows // batch_size
    passes = -(-n_steps // per_pass)
    row_numbers = np.empty((passes * per_pass, batch_size), dtype=np.int32)
    for k in range(passes):
        order = rng.permutation(n_rows)[: per_pass * batch_size]
        row_numbers[k * per_pass : (k + 1) * per_pass] = order.reshape(per_pass, batch_size)
    return row_numbers[:n_steps]


def stacked(trees: list[Any], dtype: Any) -> Any:
    """Several trees of arrays as one tree whose arrays have a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf, dtype) for leaf in leaves]), *trees)


def member(tree: Any, k: int) -> Any:
    """The ``k``-th member of a tree of arrays with a leading axis."""
    return jax.tree.map(lambda leaf: leaf[k], tree)
