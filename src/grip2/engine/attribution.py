"""Input attributions of a trained network: gradients, and SHAP values by DeepLIFT's rescale rule.

Both are computed in batches of rows on the device; NumPy goes in and comes out.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from grip2.engine.compilation import enable_cache
from grip2.engine.mlp import Parameters, forward

# Below this difference of pre-activations the rescale rule would divide by zero; the derivative is its limit.
SMALLEST_DIFFERENCE = 1e-6
# Rows times background rows that are propagated at once.
PAIRS_PER_BATCH = 4096


def mean_absolute_gradient(
    parameters: Parameters, x: np.ndarray, *, power: float = 1.0, batch_size: int = 1024
) -> np.ndarray:
    """``mean_i |d g(x_i) / d x_ij|^power`` for every input column j, summed over the network's outputs."""
    enable_cache()
    total = np.zeros(x.shape[1])
    for start in range(0, len(x), batch_size):
        total += np.asarray(_gradient_sum(parameters, *_padded(x[start : start + batch_size], batch_size), power))
    return total / len(x)


def input_gradients(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """``d g_k(x_i) / d x_ij`` as an array (outputs, rows, inputs)."""
    enable_cache()
    return np.asarray(_gradients(parameters, jnp.asarray(x, parameters[0].weight.dtype)))


def mean_absolute_shap(parameters: Parameters, x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """``mean_i |SHAP_j(x_i)|`` for every input column j, summed over the outputs of the network."""
    return np.asarray(np.abs(shap_values(parameters, x, background)).mean(axis=1, dtype=np.float64).sum(axis=0))


def shap_values(parameters: Parameters, x: np.ndarray, background: np.ndarray) -> np.ndarray:
    """SHAP values (outputs, rows, inputs) against a background set.

    The approximation of Lundberg & Lee (2017): DeepLIFT's rescale multipliers (Shrikumar et al. 2017) of a
    row against every background row, times the difference of the inputs, averaged over the background.
    Complete: over the inputs they sum to ``g(x) - mean g(background)``.
    """
    enable_cache()
    dtype = parameters[0].weight.dtype
    reference = jnp.asarray(background, dtype)
    batch_size = max(1, PAIRS_PER_BATCH // len(background))
    found = []
    for start in range(0, len(x), batch_size):
        rows = x[start : start + batch_size]
        padded, _ = _padded(rows, batch_size)
        found.append(np.asarray(_shap(parameters, jnp.asarray(padded, dtype), reference))[:, : len(rows)])
    return np.concatenate(found, axis=1)


def _padded(rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows filled up to ``size``, so that one shape is compiled, and a mask of the true ones."""
    mask = np.arange(size) < len(rows)
    return np.concatenate([rows, np.zeros((size - len(rows), rows.shape[1]), rows.dtype)]), mask


@jax.jit
def _gradients(parameters: Parameters, x: Any) -> Any:
    outputs, pull_back = jax.vjp(functools.partial(forward, parameters), x)

    def of_output(k: Any) -> Any:
        # Rows do not mix, so the gradient of a column sum holds every row's own gradient.
        return pull_back(jnp.zeros_like(outputs).at[:, k].set(1.0))[0]

    return jax.lax.map(of_output, jnp.arange(outputs.shape[1]))


@jax.jit
def _gradient_sum(parameters: Parameters, x: Any, mask: Any, power: Any) -> Any:
    gradients = _gradients(parameters, x.astype(parameters[0].weight.dtype))
    return jnp.sum(jnp.abs(gradients) ** power * mask[None, :, None], axis=(0, 1))


@jax.jit
def _shap(parameters: Parameters, x: Any, background: Any) -> Any:
    references = _pre_activations(parameters, background)
    actual = _pre_activations(parameters, x)
    ratios = [_rescale(a[:, None, :], b[None, :, :]) for a, b in zip(actual, references, strict=True)]

    def of_output(k: Any) -> Any:
        multiplier = jnp.broadcast_to(
            parameters[-1].weight[:, k], (len(x), len(background), len(parameters[-1].weight))
        )
        for layer, ratio in zip(parameters[-2::-1], ratios[::-1], strict=True):
            multiplier = (multiplier * ratio) @ layer.weight.T
        return jnp.mean(multiplier * (x[:, None, :] - background[None, :, :]), axis=1)

    return jax.lax.map(of_output, jnp.arange(parameters[-1].weight.shape[1]))


def _pre_activations(parameters: Parameters, x: Any) -> list[Any]:
    found = []
    for layer in parameters[:-1]:
        found.append(x @ layer.weight + layer.bias)
        x = jax.nn.relu(found[-1])
    return found


def _rescale(actual: Any, reference: Any) -> Any:
    """Multiplier of a ReLU: change of output over change of input (Shrikumar et al. 2017, section 3.5.1)."""
    difference = actual - reference
    tiny = jnp.abs(difference) < SMALLEST_DIFFERENCE
    change = jax.nn.relu(actual) - jax.nn.relu(reference)
    return jnp.where(tiny, (actual > 0).astype(difference.dtype), change / jnp.where(tiny, 1.0, difference))
