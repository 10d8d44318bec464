"""The block size M, the number of steps between two redraws of (lambda, a): given, a share of the steps, or by a pilot run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from grip2.engine.automatic_sizes import AUTOMATIC, automatic_block_size
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.errors import Grip2Error
from grip2.progress import Progress
from grip2.statistics.held_out import NetworkProblem
from grip2.user_warnings import warn_user

PILOT = "pilot"
PILOT_BLOCKS, LONGEST_BLOCK = 8, 200
PILOT_STEPS = PILOT_BLOCKS * LONGEST_BLOCK
SUSTAINED = 5  # updates in a row for which the norms must stay settled


class BlockSize(NamedTuple):
    """How M is chosen: ``size`` as `GRIP2` takes it, ``tolerance`` the paper's delta relative to the mean group norm."""

    size: Any
    tolerance: float

    def check(self, steps: int, who: str) -> None:
        if isinstance(self.size, str) and self.size in (AUTOMATIC, PILOT):
            return
        if not isinstance(self.size, int | np.integer) or isinstance(self.size, bool) or self.size < 1:
            raise Grip2Error(
                f"{who}: block_size must be a whole number of at least 1, 'auto' (a 120th of the steps) or 'pilot' (the "
                f"paper's pilot run), got {self.size!r}."
            )
        if int(self.size) > steps:
            raise Grip2Error(f"{who}: {steps} steps hold no whole block of {self.size}; give more steps.")

    @property
    def rule(self) -> str:
        """In words."""
        return {AUTOMATIC: "share of the steps", PILOT: "pilot run"}.get(str(self.size), "given")

    @property
    def needs_pilot(self) -> bool:
        return bool(self.size == PILOT)

    @property
    def pilot_steps(self) -> int:
        """Training steps of the pilot run, for the progress bar."""
        return PILOT_STEPS if self.needs_pilot else 0

    def before_pilot(self, steps: int) -> int:
        """M for a run of so many steps, as far as it is known without a pilot run."""
        return int(self.size) if self.rule == "given" else automatic_block_size(steps)

    def settle(
        self,
        problem: NetworkProblem,
        config: TrainingConfig,
        rng: np.random.Generator,
        progress: Progress | None = None,
    ) -> TrainingConfig:
        """The configuration with its final M."""
        if not self.needs_pilot:
            return config
        size = pilot_block_size(problem, config=config, rng=rng, tolerance=self.tolerance, progress=progress)
        return replace(config, schedule=replace(config.schedule, block_size=size))


def pilot_block_size(
    problem: NetworkProblem,
    *,
    config: TrainingConfig,
    rng: np.random.Generator,
    tolerance: float,
    progress: Progress | None = None,
) -> int:
    """The paper's rule (section 2.5): M such that Delta(t) stays below delta for a sustained length in all pilot blocks.

    Delta(t) is the mean absolute change of the group norms at update t of a block. The paper gives no delta; here it is
    ``tolerance`` times the mean group norm of the pilot run, and "sustained" is five updates in a row. The longest block
    tried is 200 updates, or a tenth of the run; where some pilot block has not settled by then, that is M, with a warning.
    """
    longest = min(LONGEST_BLOCK, max(config.steps // 10, SUSTAINED + 2))
    schedule = replace(config.schedule, block_size=longest, approach_from=None, warmup=0)
    pilot = replace(config, schedule=schedule, steps=longest * PILOT_BLOCKS, snapshot_every_step=True)
    run = train(problem.x, problem.target, config=pilot, rng=rng, groups=problem.groups, progress=progress)
    norms = run.snapshots.reshape(PILOT_BLOCKS, longest, -1)
    change = np.abs(np.diff(norms, axis=1)).mean(axis=2)  # Delta(t), one row per block
    delta = tolerance * float(norms.mean())
    settled = [_first_sustained(row < delta, SUSTAINED) for row in change]
    moving = sum(t is None for t in settled)
    if moving:
        warn_user(
            f"block_size='pilot': in {moving} of {PILOT_BLOCKS} pilot blocks the group norms were still moving after "
            f"{longest} updates; blocks of {longest} are used. Snapshots may lag behind the penalty.",
        )
    return max((longest if t is None else t + SUSTAINED + 1) for t in settled)


def _first_sustained(flags: np.ndarray, length: int) -> int | None:
    """Where the first run of ``length`` true values begins."""
    count = 0
    for t, flag in enumerate(flags):
        count = count + 1 if flag else 0
        if count == length:
            return t - length + 1
    return None
