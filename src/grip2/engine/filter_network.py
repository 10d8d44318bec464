"""DeepPINK's network (Lu et al. 2018): a column and its knockoff copies meet in a filter, an MLP sees the filters only.

Filter j is ``sum_k z_kj x_kj + b_j``, linear, one term for every member k; with one copy it is the paper's
``z_j x_j + z~_j x~_j + b_j``. The engine knows member k of column j as column ``k p + j`` of one table, and starts and treats
all members alike.
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
from grip2.engine.host_loop import member, minibatches, padded, run_in_chunks, stacked, stop_reason
from grip2.engine.mlp import Layer, Parameters
from grip2.engine.target import Loss, Target
from grip2.errors import Grip2Error
from grip2.progress import Progress

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"elu": jax.nn.elu, "relu": jax.nn.relu}


# First layers of at most this many units absorb the filters instead of filtering the rows.
NARROW = 16


class FilterNetworkParameters(NamedTuple):
    filters: Any  # (members, p)
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

    @property
    def hint(self) -> str:
        """What to change when training becomes non-finite."""
        return f"(DeepPINK, learning_rate={self.learning_rate:g}). Lower the learning rate, or check the scale of the data."


@dataclass(frozen=True)
class FilterNetworkRun:
    """A trained network and the loss of every step's minibatch; all NumPy."""

    parameters: FilterNetworkParameters
    loss_curve: np.ndarray
    stop_reason: str


def filter_network_importance(parameters: FilterNetworkParameters) -> np.ndarray:
    """(members p,) ``|z_kj w_j|``, member after member, w the product of later weights.

    With several outputs w_j has one entry for each, and absolute values are summed over them.
    """
    w = np.asarray(parameters.layers[0].weight, dtype=np.float64)
    for layer in parameters.layers[1:]:
        w = w @ layer.weight
    return np.asarray((np.abs(parameters.filters) * np.abs(w).sum(axis=1)).ravel())


def filter_network_forward(parameters: FilterNetworkParameters, x: Any, activation: str) -> Any:
    """Network outputs, shape (rows, outputs), for rows of all members, (members p,) each."""
    hidden = _first_layer(parameters, x)
    for layer in parameters.layers[1:]:
        hidden = ACTIVATIONS[activation](hidden) @ layer.weight + layer.bias
    return hidden


def _first_layer(parameters: FilterNetworkParameters, x: Any) -> Any:
    """Filters and first layer together; before its activation.

    Filtering every row costs a pass over the table. Where the layer is narrow it is cheaper to multiply its weights by the
    filters instead: (z x + z~ x~) W = [x, x~] [z W; z~ W], with two members.
    """
    filters, (weight, bias) = parameters.filters, parameters.layers[0]
    if weight.shape[-1] <= NARROW:
        absorbed = jnp.concatenate([filters[k][:, None] * weight for k in range(len(filters))])
        return x @ absorbed + parameters.filter_bias @ weight + bias
    p = filters.shape[1]
    filtered = filters[0] * x[:, :p]
    for k in range(1, len(filters)):
        filtered = filtered + filters[k] * x[:, k * p : (k + 1) * p]
    return (filtered + parameters.filter_bias) @ weight + bias


def initialise_filter_network(
    members: int, n_columns: int, n_outputs: int, config: FilterNetworkConfig, rng: np.random.Generator
) -> FilterNetworkParameters:
    """Filters at one constant, so that no unit starts with a winner; layers Glorot normal, biases zero."""
    sizes = [n_columns, *([config.hidden] * config.depth), n_outputs]
    layers = tuple(
        Layer(rng.standard_normal((a, b)) * np.sqrt(2.0 / (a + b)), np.zeros(b)) for a, b in itertools.pairwise(sizes)
    )
    return FilterNetworkParameters(np.full((members, n_columns), config.filter_start), np.zeros(n_columns), layers)


def train_filter_network(
    tables: Sequence[np.ndarray],
    target: Target,
    *,
    members: int,
    config: FilterNetworkConfig,
    rngs: Sequence[np.random.Generator],
    progress: Progress | None = None,
) -> list[FilterNetworkRun]:
    """Train one network per generator, all in one batched computation.

    ``tables`` holds one (rows, members p) table per generator, or a single one for all.
    """
    enable_cache()
    n_rows, n_inputs = tables[0].shape
    p = n_inputs // members
    batch = min(config.batch_size, n_rows)
    streams = [rng.spawn(2) for rng in rngs]
    started = [initialise_filter_network(members, p, target.n_outputs, config, both[0]) for both in streams]
    row_numbers = [_row_numbers(n_rows, batch, config.steps, both[1]) for both in streams]
    shared = len(tables) == 1
    x = jnp.asarray(tables[0] if shared else np.stack(tables), jnp.float32)
    y = jnp.asarray(target.y, jnp.float32)
    parameters = stacked(started, jnp.float32)
    compiled = _compiled(target.loss, config.activation, shared)
    numbers = (jnp.float32(config.learning_rate), jnp.float32(config.l1))
    state = (parameters, jax.vmap(_optimiser(numbers[0]).init)(parameters))
    losses: list[np.ndarray] = []

    def advance(start: int, count: int, capacity: int) -> np.ndarray:
        nonlocal state
        plan = np.stack([padded(one, start, count, capacity) for one in row_numbers])
        state, found = compiled(state, x, y, jnp.asarray(plan), count, *numbers)
        losses.append(np.asarray(found)[:, :count])
        return losses[-1]

    flops = _flops_per_step(started[0], batch * len(rngs))
    done = run_in_chunks(config.steps, flops, advance, hint=config.hint, progress=progress)
    reason = stop_reason(done, config.steps, "all steps done")
    trained, curve = jax.tree.map(np.asarray, state[0]), np.concatenate(losses, axis=1)
    return [FilterNetworkRun(member(trained, k), curve[k], reason) for k in range(len(rngs))]


def _row_numbers(n_rows: int, batch: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """(steps, batch); (steps, 0) where every step takes all rows, whose order does not matter."""
    return minibatches(n_rows, batch, steps, rng) if batch < n_rows else np.zeros((steps, 0), np.int32)


def _optimiser(learning_rate: Any) -> optax.GradientTransformation:
    return optax.adam(learning_rate)


@functools.cache
def _compiled(loss: Loss, activation: str, shared: bool) -> Any:
    run = functools.partial(_advance, loss=loss, activation=activation)
    return jax.jit(jax.vmap(run, in_axes=(0, None if shared else 0, None, 0, None, None, None)), donate_argnums=(0,))


def _advance(
    state: Any,
    x: Any,
    y: Any,
    row_numbers: Any,
    n_steps: Any,
    learning_rate: Any,
    l1: Any,
    *,
    loss: Loss,
    activation: str,
) -> tuple[Any, Any]:
    """Run the first ``n_steps`` of the minibatches laid out in ``row_numbers`` (capacity, batch)."""
    update = _optimiser(learning_rate).update

    def objective(parameters: FilterNetworkParameters, xb: Any, yb: Any) -> tuple[Any, Any]:
        prediction = loss(filter_network_forward(parameters, xb, activation), yb, jnp)
        # Hidden layers only, as in the original's code: filters and output layer are not penalised.
        penalty = sum(jnp.sum(jnp.abs(layer.weight)) for layer in parameters.layers[:-1])
        return prediction + l1 * penalty, prediction

    def step(t: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        (parameters, optimiser), losses = carry
        xb, yb = (x[row_numbers[t]], y[row_numbers[t]]) if row_numbers.shape[1] else (x, y)
        gradient, prediction = jax.grad(objective, has_aux=True)(parameters, xb, yb)
        updates, optimiser = update(gradient, optimiser)
        return (optax.apply_updates(parameters, updates), optimiser), losses.at[t].set(prediction)

    done: tuple[Any, Any] = lax.fori_loop(0, n_steps, step, (state, jnp.zeros(len(row_numbers), x.dtype)))
    return done


def _flops_per_step(parameters: FilterNetworkParameters, rows_per_step: int) -> float:
    n_weights = sum(layer.weight.size for layer in parameters.layers)
    # A step touches every weight some ten times whatever the batch: Adam's moments.
    return float(6.0 * n_weights * (rows_per_step + 10))
