"""What fixes a training run, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grip2.engine.mlp import Parameters
from grip2.engine.schedule import Schedule
from grip2.errors import Grip2Error


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that fixes a run but the data and the seed.

    ``deep_l2`` is the paper's gamma; ``clip_norm`` bounds the global gradient norm (None: no clipping); ``epsilon``
    smooths the group norm; ``batch_size=None`` trains on all rows at every step; ``snapshot_every_step`` records the
    group activities after every step, whatever the schedule (for pilot runs).
    """

    schedule: Schedule = field(default_factory=Schedule)
    hidden: int = 128
    depth: int = 2
    steps: int = 3000
    batch_size: int | None = 256
    learning_rate: float = 1e-3
    deep_l2: float = 0.0
    clip_norm: float | None = None
    epsilon: float = 1e-8
    precision: str = "float32"
    snapshot_every_step: bool = False

    def __post_init__(self) -> None:
        for name in ("hidden", "depth", "steps"):
            if getattr(self, name) < 1:
                raise Grip2Error(f"TrainingConfig: {name} must be at least 1, got {getattr(self, name)}.")
        if self.batch_size is not None and self.batch_size < 1:
            raise Grip2Error(f"TrainingConfig: batch_size must be at least 1, got {self.batch_size}.")
        for name in ("learning_rate", "epsilon"):
            if not getattr(self, name) > 0:
                raise Grip2Error(f"TrainingConfig: {name} must be positive, got {getattr(self, name)}.")
        if not self.deep_l2 >= 0:
            raise Grip2Error(f"TrainingConfig: deep_l2 must not be negative, got {self.deep_l2}.")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise Grip2Error(f"TrainingConfig: clip_norm must be positive or None, got {self.clip_norm}.")
        if self.precision not in ("float32", "float64"):
            raise Grip2Error(f"TrainingConfig: precision must be float32 or float64, got {self.precision!r}.")

    @property
    def hint(self) -> str:
        """What to change when training becomes non-finite."""
        return (
            f"(learning_rate={self.learning_rate:g}, lambda up to {self.schedule.lambda_max:g}, clip_norm={self.clip_norm}). "
            "Lower the learning rate, set clip_norm=1.0, or check the scale of the data."
        )


@dataclass(frozen=True)
class TrainingRun:
    """What one run leaves behind; all arrays are NumPy.

    ``importance`` is S, the mean of the snapshots over blocks (eq. 10, in the appendix). Row ``b`` of ``snapshots`` was
    taken under (``snapshot_lambda[b]``, ``snapshot_a[b]``): together they are the regularization surface.
    """

    importance: np.ndarray  # (groups,); a group is one input, unless inputs are penalised together
    snapshots: np.ndarray  # (blocks, groups)
    snapshot_lambda: np.ndarray  # (blocks,)
    snapshot_a: np.ndarray  # (blocks,)
    gradient_ratio: np.ndarray  # (blocks,)
    held_out_loss: np.ndarray | None  # (blocks, 2) of either half of the held-out rows, where there are any
    loss_curve: np.ndarray  # (steps,) prediction loss of every step's minibatch
    parameters: Parameters
    stop_reason: str
