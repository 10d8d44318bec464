"""The two ways of applying DeepPINK's filters, to the rows or to the weights, are one computation."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from grip2.engine import filter_network
from grip2.engine.filter_network import FilterNetworkConfig, filter_network_forward, initialise_filter_network


@pytest.mark.parametrize("hidden", [1, 4])
def test_narrow_layers_absorb_the_filters(hidden, monkeypatch):
    config = FilterNetworkConfig(
        hidden=hidden, depth=2, steps=1, batch_size=8, learning_rate=1e-3, l1=0.0, activation="elu", filter_start=0.1
    )
    rng = np.random.default_rng(0)
    parameters = initialise_filter_network(6, 1, config, rng)
    parameters = jax.tree.map(lambda leaf: leaf + 0.3 * rng.standard_normal(leaf.shape), parameters)
    x = rng.standard_normal((20, 12))

    def outputs_and_gradient():
        with jax.enable_x64(True):
            total = jax.value_and_grad(lambda own: (filter_network_forward(own, x, "elu") ** 2).sum())(parameters)
        return jax.tree.leaves(jax.tree.map(np.asarray, total))

    assert hidden <= filter_network.NARROW
    absorbed = outputs_and_gradient()
    monkeypatch.setattr(filter_network, "NARROW", 0)
    for first, second in zip(absorbed, outputs_and_gradient(), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-12)
