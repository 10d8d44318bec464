"""Which (lambda, a) rules each optimisation step, and after which steps a snapshot is taken.

Schedules of the appendix "Persistence Training Procedure": ``log lambda`` and ``a`` are uniform on
Omega = [lambda_min, lambda_max] x [a_min, 1] and redrawn at every block, or one of them, or both, are held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

KINDS = ("block_2d", "block_1d", "block_1d_a", "fixed", "minibatch")


class Regimes(NamedTuple):
    """The penalty of every step of one run, and the steps after which the group norms are recorded."""

    lambda_: np.ndarray  # (steps,)
    a: np.ndarray  # (steps,)
    snapshot_steps: np.ndarray  # (snapshots,), numbers of the steps they follow, counted from 0


@dataclass(frozen=True)
class Schedule:
    """How (lambda, a) moves during training.

    Parameters
    ----------
    kind : {"block_2d", "block_1d", "block_1d_a", "fixed", "minibatch"}
        ``block_2d`` (the paper's default) redraws both every block, ``block_1d`` redraws lambda with a = 1,
        ``block_1d_a`` redraws a with lambda at the geometric mean of its range, ``fixed`` holds lambda at the geometric
        mean and a = 1, ``minibatch`` redraws both at every step.
    lambda_min, lambda_max, a_min : float
        The rectangle Omega. ``lambda_min = lambda_max = 0`` trains without the penalty (``fixed`` only).
    block_size : int
        M, the steps per block. A snapshot follows the last step of a block; every step for ``minibatch``.
    warmup : int
        Steps before the first block. They are trained with lambda = 0 and give no snapshot (the paper says only the latter).
    """

    kind: str = "block_2d"
    lambda_min: float = 1e-4
    lambda_max: float = 1e-1
    a_min: float = 0.1
    block_size: int = 25
    warmup: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Schedule: kind must be one of {KINDS}, got {self.kind!r}.")
        unpenalised = self.kind == "fixed" and self.lambda_min == self.lambda_max == 0
        if not (unpenalised or 0 < self.lambda_min <= self.lambda_max < np.inf):
            raise ValueError(
                "Schedule: omega must satisfy 0 < lambda_min <= lambda_max, "
                f"got ({self.lambda_min}, {self.lambda_max})."
            )
        if not 0 < self.a_min <= 1:
            raise ValueError(f"Schedule: a_min must be in (0, 1], got {self.a_min}.")
        if self.block_size < 1:
            raise ValueError(f"Schedule: block_size must be at least 1, got {self.block_size}.")
        if self.warmup < 0:
            raise ValueError(f"Schedule: warmup must not be negative, got {self.warmup}.")

    @property
    def lambda_fixed(self) -> float:
        """``sqrt(lambda_min lambda_max)``, the strength of schedules that do not draw lambda."""
        return float(np.sqrt(self.lambda_min * self.lambda_max))

    def draw(self, steps: int, rng: np.random.Generator) -> Regimes:
        """Lay out ``warmup`` steps and then ``floor(steps / M)`` whole blocks (Algorithm 1, line 3)."""
        block = 1 if self.kind == "minibatch" else self.block_size
        n_blocks = steps // block
        if n_blocks < 1:
            raise ValueError(f"Schedule: {steps} steps hold no whole block of {block}; give more steps.")
        lambda_ = np.full(n_blocks, self.lambda_fixed)
        a = np.ones(n_blocks)
        if self.kind in ("block_2d", "block_1d", "minibatch"):
            log_range = np.log([self.lambda_min, self.lambda_max])
            lambda_ = np.exp(rng.uniform(*log_range, size=n_blocks))
        if self.kind in ("block_2d", "block_1d_a", "minibatch"):
            a = rng.uniform(self.a_min, 1.0, size=n_blocks)
        silent = np.zeros(self.warmup)
        return Regimes(
            lambda_=np.concatenate([silent, np.repeat(lambda_, block)]),
            a=np.concatenate([silent + 1.0, np.repeat(a, block)]),
            snapshot_steps=self.warmup + block * np.arange(1, n_blocks + 1) - 1,
        )
