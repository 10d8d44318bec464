"""DeepPINK's network: its two ways of applying filters are one computation, and what a training run promises."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from grip2.engine import filter_network, host_loop
from grip2.engine.filter_network import (
    FilterNetworkConfig,
    filter_network_forward,
    initialise_filter_network,
    train_filter_network,
)
from grip2.engine.host_loop import NonFiniteTrainingError, minibatches
from grip2.responses import Measurement


@pytest.mark.parametrize("members", [2, 4])
@pytest.mark.parametrize("hidden", [1, 4])
def test_narrow_layers_absorb_the_filters(hidden, members, monkeypatch):
    config = FilterNetworkConfig(
        hidden=hidden, depth=2, steps=1, batch_size=8, learning_rate=1e-3, l1=0.0, activation="elu", filter_start=0.1
    )
    rng = np.random.default_rng(0)
    parameters = initialise_filter_network(members, 6, 1, config, rng)
    parameters = jax.tree.map(lambda leaf: leaf + 0.3 * rng.standard_normal(leaf.shape), parameters)
    x = rng.standard_normal((20, 6 * members))

    def outputs_and_gradient():
        with jax.enable_x64(True):
            total = jax.value_and_grad(lambda own: (filter_network_forward(own, x, "elu") ** 2).sum())(parameters)
        return jax.tree.leaves(jax.tree.map(np.asarray, total))

    assert hidden <= filter_network.NARROW
    absorbed = outputs_and_gradient()
    monkeypatch.setattr(filter_network, "NARROW", 0)
    for first, second in zip(absorbed, outputs_and_gradient(), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-12)


def configuration(**changes):
    settings = {"hidden": 4, "depth": 2, "steps": 70, "batch_size": 8, "learning_rate": 1e-3, "l1": 1e-3}
    return FilterNetworkConfig(**({**settings, "activation": "elu", "filter_start": 0.1} | changes))


def problem(n=40, p=3):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 2 * p))
    return x, x[:, 0] + 0.1 * rng.standard_normal(n)


def trained(x, y, config, seeds=(1, 2), progress=None):
    rngs = [np.random.default_rng(seed) for seed in seeds]
    target = Measurement(y).target()
    return train_filter_network([x], target, members=2, config=config, rngs=rngs, progress=progress)


@pytest.mark.parametrize("capacity", [1, 32])
def test_chunks_do_not_change_the_run(monkeypatch, capacity):
    whole = trained(*problem(), configuration())
    calls = []
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", capacity)
    chunked = trained(*problem(), configuration(), progress=lambda *done_and_total: calls.append(done_and_total))
    assert calls == [(min(done, 70), 70) for done in range(capacity, 70 + capacity, capacity)]
    for one, other in zip(whole, chunked, strict=True):
        np.testing.assert_allclose(other.loss_curve, one.loss_curve, rtol=1e-5)
        np.testing.assert_allclose(other.parameters.filters, one.parameters.filters, rtol=1e-5)


def test_caller_can_stop_a_run(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 16)
    whole = trained(*problem(), configuration())
    stopped = trained(*problem(), configuration(), progress=lambda done, total: done < 32)
    for one, other in zip(whole, stopped, strict=True):
        assert one.stop_reason == "all steps done"
        assert other.stop_reason == "stopped by the caller after 32 of 70 steps"
        np.testing.assert_array_equal(other.loss_curve, one.loss_curve[:32])


@pytest.mark.parametrize("capacity", [1, 8, 4096])
def test_the_step_at_which_training_became_non_finite_is_named(monkeypatch, capacity):
    """One row has no finite y: its first minibatch is the step to name, of the network that meets it first."""
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", capacity)
    x, y = problem()
    y[17] = np.nan

    def first_step(seed):
        for_batches = np.random.default_rng(seed).spawn(2)[1]
        return 1 + int(np.flatnonzero((minibatches(40, 3, 70, for_batches) == 17).any(axis=1))[0])

    steps = [first_step(seed) for seed in (1, 2)]
    assert min(steps) > 1
    assert steps[0] != steps[1]
    with pytest.raises(NonFiniteTrainingError, match=rf"non-finite at step {min(steps)} \(DeepPINK"):
        trained(x, y, configuration(batch_size=3))
