"""Training runs of the penalised network: a run is laid out on the host, advanced in chunks, and what it recorded collected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache
from grip2.engine.host_loop import (
    NonFiniteTrainingError,
    chunk_capacity,
    member,
    minibatches,
    padded,
    run_in_chunks,
    stacked,
    stop_reason,
)
from grip2.engine.input_groups import InputGroups, group_count
from grip2.engine.mlp import Parameters, forward, initialise
from grip2.engine.schedule import Regimes, Schedule
from grip2.engine.step import Data, Hyper, Recorded, State, StepPlan, compiled_advance, start
from grip2.engine.target import Target
from grip2.engine.training import TrainingConfig, TrainingRun
from grip2.errors import Grip2Error
from grip2.progress import Progress


class HeldOut(NamedTuple):
    """Rows to judge a network by."""

    x: np.ndarray
    target: Target


# Gives so many rows, and what is to be learned of them; others at every call.
Feed = Callable[[int], tuple[np.ndarray, Target]]


class _Layout(NamedTuple):
    """The host's drawing of one run."""

    parameters: Parameters
    regimes: Regimes
    row_numbers: np.ndarray | None  # (steps, batch); None: all rows at every step


def lay_out(
    n_rows: int,
    n_inputs: int,
    n_outputs: int,
    config: TrainingConfig,
    rng: np.random.Generator,
) -> _Layout:
    """Draw the starting point, the regimes and the minibatches of a run, each from a stream of its own."""
    for_parameters, for_regimes, for_batches = rng.spawn(3)
    regimes = config.schedule.draw(config.steps, for_regimes)
    n_steps = len(regimes.lambda_)
    if config.snapshot_every_step:
        regimes = regimes._replace(snapshot_steps=np.arange(config.schedule.warmup, n_steps))
    row_numbers = None
    if config.batch_size is not None and config.batch_size < n_rows:
        row_numbers = minibatches(n_rows, config.batch_size, n_steps, for_batches)
    parameters = initialise(n_inputs, config.hidden, config.depth, n_outputs, rng=for_parameters)
    return _Layout(parameters, regimes, row_numbers)


def train(
    x: np.ndarray,
    target: Target,
    *,
    config: TrainingConfig,
    rng: np.random.Generator,
    groups: InputGroups | None = None,
    held_out: HeldOut | None = None,
    until: Callable[[np.ndarray], bool] | None = None,
    feed: Feed | None = None,
    progress: Progress | None = None,
) -> TrainingRun:
    """Train one network on ``x`` (rows, inputs) and return what it recorded.

    ``groups`` says which inputs are penalised and recorded together; None: each by itself.
    The rows of ``held_out`` take no part in training; their loss is recorded with every snapshot. ``until`` is asked, now and
    then, whether the run may end with the snapshots (blocks, groups) that it has.
    ``feed``: trained on the rows that it gives; ``x`` and the target are some rows like them.
    """
    return _run(
        x, target, [config], [rng], progress, groups=groups, held_out=held_out, until=until, feed=feed, batched=False
    )[0]


def train_batch(
    x: np.ndarray,
    target: Target,
    *,
    config: TrainingConfig,
    rngs: Sequence[np.random.Generator],
    groups: InputGroups | None = None,
    schedules: Sequence[Schedule] | None = None,
    progress: Progress | None = None,
) -> list[TrainingRun]:
    """Train one network per generator as a single batched computation; pays where networks are small.

    ``x`` is (rows, inputs), shared by all members, or (members, rows, inputs), with the target of a batch, one table each;
    ``groups`` are those of all tables.
    ``schedules`` gives every member a schedule of its own; they must agree on when snapshots are taken. Every member
    equals, up to rounding, the run `train` makes with the same generator.
    """
    if np.ndim(x) == 3 and len(x) != len(rngs):
        raise Grip2Error(f"train_batch: {len(x)} tables for {len(rngs)} generators.")
    configs = [replace(config, schedule=schedule) for schedule in schedules or [config.schedule] * len(rngs)]
    return _run(x, target, configs, rngs, progress, groups=groups, batched=True)


def predict(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """Network outputs (rows, outputs): the fitted mean, or logits."""
    enable_cache()
    return np.asarray(jax.jit(forward)(parameters, jnp.asarray(x, parameters[0].weight.dtype)))


def _run(
    x: np.ndarray,
    target: Target,
    configs: Sequence[TrainingConfig],
    rngs: Sequence[np.random.Generator],
    progress: Progress | None,
    *,
    groups: InputGroups | None,
    held_out: HeldOut | None = None,
    until: Callable[[np.ndarray], bool] | None = None,
    feed: Feed | None = None,
    batched: bool,
) -> list[TrainingRun]:
    enable_cache()
    n_rows, n_inputs = np.shape(x)[-2:]
    config = configs[0]
    layouts = [lay_out(n_rows, n_inputs, target.n_outputs, own, rng) for own, rng in zip(configs, rngs, strict=True)]
    regimes = layouts[0].regimes
    n_steps = len(regimes.lambda_)
    flops = _flops_per_step(layouts, n_rows)
    if feed is not None:
        layouts = [_fed(layout, chunk_capacity(n_steps, flops)) for layout in layouts]
    if any(not np.array_equal(layout.regimes.snapshot_steps, regimes.snapshot_steps) for layout in layouts):
        raise Grip2Error("train_batch: the schedules of a batch must take their snapshots after the same steps.")
    records: list[tuple[Recorded, int, int]] = []

    with jax.enable_x64(config.precision == "float64"):
        dtype = jnp.dtype(config.precision)
        judged = (None, None, None) if held_out is None else (held_out.x, held_out.target.y, held_out.target.logits)
        parts = (x, target.y, target.logits, *judged)
        data = Data(*(None if part is None else jnp.asarray(part, dtype) for part in parts))
        clip_norm = np.inf if config.clip_norm is None else config.clip_norm
        numbers = (config.learning_rate, config.deep_l2, config.epsilon, clip_norm)
        hyper = Hyper(*(jnp.asarray(value, dtype) for value in numbers))
        state = _start(layouts, hyper, dtype, batched)
        compiled = compiled_advance(target.loss, batched=batched, shared_data=np.ndim(x) == 2)

        def advance(start: int, count: int, capacity: int) -> np.ndarray:
            nonlocal state
            plan, n_slots = _chunk_plan(layouts, start, count, capacity, dtype, batched)
            own = data if feed is None else _fed_data(feed, capacity, layouts[0], data, dtype)
            record = _empty_record(
                len(layouts) if batched else None, group_count(n_inputs, groups), capacity, n_slots, dtype
            )
            state, record = compiled(state, record, own, plan, count, hyper, groups)
            record = jax.tree.map(np.asarray, record)
            inside = (regimes.snapshot_steps >= start) & (regimes.snapshot_steps < start + count)
            records.append((record, count, int(np.sum(inside))))
            losses: np.ndarray = record.losses[..., :count]
            if np.isfinite(losses).all() and not _snapshots_finite(record):
                raise NonFiniteTrainingError(f"Training became non-finite at step {start + count} {config.hint}")
            return losses

        def ended() -> bool:
            return until is not None and until(np.concatenate([each.snapshots[:taken] for each, _, taken in records]))

        done = run_in_chunks(n_steps, flops, advance, hint=config.hint, progress=progress, ended=ended)
        parameters = jax.tree.map(np.asarray, state.parameters)

    reason = stop_reason(done, n_steps, "all blocks done")
    return [
        _collect(layouts[k], records, parameters, reason, held_out is not None, number=k if batched else None)
        for k in range(len(layouts))
    ]


def _fed(layout: _Layout, capacity: int) -> _Layout:
    """Every chunk of steps has rows of its own, and every step of it the next ones."""
    if layout.row_numbers is None:
        raise Grip2Error("train: rows that are fed need a batch size below the number of rows.")
    n_steps, batch = layout.row_numbers.shape
    first = (np.arange(n_steps) % capacity)[:, None] * batch
    return layout._replace(row_numbers=(first + np.arange(batch)).astype(np.int32))


def _fed_data(feed: Feed, capacity: int, layout: _Layout, data: Data, dtype: Any) -> Data:
    """As many rows as a whole chunk takes, also for a last one that is shorter: one shape is compiled."""
    assert layout.row_numbers is not None
    x, target = feed(capacity * layout.row_numbers.shape[1])
    logits = None if target.logits is None else jnp.asarray(target.logits, dtype)
    return data._replace(x=jnp.asarray(x, dtype), y=jnp.asarray(target.y, dtype), logits=logits)


def _start(layouts: Sequence[_Layout], hyper: Hyper, dtype: Any, batched: bool) -> State:
    if batched:
        return jax.vmap(start, in_axes=(0, None))(stacked([layout.parameters for layout in layouts], dtype), hyper)
    return start(jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), layouts[0].parameters), hyper)


def _snapshots_finite(record: Recorded) -> bool:
    return bool(np.isfinite(record.snapshots).all() and np.isfinite(record.held_out).all())


def _flops_per_step(layouts: Sequence[_Layout], n_rows: int) -> float:
    n_weights = sum(layer.weight.size for layer in layouts[0].parameters)
    batch = n_rows if layouts[0].row_numbers is None else layouts[0].row_numbers.shape[1]
    return float(6.0 * n_weights * batch * len(layouts))


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

    def gather(values: Sequence[np.ndarray], as_type: Any) -> Any:
        parts = [padded(one, done, count, capacity) for one in values]
        return jnp.asarray(np.stack(parts) if batched else parts[0], as_type)

    row_numbers = None
    if layouts[0].row_numbers is not None:
        row_numbers = gather([layout.row_numbers for layout in layouts if layout.row_numbers is not None], jnp.int32)
    plan = StepPlan(
        row_numbers=row_numbers,
        lambda_=gather([layout.regimes.lambda_ for layout in layouts], dtype),
        a=gather([layout.regimes.a for layout in layouts], dtype),
        slot=jnp.asarray(slot),
    )
    return plan, n_slots


def _empty_record(n_members: int | None, n_groups: int, capacity: int, n_slots: int, dtype: Any) -> Recorded:
    lead = () if n_members is None else (n_members,)
    return Recorded(
        snapshots=jnp.zeros((*lead, n_slots + 1, n_groups), dtype),
        ratios=jnp.zeros((*lead, n_slots + 1), dtype),
        held_out=jnp.zeros((*lead, n_slots + 1, 2), dtype),
        losses=jnp.zeros((*lead, capacity), dtype),
    )


def _collect(
    layout: _Layout,
    records: Sequence[tuple[Recorded, int, int]],
    parameters: Parameters,
    stop_reason: str,
    with_held_out: bool,
    *,
    number: int | None,
) -> TrainingRun:
    def pick(array: np.ndarray) -> np.ndarray:
        return array if number is None else array[number]

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
        parameters=parameters if number is None else member(parameters, number),
        stop_reason=stop_reason,
    )
