"""The group quasi-norm on the first layer and the l2 penalty on the deeper ones (eq. 2 and the appendix's GRIP objective)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import Parameters, squared_group_norms


def group_penalty(first_weight: Any, a: Any, epsilon: Any, groups: InputGroups | None = None) -> Any:
    """``sum_j (||w_j||^2 + epsilon)^(a/2)``: Omega_a of the appendix, smoothed so that it has a gradient at zero.

    With groups of several columns it is ``sum_g sqrt(d_g) (||W_g||^2 + epsilon)^(a/2)``, W_g the weights of the d_g columns of
    group g, the group lasso's for a = 1: noise in d columns has a gradient of norm about sqrt(d), and the factor offsets it.
    It depends on the unit alone, so all its members pay alike. For a < 1 noise in large groups is still held down less than in
    single columns, which `group_activities` makes up for; ``d_g^(1 - a/2)``, which holds it down alike, made groups that act so
    expensive that the lambda of best prediction left single columns of noise open.
    """
    squared_norms = squared_group_norms(first_weight, groups)
    if groups is None:
        return jnp.sum((squared_norms + epsilon) ** (0.5 * a))
    sizes = jnp.asarray(groups.sizes, squared_norms.dtype)
    return jnp.sum(jnp.sqrt(sizes) * (squared_norms + epsilon) ** (0.5 * a))


def deep_penalty(parameters: Parameters) -> Any:
    """``1/2 sum_{l >= 1} ||W^(l)||_F^2``: weights of the deeper layers only, biases left free."""
    return 0.5 * sum(jnp.sum(layer.weight**2) for layer in parameters[1:])
