"""Choosing Omega and the block size from the data; every input column is treated alike."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.losses import LOSSES, choose_loss
from grip2.engine.mlp import forward
from grip2.engine.penalty import group_penalty
from grip2.engine.schedule import Schedule
from grip2.engine.train import HeldOut, Progress, TrainingConfig, train
from grip2.errors import Grip2Error

# Omega and its approach in units of lambda*, the strength that predicts best; chosen on linear, absolute-value, product,
# sign and sine signals with n from 1,000 to 10,000.
OMEGA_AROUND_BEST = (1.0, 5.0)
APPROACH_FROM_BEST = 0.1
WARMUP_STEPS = 300

# Steps of the calibration runs: at most as many as the run they serve.
HELD_OUT_STEPS = 1500
HELD_OUT_SHARE = 0.2
RATIO_STEPS = 500
PILOT_BLOCKS, LONGEST_BLOCK = 8, 200
PILOT_STEPS = PILOT_BLOCKS * LONGEST_BLOCK


def calibrate_held_out(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rng: np.random.Generator,
    offset: np.ndarray | None = None,
    search: tuple[float, float] = (1e-3, 2.0),
    held_out: np.ndarray | None = None,
    progress: Progress | None = None,
) -> tuple[Schedule, dict[str, Any]]:
    """Anchor Omega at lambda*, the strength that predicts held-out rows best along an ascending path (not in the paper).

    Below lambda* the network learns noise; far above it, it forgets signal. The schedule returned trains 300 steps
    without penalty, then walks up from lambda* / 10 and records over Omega = [lambda*, 5 lambda*]. The path is walked at
    a = 0.5 with a fifth of the rows set aside, those numbered ``held_out`` or, by default, random ones. Held-out loss
    treats all columns alike, so the members of a pair too.
    """
    lo, hi = search
    path = Schedule(lambda_min=lo, lambda_max=hi, approach_from=lo, a_min=0.5, a_max=0.5, block_size=25)
    followed = held_out_loss(
        x,
        y,
        task=task,
        config=replace(config, schedule=path),
        rng=rng,
        offset=offset,
        held_out=held_out,
        progress=progress,
    )
    best = float(followed.lambda_[int(np.argmin(followed.loss))])
    schedule = replace(
        config.schedule,
        lambda_min=best * OMEGA_AROUND_BEST[0],
        lambda_max=best * OMEGA_AROUND_BEST[1],
        approach_from=best * APPROACH_FROM_BEST,
        warmup=max(config.schedule.warmup, WARMUP_STEPS),
    )
    info = {
        "rule": "held-out prediction",
        "best_lambda": best,
        "held_out_loss": float(followed.loss.min()),
        "null_loss": followed.null_loss,
        "explained": followed.explained,
        "lambda": (schedule.lambda_min, schedule.lambda_max),
    }
    return schedule, info


class HeldOutLoss(NamedTuple):
    """Loss on rows that took no part in training, along a run; neighbouring blocks are averaged against noise."""

    lambda_: np.ndarray
    loss: np.ndarray
    null_loss: float  # of the offset alone, or of the best constant

    @property
    def explained(self) -> float:
        """Share of the variance or deviance that the network explains, where it does best."""
        return max(0.0, 1.0 - float(self.loss.min()) / self.null_loss) if self.null_loss > 0 else 0.0


def split_rows(
    n_rows: int, rng: np.random.Generator, held_out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on and of those to judge by, a random fifth unless they are given."""
    if held_out is not None:
        return np.setdiff1d(np.arange(n_rows), held_out), held_out
    order = rng.permutation(n_rows)
    n_held_out = max(1, round(HELD_OUT_SHARE * n_rows))
    return order[n_held_out:], order[:n_held_out]


def held_out_loss(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rng: np.random.Generator,
    offset: np.ndarray | None = None,
    held_out: np.ndarray | None = None,
    progress: Progress | None = None,
) -> HeldOutLoss:
    """Follow a schedule, at most 1,500 steps of it, with some rows set aside: those given, or a random fifth."""
    kept, held_out = split_rows(len(x), rng, held_out)
    steps = min(HELD_OUT_STEPS, max(config.steps, 3 * config.schedule.block_size))
    run = train(
        x[kept],
        y[kept],
        task=task,
        config=replace(config, steps=max(steps, config.schedule.block_size)),
        rng=rng,
        offset=None if offset is None else offset[kept],
        held_out=HeldOut(x[held_out], y[held_out], None if offset is None else offset[held_out]),
        progress=progress,
    )
    assert run.held_out_loss is not None
    window = min(3, len(run.held_out_loss))
    smooth = np.convolve(run.held_out_loss, np.ones(window) / window, mode="valid")
    return HeldOutLoss(
        lambda_=run.snapshot_lambda[window // 2 : window // 2 + len(smooth)],
        loss=smooth,
        null_loss=_null_loss(y[kept], y[held_out], task, None if offset is None else offset[held_out]),
    )


def _null_loss(y_kept: np.ndarray, y_held_out: np.ndarray, task: str, offset: np.ndarray | None) -> float:
    """Held-out loss of the offset alone, or of the best constant where there is none, to read the network's against."""
    if offset is not None:
        loss_name, _ = choose_loss(task, np.concatenate([y_kept, y_held_out]))
        return float(LOSSES[loss_name](jnp.asarray(offset), jnp.asarray(y_held_out)))
    if task == "regression":
        return float(np.mean((y_held_out - y_kept.mean()) ** 2))
    counts = np.bincount(y_kept.astype(int), minlength=int(max(y_kept.max(), y_held_out.max())) + 1) + 1.0
    return float(-np.mean(np.log(counts / counts.sum())[y_held_out.astype(int)]))


def calibrate_gradient_ratio(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rng: np.random.Generator,
    ratio: tuple[float, float],
    offset: np.ndarray | None = None,
    max_rows: int = 10_000,
    progress: Progress | None = None,
) -> tuple[tuple[float, float], dict[str, Any]]:
    """The paper's rule (section 2.4): lambda such that ||grad_W R|| / ||grad_W L|| lies in [r_min, r_max].

    "We perform a short calibration run": 500 steps without penalty, then both gradients at that network. The
    gradient of R depends on a; the geometric mean over a uniform grid of [a_min, 1] is used, on which the paper is silent.
    """
    if not 0 < ratio[0] < ratio[1]:
        raise Grip2Error(f"gradient_ratio must satisfy 0 < r_min < r_max, got {ratio}.")
    pilot_steps = min(RATIO_STEPS, config.steps)
    pilot = replace(
        config,
        schedule=Schedule(kind="fixed", lambda_min=0.0, lambda_max=0.0, block_size=pilot_steps),
        steps=pilot_steps,
    )
    run = train(x, y, task=task, config=pilot, rng=rng, offset=offset, progress=progress)
    loss_name, _ = choose_loss(task, y)
    rows = rng.permutation(len(x))[:max_rows]
    x_rows, y_rows = jnp.asarray(x[rows], jnp.float32), jnp.asarray(y[rows], jnp.float32)

    def loss(weight: Any) -> Any:
        first = run.parameters[0]._replace(weight=weight)
        outputs = forward((first, *run.parameters[1:]), x_rows)
        return LOSSES[loss_name](outputs if offset is None else outputs + jnp.asarray(offset[rows]), y_rows)

    weight = jnp.asarray(run.parameters[0].weight)
    of_loss = float(jnp.linalg.norm(jax.grad(loss)(weight)))
    shapes = np.linspace(config.schedule.a_min, 1.0, 10)
    of_penalty = [float(jnp.linalg.norm(jax.grad(group_penalty)(weight, a, config.epsilon))) for a in shapes]
    unit = of_loss / float(np.exp(np.mean(np.log(of_penalty))))
    chosen = (ratio[0] * unit, ratio[1] * unit)
    return chosen, {"rule": "gradient ratio", "ratio": ratio, "lambda": chosen, "pilot_steps": pilot_steps}


def calibrate_block_size(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rng: np.random.Generator,
    tolerance: float,
    offset: np.ndarray | None = None,
    sustained: int = 5,
    progress: Progress | None = None,
) -> tuple[int, dict[str, Any]]:
    """The paper's rule (section 2.5): M such that Delta(t) stays below delta for a sustained length in all pilot blocks.

    Delta(t) is the mean absolute change of the group norms at update t of a block. The paper gives no delta; here it is
    ``tolerance`` times the mean group norm of the pilot run, and "sustained" is ``sustained`` updates in a row. The longest block
    tried is 200 updates, or a tenth of the run; where some pilot block has not settled by then, that is M, with a warning.
    """
    longest = min(LONGEST_BLOCK, max(config.steps // 10, sustained + 2))
    schedule = replace(config.schedule, block_size=longest, approach_from=None, warmup=0)
    pilot = replace(config, schedule=schedule, steps=longest * PILOT_BLOCKS, snapshot_every_step=True)
    run = train(x, y, task=task, config=pilot, rng=rng, offset=offset, progress=progress)
    norms = run.snapshots.reshape(PILOT_BLOCKS, longest, -1)
    change = np.abs(np.diff(norms, axis=1)).mean(axis=2)  # Delta(t), one row per block
    delta = tolerance * float(norms.mean())
    settled = [_first_sustained(row < delta, sustained) for row in change]
    size = max((longest if t is None else t + sustained + 1) for t in settled)
    if any(t is None for t in settled):
        warnings.warn(
            f"block_size='auto': in {sum(t is None for t in settled)} of {PILOT_BLOCKS} pilot blocks the group norms were "
            f"still moving after {longest} updates; blocks of {longest} are used. Snapshots may lag behind the penalty.",
            UserWarning,
            stacklevel=2,
        )
    info = {"rule": "pilot run", "delta": delta, "settled_after": settled, "block_size": size}
    return size, info


def _first_sustained(flags: np.ndarray, length: int) -> int | None:
    """Where the first run of ``length`` true values begins."""
    count = 0
    for t, flag in enumerate(flags):
        count = count + 1 if flag else 0
        if count == length:
            return t - length + 1
    return None
