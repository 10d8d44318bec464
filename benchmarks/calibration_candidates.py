"""Ways of finding the right penalty that were compared with GRIP2's automatic one; docs/calibration.md has the table.

Each statistic is a network after one lasso, trained on what the lasso leaves, with one thing changed: what sees curves would
hide what the others do to absolute values. The plan beside this file runs them:

    PYTHONPATH=benchmarks grip2 experiment run benchmarks/calibration_ablation.toml --out DIR
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from grip2.engine.mlp import Layer, forward
from grip2.engine.penalty import deep_penalty, group_penalty
from grip2.engine.schedule import Schedule
from grip2.engine.train import lay_out, train
from grip2.engine.training import TrainingRun
from grip2.statistics import GRIP2, LassoCurves, Staged
from grip2.statistics.held_out import held_out_path
from grip2.statistics.lambda_range import Rehearsal
from grip2.statistics.staged import _choose, _PreparedStages, _staged_importance


class Candidate(Staged):
    """GRIP2 after one lasso; the others differ from it in one thing."""

    network_class = GRIP2

    def __init__(self, first=None, network=None, *, target="residual"):
        first = LassoCurves(curves=False) if first is None else first
        super().__init__(first, self.network_class() if network is None else network, target=target)


class RandomOrderNetwork(GRIP2):
    """Blocks in random order, as in the paper, over the range found by held-out rows."""

    def rehearse(self, problem, *, rng, held_out=None, judged, progress=None):
        found = super().rehearse(problem, rng=rng, held_out=held_out, judged=judged, progress=progress)
        return found._replace(schedule=replace(found.schedule, approach_from=None))


class NoWarmupNetwork(GRIP2):
    """The penalty acts from the first step."""

    def rehearse(self, problem, *, rng, held_out=None, judged, progress=None):
        found = super().rehearse(problem, rng=rng, held_out=held_out, judged=judged, progress=progress)
        return found._replace(schedule=replace(found.schedule, warmup=0))


class WideAscendingNetwork(GRIP2):
    """No calibration: lambda walks up from 0.003 to 1, and every block counts."""

    lambda_min, lambda_max = 0.003, 1.0

    def rehearse(self, problem, *, rng, held_out=None, judged, progress=None):
        config = self.config()
        lo, hi = self._range(problem, config, rng)
        schedule = replace(config.schedule, lambda_min=lo, lambda_max=hi, approach_from=lo, warmup=300)
        found = Rehearsal(schedule, type(self).__name__)
        if not judged:
            return found
        followed = held_out_path(
            problem, config=replace(config, schedule=schedule), rng=rng, held_out=held_out, progress=progress
        )
        return found._replace(loss=followed.judged_loss, null_loss=followed.null_loss, share=followed.share)

    def _range(self, problem, config, rng):
        return self.lambda_min, self.lambda_max


class NoiseAnchoredNetwork(WideAscendingNetwork):
    """The range ends where a network that learns a shuffled response has lost its groups; it begins a decade below."""

    def _range(self, problem, config, rng):
        lo, hi = 1e-3, 2.0
        path = Schedule(lambda_min=lo, lambda_max=hi, approach_from=lo, a_min=0.5, a_max=0.5, block_size=25)
        shuffled = problem.target.take(rng.permutation(len(problem.x)))
        config = replace(config, schedule=path, steps=1500)
        run = train(problem.x, shuffled, config=config, rng=rng, groups=problem.groups)
        norms = run.snapshots.mean(axis=1)
        dead = np.flatnonzero(norms < 0.02 * norms.max())
        anchor = float(run.snapshot_lambda[dead[0]]) if len(dead) else hi
        return anchor / 10, anchor


class RandomOrder(Candidate):
    network_class = RandomOrderNetwork


class NoWarmup(Candidate):
    network_class = NoWarmupNetwork


class WideAscending(Candidate):
    network_class = WideAscendingNetwork


class NoiseAnchored(Candidate):
    network_class = NoiseAnchoredNetwork


class _OwnTraining(Candidate):
    """Trained one table after the other by ``_trained``."""

    def draws_together(self, n_rows, layout):
        return 1

    def _importances(self, draws, response, *, rngs, progress):
        found = []
        for members, rng in zip(draws, rngs, strict=True):
            for_calibration, for_training = rng.spawn(2)
            Z = members.standardised(np.float32)
            choice = _choose(self, Z, members.layout, response, for_calibration, None)
            ready = self.network.prepared(choice.learned.problem, choice.rehearsal, for_calibration, None)
            run = self._trained(ready.problem, ready.config, for_training)
            prepared = _PreparedStages(ready.problem, ready.config, ready.calibration, choice)
            found.append(_staged_importance(self.first, run, prepared))
        return found


class BlockAverages(_OwnTraining):
    """Group norms averaged over the second half of each block, not read at its end."""

    def _trained(self, problem, config, rng):
        every_step = replace(config, snapshot_every_step=True)
        run = train(problem.x, problem.target, config=every_step, rng=rng, groups=problem.groups)
        size = config.schedule.block_size
        late = np.arange(len(run.snapshots)) % size >= size // 2
        kept = late & (run.snapshot_lambda >= config.schedule.lambda_min)
        return replace(run, importance=run.snapshots[kept].mean(axis=0))


class OwnLoop(_OwnTraining):
    """GRIP2 through the training loop of this file; a check of that loop."""

    proximal = False
    skip = False

    def _trained(self, problem, config, rng):
        return _train(problem, config, rng, proximal=self.proximal, skip=self.skip)


class Proximal(OwnLoop):
    """After each step of Adam on the loss, groups are shrunk towards zero and stopped there: exact zeros."""

    proximal = True


class SkipConnection(OwnLoop):
    """A linear path from every column to the output, whose weight belongs to the group of its column."""

    skip = True


def _train(problem, config, rng, *, proximal, skip) -> TrainingRun:
    assert problem.response.task == "regression", "this loop knows squares only"
    assert problem.groups is None, "this loop knows single columns only"
    Z = problem.x
    layout = lay_out(len(Z), Z.shape[1], 1, config, rng)
    parameters = tuple(Layer(jnp.asarray(w, jnp.float32), jnp.asarray(b, jnp.float32)) for w, b in layout.parameters)
    if skip:  # the last column of the first weight goes straight to the output
        first = parameters[0]
        weight = jnp.concatenate([first.weight, jnp.zeros((Z.shape[1], 1), jnp.float32)], axis=1)
        parameters = (first._replace(weight=weight), *parameters[1:])
    n_steps = len(layout.regimes.lambda_)
    row_numbers = layout.row_numbers
    if row_numbers is None:
        row_numbers = np.tile(np.arange(len(Z)), (n_steps, 1))
    plan = [
        jnp.asarray(part) for part in (row_numbers, layout.regimes.lambda_.astype("f"), layout.regimes.a.astype("f"))
    ]
    norms, losses, parameters = _loop(
        parameters, jnp.asarray(Z), jnp.asarray(problem.response.y, jnp.float32), *plan, config.learning_rate, config.deep_l2,
        config.epsilon, proximal=proximal, skip=skip,
    )  # fmt: skip
    taken = layout.regimes.snapshot_steps
    snapshots = np.asarray(norms)[taken]
    return TrainingRun(
        importance=snapshots.mean(axis=0), snapshots=snapshots, snapshot_lambda=layout.regimes.lambda_[taken],
        snapshot_a=layout.regimes.a[taken], gradient_ratio=np.zeros(len(taken)), held_out_loss=None,
        loss_curve=np.asarray(losses), parameters=parameters, stop_reason="all blocks done",
    )  # fmt: skip


@partial(jax.jit, static_argnames=("proximal", "skip"))
def _loop(parameters, x, y, row_numbers, lambdas, shapes, rate, deep_l2, epsilon, *, proximal, skip):
    adam = optax.adam(rate)

    def outputs(parameters, xb):
        if not skip:
            return forward(parameters, xb)
        first = parameters[0]
        hidden = (first._replace(weight=first.weight[:, :-1]), *parameters[1:])
        return forward(hidden, xb) + xb @ first.weight[:, -1:]

    def objective(parameters, xb, yb, strength, shape):
        loss = jnp.mean((outputs(parameters, xb)[:, 0] - yb) ** 2)
        penalty = 0.0 if proximal else strength * group_penalty(parameters[0].weight, shape, epsilon)
        return loss + penalty + deep_l2 * deep_penalty(parameters), loss

    def step(carry, now):
        parameters, state = carry
        chosen, strength, shape = now
        gradient, loss = jax.grad(objective, has_aux=True)(parameters, x[chosen], y[chosen], strength, shape)
        updates, state = adam.update(gradient, state)
        parameters = optax.apply_updates(parameters, updates)
        first = parameters[0].weight
        norm = jnp.sqrt(jnp.sum(first**2, axis=1, keepdims=True) + epsilon)
        if proximal:  # of lambda ||w||^a, linearised at the present norm
            first = first * jnp.maximum(0.0, 1.0 - rate * strength * shape * norm ** (shape - 2.0))
            parameters = (parameters[0]._replace(weight=first), *parameters[1:])
        return (parameters, state), (jnp.sqrt(jnp.sum(first**2, axis=1)), loss)

    (parameters, _), (norms, losses) = jax.lax.scan(
        step, (parameters, adam.init(parameters)), (row_numbers, lambdas, shapes)
    )
    return norms, losses, parameters
