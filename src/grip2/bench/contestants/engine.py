"""Training steps of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grip2.engine.schedule import Schedule
from grip2.engine.train import train, train_batch
from grip2.engine.training import TrainingConfig
from grip2.responses import Measurement

from .networks import Network


def steps(*, members: int = 1, deep_l2: float = 0.0, **shape: int) -> Callable[[], dict[str, Any]]:
    """``members`` networks at once; the time is that of one step of one of them."""
    network = Network(**shape)
    x, y = network.table()
    target = Measurement(y.astype(float)).target()
    config = TrainingConfig(
        schedule=Schedule(),
        hidden=network.hidden,
        depth=network.depth,
        batch_size=network.batch or None,
        steps=network.steps,
        deep_l2=deep_l2,
    )

    def call() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        if members == 1:
            train(x, target, config=config, rng=rng)
        else:
            train_batch(x, target, config=config, rngs=rng.spawn(members))
        return {"count": network.steps * members}

    return call
