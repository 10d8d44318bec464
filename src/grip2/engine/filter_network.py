"""DeepPINK's network (Lu et al. 2018): every pair of inputs meets in a filter, an MLP sees the filters only.

Filter j is ``z_j x_j + z~_j x~_j + b_j``, linear. The engine knows the two members of a pair as columns ``j``
and ``j + p`` of one table, and starts and treats them alike.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from grip2.engine.compilation import enable_cache
from grip2.engine.losses import LOSSES, choose_loss
from grip2.engine.mlp import Layer, Parameters
from grip2.engine.train import CHUNK_FLOPS, CHUNK_STEPS_MAX, NonFiniteTrainingError, Progress, minibatches
from grip2.errors import Grip2Error

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"elu": jax.nn.elu, "relu": jax.nn.relu}


# First layers of at most this many units absorb the filters instead of filtering the rows.
NARROW = 16


class FilterNetworkParameters(NamedTuple):
    filters: Any  # (2, p): row 0 holds z, row 1 holds z~
    filter_bias: Any  # (p,)
    layers: Parameters


@dataclass(frozen=True)
class FilterNetworkConfig:
    """What fixes a run but the data and the seed; ``l1`` acts on the weights of the hidden layers."""

    hidden: int
    depth: int
    steps: int
    batch_size: int
    learning_rate: float
    l1: float
    activation: str
    filter_start: float

    def __post_init__(self) -> None:
        for name in ("hidden", "depth", "steps", "batch_size"):
            if getattr(self, name) < 1:
                raise Grip2Error(f"DeepPINK: {name} must be at least 1, got {getattr(self, name)}.")
        if not self.learning_rate > 0:
            raise Grip2Error(f"DeepPINK: learning_rate must be positive, got {self.learning_rate}.")
        if not self.l1 >= 0:
            raise Grip2Error(f"DeepPINK: l1 must not be negative, got {self.l1}.")
        if self.activation not in ACTIVATIONS:
            raise Grip2Error(f"DeepPINK: activation must be one of {sorted(ACTIVATIONS)}, got {self.activation!r}.")


@dataclass(frozen=True)
class FilterNetworkRun:
    """A trained network and the loss of every step's minibatch; all NumPy."""

    parameters: FilterNetworkParameters
    loss_curve: np.ndarray
    stop_reason: str


def filter_network_importance(parameters: FilterNetworkParameters) -> np.ndarray:
    """``|z_j w_j|`` of all first members, then ``|z~_j w_j|`` of all second ones, w the product of later
    weights.

    With several outputs w_j has one entry for each, and absolute values are summed over them.
    """
    w = np.asarray(parameters.layers[0].weight, dtype=np.float64)
    for layer in parameters.layers[1:]:
        w = w @ layer.weight
    return (np.abs(parameters.filters) * np.abs(w).sum(axis=1)).ravel()


def filter_network_forward(parameters: FilterNetworkParameters, x: Any, activation: str) -> Any:
    """Network outputs, shape (rows, outputs), for rows of (p originals, p knockoffs)."""
    hidden = _first_layer(parameters, x)
    for layer in parameters.layers[1:]:
        hidden = ACTIVATIONS[activation](hidden) @ layer.weight + layer.bias
    return hidden


def _first_layer(parameters: FilterNetworkParameters, x: Any) -> Any:
    """Filters and first layer together; before its activation.

    Filtering every row costs a pass over the table. Where the layer is narrow it is cheaper to multiply its weights by the
    filters instead: (z x + z~ x~) W = [x, x~] [z W; z~ W].
    """
    p = x.shape[1] // 2
    filters, (weight, bias) = parameters.filters, parameters.layers[0]
    if weight.shape[-1] <= NARROW:
        both = jnp.concatenate([filters[0][:, None] * weight, filters[1][:, None] * weight])
        return x @ both + parameters.filter_bias @ weight + bias
    return (filters[0] * x[:, :p] + filters[1] * x[:, p:] + parameters.filter_bias) @ weight + bias


def initialise_filter_network(
    n_pairs: int, n_outputs: int, config: FilterNetworkConfig, rng: np.random.Generator
) -> FilterNetworkParameters:
    """Filters at one constant, so that no pair starts with a winner; layers Glorot normal, biases zero."""
    sizes = [n_pairs, *([config.hidden] * config.depth), n_outputs]
    layers = tuple(
        Layer(rng.standard_normal((a, b)) * np.sqrt(2.0 / (a + b)), np.zeros(b)) for a, b in itertools.pairwise(sizes)
    )
    return FilterNetworkParameters(np.full((2, n_pairs), config.filter_start), np.zeros(n_pairs), layers)


def train_filter_network(
    tables: Sequence[np.ndarray],
    y: np.ndarray,
    *,
    task: str,
    config: FilterNetworkConfig,
    rngs: Sequence[np.random.Generator],
    progress: Progress | None = None,
) -> list[FilterNetworkRun]:
    """Train one network per generator, all in one batched computation.

    ``tables`` holds one (rows, 2p) table per generator, or a single one for all.
    """
    enable_cache()
    n_rows, n_inputs = tables[0].shape
    loss_name, n_outputs = choose_loss(task, y)
    batch = min(config.batch_size, n_rows)
    streams = [rng.spawn(2) for rng in rngs]
    started = [initialise_filter_network(n_inputs // 2, n_outputs, config, both[0]) for both in streams]
    # All rows at every step need no numbers: their order does not matter.
    rows = np.stack([_rows(n_rows, batch, config.steps, both[1]) for both in streams])
    shared = len(tables) == 1
    x = jnp.asarray(tables[0] if shared else np.stack(tables), jnp.float32)
    targets = jnp.asarray(y, jnp.float32)
    parameters = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(v, jnp.float32) for v in leaves]), *started)
    run = _compiled(loss_name, config.activation, shared)
    numbers = (jnp.float32(config.learning_rate), jnp.float32(config.l1))
    state = (parameters, jax.vmap(_optimiser(numbers[0]).init)(parameters))
    capacity = _chunk_capacity(started[0], batch * len(rngs), config.steps)
    losses: list[np.ndarray] = []
    done, stopped = 0, False
    while done < config.steps and not stopped:
        count = min(capacity, config.steps - done)
        plan = np.zeros((len(rngs), capacity, rows.shape[2]), np.int32)
        plan[:, :count] = rows[:, done : done + count]
        state, found = run(state, x, targets, jnp.asarray(plan), count, *numbers)
        losses.append(np.asarray(found)[:, :count])
        if not np.isfinite(losses[-1]).all():
            raise NonFiniteTrainingError(
                f"DeepPINK: training became non-finite within {done + count} steps; lower the learning rate "
                f"({config.learning_rate:g}) or check the scale of the data."
            )
        done += count
        stopped = progress is not None and progress(done, config.steps) is False
    reason = "all steps done" if done == config.steps else f"stopped by the caller after {done} steps"
    trained, curve = jax.tree.map(np.asarray, state[0]), np.concatenate(losses, axis=1)
    return [
        FilterNetworkRun(jax.tree.map(lambda leaf, k=k: leaf[k], trained), curve[k], reason) for k in range(len(rngs))
    ]


def _rows(n_rows: int, batch: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers (steps, batch); (steps, 0) where every step takes all rows."""
    return minibatches(n_rows, batch, steps, rng) if batch < n_rows else np.zeros((steps, 0), np.int32)


def _optimiser(learning_rate: Any) -> optax.GradientTransformation:
    return optax.adam(learning_rate)


@functools.cache
def _compiled(loss_name: str, activation: str, shared: bool) -> Any:
    run = functools.partial(_advance, loss_name=loss_name, activation=activation)
    return jax.jit(jax.vmap(run, in_axes=(0, None if shared else 0, None, 0, None, None, None)), donate_argnums=(0,))


def _advance(
    state: Any,
    x: Any,
    y: Any,
    rows: Any,
    n_steps: Any,
    learning_rate: Any,
    l1: Any,
    *,
    loss_name: str,
    activation: str,
) -> tuple[Any, Any]:
    """Run the first ``n_steps`` of the minibatches laid out in ``rows`` (capacity, batch)."""
    update = _optimiser(learning_rate).update

    def objective(parameters: FilterNetworkParameters, xb: Any, yb: Any) -> tuple[Any, Any]:
        prediction = LOSSES[loss_name](filter_network_forward(parameters, xb, activation), yb)
        # Hidden layers only, as in the original's code: filters and output layer are not penalised.
        penalty = sum(jnp.sum(jnp.abs(layer.weight)) for layer in parameters.layers[:-1])
        return prediction + l1 * penalty, prediction

    def step(t: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        (parameters, optimiser), losses = carry
        xb, yb = (x[rows[t]], y[rows[t]]) if rows.shape[1] else (x, y)
        gradient, prediction = jax.grad(objective, has_aux=True)(parameters, xb, yb)
        updates, optimiser = update(gradient, optimiser)
        return (optax.apply_updates(parameters, updates), optimiser), losses.at[t].set(prediction)

    return lax.fori_loop(0, n_steps, step, (state, jnp.zeros(len(rows), x.dtype)))


def _chunk_capacity(parameters: FilterNetworkParameters, rows_per_step: int, n_steps: int) -> int:
    n_weights = sum(layer.weight.size for layer in parameters.layers)
    # A step touches every weight some ten times whatever the batch: Adam's moments.
    flops = 6.0 * n_weights * (rows_per_step + 10)
    steps = min(max(CHUNK_FLOPS / flops, 1), CHUNK_STEPS_MAX, n_steps)
    return 1 << int(np.ceil(np.log2(steps)))
