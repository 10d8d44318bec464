"""The group quasi-norm on the first layer and the l2 penalty on the deeper ones (eq. 2 and the appendix's GRIP objective)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import Parameters, squared_group_norms


def group_penalty(first_weight: Any, a: Any, epsilon: Any, groups: InputGroups | None = None) -> Any:
    """``sum_j (||w_j||^2 + epsilon)^(a/2)``: Omega_a of the appendix, smoothed so that it has a gradient at zero.

    With groups of several columns it is ``sum_g d_g (||W_g||^2 / d_g + epsilon)^(a/2)``, W_g the weights of the d_g columns of
    group g. For a = 1 this is ``sqrt(d_g) ||W_g||``, the group lasso, whose factor offsets that noise in d columns has a gradient
    of norm about sqrt(d). For any a, every column feels the force of a column by itself, with the root mean square over its group
    in place of its own norm; so noise, which is as strong in a column of a group as in any other, is held down alike
    whatever the size of the group. sqrt(d) would be too little for a < 1: weights spread evenly over d columns would cost
    ``d^((a - 1) / 2)`` of what they cost column by column. The factor depends on the unit alone: all its members pay alike.
    """
    squared_norms = squared_group_norms(first_weight, groups)
    if groups is None:
        return jnp.sum((squared_norms + epsilon) ** (0.5 * a))
    return jnp.sum(groups.sizes * (squared_norms / groups.sizes + epsilon) ** (0.5 * a))


def deep_penalty(parameters: Parameters) -> Any:
    """``1/2 sum_{l >= 1} ||W^(l)||_F^2``: weights of the deeper layers only, biases left free."""
    return 0.5 * sum(jnp.sum(layer.weight**2) for layer in parameters[1:])
