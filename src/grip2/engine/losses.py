"""Prediction losses: squared error, logistic, softmax cross-entropy; one per kind of response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from grip2.errors import Grip2Error

REGRESSION = "regression"
CLASSIFICATION = "classification"
TASKS = (REGRESSION, CLASSIFICATION)

Loss = Callable[[Any, Any], Any]


def mean_squared_error(outputs: Any, y: Any) -> Any:
    return jnp.mean((outputs[:, 0] - y) ** 2)


def logistic(outputs: Any, y: Any) -> Any:
    """Binary cross-entropy of labels 0/1 for one logit per row."""
    logits = outputs[:, 0]
    return jnp.mean(jax.nn.softplus(logits) - y * logits)


def softmax_cross_entropy(outputs: Any, y: Any) -> Any:
    """Cross-entropy of integer labels 0..K-1 for K logits per row."""
    labels = y.astype(jnp.int32)
    picked = jnp.take_along_axis(outputs, labels[:, None], axis=1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(outputs, axis=1) - picked)


LOSSES: dict[str, Loss] = {
    "mean_squared_error": mean_squared_error,
    "logistic": logistic,
    "softmax_cross_entropy": softmax_cross_entropy,
}


def choose_loss(task: str, y: np.ndarray) -> tuple[str, int]:
    """The loss for a task and the number of network outputs it needs.

    For ``"classification"`` ``y`` holds class numbers 0..K-1.
    """
    if task == REGRESSION:
        return "mean_squared_error", 1
    if task == CLASSIFICATION:
        n_classes = int(np.max(y)) + 1
        return ("logistic", 1) if n_classes <= 2 else ("softmax_cross_entropy", n_classes)
    raise Grip2Error(f"task must be one of {TASKS}, got {task!r}.")
