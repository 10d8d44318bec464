"""Training runs: the host loop that lays out a run, advances it in chunks and collects what it recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache
from grip2.engine.losses import LOSSES, choose_loss
from grip2.engine.mlp import Layer, Parameters, forward, initialise
from grip2.engine.schedule import Regimes, Schedule
from grip2.engine.step import Data, Hyper, Recorded, State, StepPlan, compiled_advance, start
from grip2.errors import Grip2Error

# A chunk is about this much work, so that a progress bar moves and Ctrl-C is answered at once.
CHUNK_FLOPS = 2e10
CHUNK_STEPS_MAX = 4096

# Called with (steps done, steps in all) after every chunk; returning False ends the run early.
Progress = Callable[[int, int], bool | None]


class NonFiniteTrainingError(FloatingPointError):
    """The loss or the weights stopped being finite; no importance can be read off such a run."""


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that fixes a run but the data and the seed.

    ``deep_l2`` is the paper's gamma; ``clip_norm`` bounds the global gradient norm (None: no clipping); ``epsilon``
    smooths the group norm; ``batch_size=None`` trains on all rows at every step; ``snapshot_every_step`` records the
    group norms after every step, whatever the schedule (for pilot runs).
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


@dataclass(frozen=True)
class TrainingRun:
    """What one run leaves behind; all arrays are NumPy.

    ``importance`` is S, the mean of the snapshots over blocks (eq. 10, in the appendix). Row ``b`` of ``snapshots`` was
    taken under (``snapshot_lambda[b]``, ``snapshot_a[b]``): together they are the regularization surface.
    """

    importance: np.ndarray  # (inputs,)
    snapshots: np.ndarray  # (blocks, inputs)
    snapshot_lambda: np.ndarray  # (blocks,)
    snapshot_a: np.ndarray  # (blocks,)
    gradient_ratio: np.ndarray  # (blocks,)
    held_out_loss: np.ndarray | None  # (blocks,) where held-out rows were given
    loss_curve: np.ndarray  # (steps,) prediction loss of every step's minibatch
    parameters: Parameters
    stop_reason: str


class HeldOut(NamedTuple):
    """Rows to judge a network by."""

    x: np.ndarray
    y: np.ndarray
    offset: np.ndarray | None = None


class _Layout(NamedTuple):
    """The host's drawing of one run."""

    parameters: Parameters
    regimes: Regimes
    rows: np.ndarray | None


def lay_out(
    n_rows: int,
    n_inputs: int,
    n_outputs: int,
    config: TrainingConfig,
    rng: np.random.Generator,
) -> _Layout:
    """Draw the starting point, the regimes and the minibatches of a run, each from a stream of its own."""
    for_parameters, for_regimes, for_rows = rng.spawn(3)
    regimes = config.schedule.draw(config.steps, for_regimes)
    n_steps = len(regimes.lambda_)
    if config.snapshot_every_step:
        regimes = regimes._replace(snapshot_steps=np.arange(config.schedule.warmup, n_steps))
    rows = None
    if config.batch_size is not None and config.batch_size < n_rows:
        rows = minibatches(n_rows, config.batch_size, n_steps, for_rows)
    parameters = initialise(n_inputs, config.hidden, config.depth, n_outputs, rng=for_parameters)
    return _Layout(parameters, regimes, rows)


def train(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rng: np.random.Generator,
    offset: np.ndarray | None = None,
    held_out: HeldOut | None = None,
    progress: Progress | None = None,
) -> TrainingRun:
    """Train one network on ``x`` (rows, inputs) and return what it recorded.

    ``offset`` (rows, outputs) is added to what the network puts out. The rows of ``held_out`` take no part in training;
    their loss is recorded with every snapshot.
    """
    return _run(x, y, task, [config], [rng], progress, offset=offset, held_out=held_out, batched=False)[0]


def train_batch(
    x: np.ndarray,
    y: np.ndarray,
    *,
    task: str,
    config: TrainingConfig,
    rngs: Sequence[np.random.Generator],
    schedules: Sequence[Schedule] | None = None,
    offset: np.ndarray | None = None,
    progress: Progress | None = None,
) -> list[TrainingRun]:
    """Train one network per generator as a single batched computation; pays where networks are small.

    ``x`` is (rows, inputs), shared by all members, or (members, rows, inputs), with ``y`` (members, rows), one table
    each, and an ``offset`` alike. ``schedules`` gives every member a schedule of its own; they must agree on when
    snapshots are taken. Every member equals, up to rounding, the run `train` makes with the same generator.
    """
    if np.ndim(x) == 3 and len(x) != len(rngs):
        raise Grip2Error(f"train_batch: {len(x)} tables for {len(rngs)} generators.")
    configs = [replace(config, schedule=schedule) for schedule in schedules or [config.schedule] * len(rngs)]
    return _run(x, y, task, configs, rngs, progress, offset=offset, batched=True)


def predict(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """Network outputs (rows, outputs): the fitted mean, or logits."""
    return np.asarray(jax.jit(forward)(parameters, jnp.asarray(x, parameters[0].weight.dtype)))


def prediction_loss(parameters: Parameters, x: np.ndarray, y: np.ndarray, *, task: str) -> float:
    """The loss of a task on given rows."""
    loss_name, _ = choose_loss(task, y)
    return float(LOSSES[loss_name](predict(parameters, x), jnp.asarray(y)))


def _run(
    x: np.ndarray,
    y: np.ndarray,
    task: str,
    configs: Sequence[TrainingConfig],
    rngs: Sequence[np.random.Generator],
    progress: Progress | None,
    *,
    offset: np.ndarray | None = None,
    held_out: HeldOut | None = None,
    batched: bool,
) -> list[TrainingRun]:
    enable_cache()
    n_rows, n_inputs = np.shape(x)[-2:]
    config = configs[0]
    # A class may be absent from the training rows; labels of the held-out ones count too.
    loss_name, n_outputs = choose_loss(task, y if held_out is None else np.concatenate([y, held_out.y]))
    layouts = [lay_out(n_rows, n_inputs, n_outputs, own, rng) for own, rng in zip(configs, rngs, strict=True)]
    n_steps = len(layouts[0].regimes.lambda_)
    snapshot_steps = layouts[0].regimes.snapshot_steps
    if any(not np.array_equal(layout.regimes.snapshot_steps, snapshot_steps) for layout in layouts):
        raise Grip2Error("train_batch: the schedules of a batch must take their snapshots after the same steps.")
    capacity = _chunk_capacity(layouts, n_rows, n_steps)
    records: list[tuple[Recorded, int, int]] = []

    with jax.enable_x64(config.precision == "float64"):
        dtype = jnp.dtype(config.precision)
        parts = (x, y, offset, *(held_out or ()))
        data = Data(*(None if part is None else jnp.asarray(part, dtype) for part in parts))
        hyper = Hyper(
            *(
                jnp.asarray(value, dtype)
                for value in (
                    config.learning_rate,
                    config.deep_l2,
                    config.epsilon,
                    np.inf if config.clip_norm is None else config.clip_norm,
                )
            )
        )
        state = _stack([start(_cast(layout.parameters, dtype), hyper) for layout in layouts], batched)
        run = compiled_advance(loss_name, batched=batched, shared_data=np.ndim(x) == 2)
        done, stopped = 0, False
        while done < n_steps and not stopped:
            count = min(capacity, n_steps - done)
            plan, n_slots = _chunk_plan(layouts, done, count, capacity, dtype, batched)
            record = _empty_record(len(layouts) if batched else None, n_inputs, capacity, n_slots, dtype)
            state, record = run(state, record, data, plan, count, hyper)
            record = jax.tree.map(np.asarray, record)
            _check_finite(record, count, done, config)
            taken = int(np.sum((snapshot_steps >= done) & (snapshot_steps < done + count)))
            records.append((record, count, taken))
            done += count
            stopped = progress is not None and progress(done, n_steps) is False
        parameters = jax.tree.map(np.asarray, state.parameters)

    reason = "all blocks done" if done == n_steps else f"stopped by the caller after {done} of {n_steps} steps"
    return [
        _collect(layouts[k], records, parameters, reason, held_out is not None, member=k if batched else None)
        for k in range(len(layouts))
    ]


def minibatches(n_rows: int, batch_size: int, n_steps: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers (steps, batch): each pass visits the rows in a new order, an incomplete last batch is dropped."""
    per_pass = n_rows // batch_size
    passes = -(-n_steps // per_pass)
    rows = np.empty((passes * per_pass, batch_size), dtype=np.int32)
    for k in range(passes):
        order = rng.permutation(n_rows)[: per_pass * batch_size]
        rows[k * per_pass : (k + 1) * per_pass] = order.reshape(per_pass, batch_size)
    return rows[:n_steps]


def _chunk_capacity(layouts: Sequence[_Layout], n_rows: int, n_steps: int) -> int:
    """Steps per chunk: a power of two, so that few distinct shapes are ever compiled."""
    n_weights = sum(layer.weight.size for layer in layouts[0].parameters)
    batch = n_rows if layouts[0].rows is None else layouts[0].rows.shape[1]
    flops = 6.0 * n_weights * batch * len(layouts)
    steps = min(max(CHUNK_FLOPS / flops, 1), CHUNK_STEPS_MAX, n_steps)
    return 1 << int(np.ceil(np.log2(steps)))


def _chunk_plan(
    layouts: Sequence[_Layout], done: int, count: int, capacity: int, dtype: Any, batched: bool
) -> tuple[StepPlan, int]:
    """Steps ``done .. done + count`` of the layouts, padded to ``capacity``."""
    regimes = layouts[0].regimes
    # Block lengths are constant, so this is the most snapshots any chunk of this capacity can hold.
    spacing = int(np.min(np.diff(regimes.snapshot_steps), initial=capacity))
    n_slots = -(-capacity // spacing)
    slot = np.full(capacity, n_slots, dtype=np.int32)
    inside = regimes.snapshot_steps[(regimes.snapshot_steps >= done) & (regimes.snapshot_steps < done + count)]
    slot[inside - done] = np.arange(len(inside))

    def padded(values: np.ndarray) -> np.ndarray:
        part = values[done : done + count]
        return np.concatenate([part, np.zeros((capacity - count, *part.shape[1:]), part.dtype)])

    def gather(rows: Sequence[np.ndarray], as_type: Any) -> Any:
        parts = [padded(row) for row in rows]
        return jnp.asarray(np.stack(parts) if batched else parts[0], as_type)

    rows = None
    if layouts[0].rows is not None:
        rows = gather([layout.rows for layout in layouts if layout.rows is not None], jnp.int32)
    plan = StepPlan(
        rows=rows,
        lambda_=gather([layout.regimes.lambda_ for layout in layouts], dtype),
        a=gather([layout.regimes.a for layout in layouts], dtype),
        slot=jnp.asarray(slot),
    )
    return plan, n_slots


def _empty_record(n_members: int | None, n_inputs: int, capacity: int, n_slots: int, dtype: Any) -> Recorded:
    lead = () if n_members is None else (n_members,)
    return Recorded(
        snapshots=jnp.zeros((*lead, n_slots + 1, n_inputs), dtype),
        ratios=jnp.zeros((*lead, n_slots + 1), dtype),
        held_out=jnp.zeros((*lead, n_slots + 1), dtype),
        losses=jnp.zeros((*lead, capacity), dtype),
    )


def _check_finite(record: Recorded, count: int, done: int, config: TrainingConfig) -> None:
    bad = ~np.isfinite(record.losses[..., :count])
    if bad.any():
        step = done + int(np.min(np.nonzero(bad)[-1])) + 1
    elif not (np.isfinite(record.snapshots).all() and np.isfinite(record.held_out).all()):
        step = done + count
    else:
        return
    raise NonFiniteTrainingError(
        f"Training became non-finite at step {step} (learning_rate={config.learning_rate:g}, "
        f"lambda up to {config.schedule.lambda_max:g}, clip_norm={config.clip_norm}). "
        "Lower the learning rate, set clip_norm=1.0, or check the scale of the data."
    )


def _collect(
    layout: _Layout,
    records: Sequence[tuple[Recorded, int, int]],
    parameters: Parameters,
    stop_reason: str,
    with_held_out: bool,
    *,
    member: int | None,
) -> TrainingRun:
    def pick(array: np.ndarray) -> np.ndarray:
        return array if member is None else array[member]

    def at_snapshots(name: str) -> np.ndarray:
        return np.concatenate([pick(getattr(record, name))[:taken] for record, _, taken in records])

    snapshots = at_snapshots("snapshots")
    if len(snapshots) == 0:
        raise RuntimeError("The run was stopped before its first snapshot; no importance was recorded.")
    steps = layout.regimes.snapshot_steps[: len(snapshots)]
    return TrainingRun(
        importance=snapshots.mean(axis=0, dtype=np.float64),
        snapshots=snapshots,
        snapshot_lambda=layout.regimes.lambda_[steps],
        snapshot_a=layout.regimes.a[steps],
        gradient_ratio=at_snapshots("ratios"),
        held_out_loss=at_snapshots("held_out") if with_held_out else None,
        loss_curve=np.concatenate([pick(record.losses)[:count] for record, count, _ in records]),
        parameters=jax.tree.map(pick, parameters),
        stop_reason=stop_reason,
    )


def _cast(parameters: Parameters, dtype: Any) -> Parameters:
    return tuple(Layer(jnp.asarray(weight, dtype), jnp.asarray(bias, dtype)) for weight, bias in parameters)


def _stack(states: list[State], batched: bool) -> State:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states) if batched else states[0]
