"""The matrix products of a training step and nothing else, by NumPy: forward, weight gradients, gradients for the layer below."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .networks import Network


def steps(*, deep_l2: float = 0.0, **shape: int) -> Callable[[], dict[str, Any]]:
    network = Network(**shape)
    pairs = of_one_step(network.widths, network.batch or network.rows)

    def call() -> dict[str, Any]:
        for _ in range(network.steps):
            for left, right in pairs:
                left @ right
        return {"count": network.steps}

    return call


def of_one_step(widths: list[int], batch: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    pairs = []
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        x, weight, delta = matrix(batch, fan_in), matrix(fan_in, fan_out), matrix(batch, fan_out)
        pairs += [(x, weight), (x.T, delta)]
        if layer > 0:
            pairs.append((delta, weight.T))
    return pairs
