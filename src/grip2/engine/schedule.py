"""Which (lambda, a) rules each optimisation step, and after which steps a snapshot is taken.

Schedules of the appendix "Persistence Training Procedure": ``log lambda`` and ``a`` are uniform on
Omega = [lambda_min, lambda_max] x [a_min, 1] and redrawn at every block, or one of them, or both, are held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grip2.errors import Grip2Error

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
    lambda_min, lambda_max, a_min, a_max : float
        The rectangle Omega; the paper's a_max is 1. ``lambda_min = lambda_max = 0`` trains without the penalty (``fixed`` only).
    block_size : int
        M, the steps per block. A snapshot follows the last step of a block; every step for ``minibatch``.
    warmup : int
        Steps before the first block. They are trained with lambda = 0 and give no snapshot (the paper says only the latter).
    approach_from : float or None
        None (the paper): lambda is redrawn at random. A number (not in the paper): blocks that draw lambda walk it upwards
        instead, in equal steps of its logarithm, from here to ``lambda_max``; those below ``lambda_min`` only lead up to
        Omega and give no snapshot. Even and product signals have no gradient at w = 0, so a group that an early
        strong block kills does not come back; an ascending path kills the weakest first.
    """

    kind: str = "block_2d"
    lambda_min: float = 1e-4
    lambda_max: float = 1e-1
    a_min: float = 0.1
    a_max: float = 1.0
    block_size: int = 25
    warmup: int = 0
    approach_from: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Grip2Error(f"Schedule: kind must be one of {KINDS}, got {self.kind!r}.")
        unpenalised = self.kind == "fixed" and self.lambda_min == self.lambda_max == 0
        if not (unpenalised or 0 < self.lambda_min <= self.lambda_max < np.inf):
            raise Grip2Error(
                "Schedule: omega must satisfy 0 < lambda_min <= lambda_max, "
                f"got ({self.lambda_min}, {self.lambda_max})."
            )
        if not 0 < self.a_min <= self.a_max <= 1:
            raise Grip2Error(
                f"Schedule: the range of a must satisfy 0 < a_min <= a_max <= 1, got ({self.a_min}, {self.a_max})."
            )
        if self.block_size < 1:
            raise Grip2Error(f"Schedule: block_size must be at least 1, got {self.block_size}.")
        if self.warmup < 0:
            raise Grip2Error(f"Schedule: warmup must not be negative, got {self.warmup}.")
        if self.approach_from is not None and not 0 < self.approach_from <= self.lambda_min:
            raise Grip2Error(f"Schedule: approach_from must be in (0, lambda_min], got {self.approach_from}.")

    @property
    def draws_lambda(self) -> bool:
        """Does lambda move, or stand at `lambda_fixed`?"""
        return self.kind in ("block_2d", "block_1d", "minibatch")

    @property
    def lambda_fixed(self) -> float:
        """``sqrt(lambda_min lambda_max)``, the strength of schedules that do not draw lambda."""
        return float(np.sqrt(self.lambda_min * self.lambda_max))

    def draw(self, steps: int, rng: np.random.Generator) -> Regimes:
        """Lay out ``warmup`` steps and then ``floor(steps / M)`` whole blocks (Algorithm 1, line 3)."""
        block = 1 if self.kind == "minibatch" else self.block_size
        n_blocks = steps // block
        if n_blocks < 1:
            raise Grip2Error(f"Schedule: {steps} steps hold no whole block of {block}; give more steps.")
        lambda_, recorded = self._strengths(n_blocks, rng)
        a = np.ones(n_blocks)
        if self.kind in ("block_2d", "block_1d_a", "minibatch"):
            a = rng.uniform(self.a_min, self.a_max, size=n_blocks)
        silent = np.zeros(self.warmup)
        last_steps = self.warmup + block * np.arange(1, n_blocks + 1) - 1
        return Regimes(
            lambda_=np.concatenate([silent, np.repeat(lambda_, block)]),
            a=np.concatenate([silent + 1.0, np.repeat(a, block)]),
            snapshot_steps=last_steps[recorded],
        )

    def _strengths(self, n_blocks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Lambda of every block, and which blocks lie in Omega and are recorded."""
        everywhere = np.ones(n_blocks, dtype=bool)
        if not self.draws_lambda:
            return np.full(n_blocks, self.lambda_fixed), everywhere
        if self.approach_from is None:
            lo, hi = np.log(self.lambda_min), np.log(self.lambda_max)
            return np.exp(rng.uniform(lo, hi, size=n_blocks)), everywhere
        path = np.geomspace(self.approach_from, self.lambda_max, n_blocks)
        recorded = path >= self.lambda_min
        recorded[-1] = True
        return path, recorded
