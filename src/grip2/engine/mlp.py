"""A plain multilayer perceptron: ``depth`` hidden ReLU layers of width ``hidden``.

The first weight matrix is stored as (inputs, hidden): row ``j`` is the paper's group ``w_j``, the j-th column of its
first-layer matrix ``W`` (section 2.2), the "gate" through which input ``j`` enters the network.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.input_groups import InputGroups

Array = Any  # a NumPy or JAX array; the engine is the only place where both occur


class Layer(NamedTuple):
    """One affine map ``x @ weight + bias``."""

    weight: Array
    bias: Array


Parameters = tuple[Layer, ...]


def initialise(n_inputs: int, hidden: int, depth: int, n_outputs: int, *, rng: np.random.Generator) -> Parameters:
    """Draw starting parameters that treat every input column alike.

    Weights and biases of a layer are independent draws from one uniform distribution on +-1 / sqrt(fan-in), so the
    starting point is exchangeable over input columns. The paper does not state its initialisation; this one, PyTorch's
    default, starts with smaller group norms than He's and finds more on the paper's synthetic data.
    """
    sizes = [n_inputs, *([hidden] * depth), n_outputs]
    layers = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = 1.0 / np.sqrt(fan_in)
        weight = rng.uniform(-bound, bound, size=(fan_in, fan_out))
        layers.append(Layer(weight, rng.uniform(-bound, bound, size=fan_out)))
    return tuple(layers)


def forward(parameters: Parameters, x: Array) -> Array:
    """Network outputs, shape (rows, outputs)."""
    for layer in parameters[:-1]:
        x = jax.nn.relu(x @ layer.weight + layer.bias)
    return x @ parameters[-1].weight + parameters[-1].bias


def squared_group_norms(first_weight: Array, groups: InputGroups | None = None) -> Array:
    """``||w_g||^2`` of every group of input columns; None: of every column."""
    of_inputs = jnp.sum(first_weight * first_weight, axis=-1)
    return of_inputs if groups is None else groups.sums(of_inputs)


def group_activities(first_weight: Array, groups: InputGroups | None = None) -> Array:
    """Group activities ``||w_j||_2`` (eq. 3); of several columns, the root of the mean of their squared norms.

    The sum in place of the mean would favour large groups: one of d columns of noise that stays open has a norm of sqrt(d)
    times that of one such column, and would come before single columns that act.
    """
    squared_norms = squared_group_norms(first_weight, groups)
    return jnp.sqrt(squared_norms if groups is None else squared_norms / groups.sizes)
