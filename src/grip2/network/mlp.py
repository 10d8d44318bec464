"""A plain multilayer perceptron: ``depth`` hidden ReLU layers of width ``hidden``.

The first weight matrix is stored as (inputs, hidden): row ``j`` is the paper's group ``w_j``, the j-th column of its
first-layer matrix ``W`` (section 2.2), the "gate" through which input ``j`` enters the network.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = Any  # a NumPy or JAX array; the engine is the only place where both occur


class Layer(NamedTuple):
    """One affine map ``x @ weight + bias``."""

    weight: Array
    bias: Array


Parameters = tuple[Layer, ...]


def initialise(
    n_inputs: int, hidden: int, depth: int, n_outputs: int, *, rng: np.random.Generator
) -> Parameters:
    """Draw starting parameters that treat every input column alike.

    All entries of a weight matrix are independent draws from one distribution, N(0, 2 / fan-in) below a ReLU (He et al.)
    and N(0, 1 / fan-in) for the output layer, and biases start at zero; so the starting point is exchangeable over input
    columns. The paper does not state its initialisation.
    """
    sizes = [n_inputs, *([hidden] * depth), n_outputs]
    layers = []
    for index, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        gain = 1.0 if index == depth else 2.0
        weight = rng.standard_normal((fan_in, fan_out)) * np.sqrt(gain / fan_in)
        layers.append(Layer(weight, np.zeros(fan_out)))
    return tuple(layers)


def forward(parameters: Parameters, x: Array) -> Array:
    """Network outputs, shape (rows, outputs)."""
    for layer in parameters[:-1]:
        x = jax.nn.relu(x @ layer.weight + layer.bias)
    return x @ parameters[-1].weight + parameters[-1].bias


def group_norms(first_weight: Array) -> Array:
    """Group activities ``||w_j||_2`` of every input column (eq. 3)."""
    return jnp.sqrt(jnp.sum(first_weight * first_weight, axis=-1))
