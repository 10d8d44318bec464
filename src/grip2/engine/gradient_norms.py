"""Sizes of the two gradients on the first layer, that of the loss and that of the penalty (section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache
from grip2.engine.input_groups import InputGroups
from grip2.engine.mlp import Parameters, forward
from grip2.engine.penalty import group_penalty
from grip2.engine.target import Target


def loss_gradient_norm(parameters: Parameters, x: np.ndarray, target: Target) -> float:
    """``||grad_W L||`` on the first layer of a network, over all given rows."""
    enable_cache()
    rows, y = jnp.asarray(x, jnp.float32), jnp.asarray(target.y, jnp.float32)

    def loss(weight: Any) -> Any:
        outputs = forward((parameters[0]._replace(weight=weight), *parameters[1:]), rows)
        return target.loss(outputs if target.logits is None else outputs + jnp.asarray(target.logits), y, jnp)

    return float(jnp.linalg.norm(jax.grad(loss)(jnp.asarray(parameters[0].weight))))


def penalty_gradient_norms(
    parameters: Parameters, geometries: Sequence[float], epsilon: float, groups: InputGroups | None = None
) -> list[float]:
    """``||grad_W Omega_a||`` on the first layer for each geometry ``a``."""
    enable_cache()
    weight = jnp.asarray(parameters[0].weight)
    return [float(jnp.linalg.norm(jax.grad(group_penalty)(weight, a, epsilon, groups))) for a in geometries]
