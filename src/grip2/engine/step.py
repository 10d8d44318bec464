"""The compiled heart of training: many optimisation steps in one call (Algorithm 1, lines 5-10).

`advance` is a pure function of arrays. Everything random (starting point, minibatches, regimes) is drawn on the host and
passed in, so that a plain NumPy loop can follow it step by step, and so that members of a batch (seeds, knockoff
draws) are one `vmap` away.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import Parameters, forward, group_activities
from grip2.engine.penalty import deep_penalty, group_penalty
from grip2.engine.target import Loss

# Keeps the diagnostic ratio finite where the loss is flat (appendix, "Diagnostics").
RATIO_EPSILON = 1e-12


class Hyper(NamedTuple):
    """Numbers of the objective and the optimiser; traced, so that changing one compiles nothing anew."""

    learning_rate: Any
    deep_l2: Any  # gamma
    epsilon: Any
    clip_norm: Any  # inf: no clipping


class StepPlan(NamedTuple):
    """What each step of a chunk does. ``capacity`` steps are laid out; `advance` runs the first ``n_steps``."""

    row_numbers: Any  # (capacity, batch) rows of the minibatches, or None for full-batch training
    lambda_: Any  # (capacity,)
    a: Any  # (capacity,)
    slot: Any  # (capacity,) where the snapshot after this step goes; the last slot is the waste bin


class Recorded(NamedTuple):
    """What a chunk writes down."""

    snapshots: Any  # (slots + 1, groups) group activities
    ratios: Any  # (slots + 1,) gradient ratio at the snapshots
    held_out: Any  # (slots + 1, 2) prediction loss on either half of the held-out rows at the snapshots, or zeros
    losses: Any  # (capacity,) prediction loss of every step's minibatch


class Data(NamedTuple):
    """Rows to train on, and rows to judge by (None: no held-out loss).

    Logits (rows, outputs) are added to the outputs of the network: what is known of the rows already.
    """

    x: Any
    y: Any
    logits: Any = None
    x_held_out: Any = None
    y_held_out: Any = None
    logits_held_out: Any = None


def _outputs(parameters: Parameters, x: Any, logits: Any) -> Any:
    outputs = forward(parameters, x)
    return outputs if logits is None else outputs + logits


def halves(n_rows: int) -> tuple[slice, slice]:
    """Held-out rows in two halves: what one half chooses, the other judges. A single row is both."""
    middle = max(1, n_rows // 2)
    return slice(0, middle), slice(middle if n_rows > 1 else 0, n_rows)


class State(NamedTuple):
    """What the next step needs."""

    parameters: Parameters
    optimiser: Any


def optimiser(hyper: Hyper) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(hyper.clip_norm), optax.adam(hyper.learning_rate))


def start(parameters: Parameters, hyper: Hyper) -> State:
    return State(parameters, optimiser(hyper).init(parameters))


def advance(
    state: State,
    recorded: Recorded,
    data: Data,
    plan: StepPlan,
    n_steps: Any,
    hyper: Hyper,
    groups: InputGroups | None = None,
    *,
    loss: Loss,
) -> tuple[State, Recorded]:
    """Run ``n_steps`` steps of the objective eq. (2), recording snapshots where the plan asks for them."""
    update = optimiser(hyper).update
    waste = recorded.ratios.shape[0] - 1
    x, y = data.x, data.y

    def prediction_and_decay(parameters: Parameters, xb: Any, yb: Any, logits: Any) -> tuple[Any, Any]:
        prediction = loss(_outputs(parameters, xb, logits), yb, jnp)
        return prediction + hyper.deep_l2 * deep_penalty(parameters), prediction

    def step(t: Any, carry: tuple[State, Recorded]) -> tuple[State, Recorded]:
        (parameters, optimiser_state), record = carry
        batch = (x, y, data.logits)
        if plan.row_numbers is not None:
            batch = jax.tree.map(lambda part: part[plan.row_numbers[t]], batch)
        gradient, prediction = jax.grad(prediction_and_decay, has_aux=True)(parameters, *batch)
        # The deep penalty does not touch the first layer, so this is the gradient of the prediction loss alone there.
        of_loss = gradient[0].weight
        of_penalty = plan.lambda_[t] * jax.grad(group_penalty)(parameters[0].weight, plan.a[t], hyper.epsilon, groups)
        gradient = (gradient[0]._replace(weight=of_loss + of_penalty), *gradient[1:])
        updates, optimiser_state = update(gradient, optimiser_state)
        parameters = optax.apply_updates(parameters, updates)

        slot = plan.slot[t]
        no_ratio, no_loss = jnp.zeros_like(record.ratios[0]), jnp.zeros_like(record.held_out[0])

        def snapshot() -> tuple[Any, Any, Any]:
            held_out = no_loss
            if data.x_held_out is not None:
                outputs = _outputs(parameters, data.x_held_out, data.logits_held_out)
                parts = halves(len(data.x_held_out))
                held_out = jnp.stack([loss(outputs[part], data.y_held_out[part], jnp) for part in parts])
            return group_activities(parameters[0].weight, groups), _gradient_ratio(of_penalty, of_loss), held_out

        norms, ratio, held_out = lax.cond(
            slot != waste, snapshot, lambda: (jnp.zeros_like(record.snapshots[0]), no_ratio, no_loss)
        )
        record = Recorded(
            snapshots=lax.dynamic_update_index_in_dim(record.snapshots, norms, slot, 0),
            ratios=lax.dynamic_update_index_in_dim(record.ratios, ratio, slot, 0),
            held_out=lax.dynamic_update_index_in_dim(record.held_out, held_out, slot, 0),
            losses=lax.dynamic_update_index_in_dim(record.losses, prediction, t, 0),
        )
        return State(parameters, optimiser_state), record

    done: tuple[State, Recorded] = lax.fori_loop(0, n_steps, step, (state, recorded))
    return done


def _gradient_ratio(of_penalty: Any, of_loss: Any) -> Any:
    """``lambda ||grad Omega_a|| / (||grad L|| + eps)`` on the first layer (appendix, "Diagnostics")."""
    return jnp.linalg.norm(of_penalty) / (jnp.linalg.norm(of_loss) + RATIO_EPSILON)


@functools.cache
def compiled_advance(loss: Loss, *, batched: bool, shared_data: bool) -> Any:
    """`advance`, jitted; ``batched`` maps it over a leading axis of the state, the record and the plan."""
    run = functools.partial(advance, loss=loss)
    if batched:
        plan_axes = StepPlan(row_numbers=0, lambda_=0, a=0, slot=None)
        run = jax.vmap(run, in_axes=(0, 0, None if shared_data else 0, plan_axes, None, None, None))
    return jax.jit(run, donate_argnums=(0, 1))
