"""Responses: how the acting units of a table act, and what is observed of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grip2.responses import times_and_events

# Signal divided by noise, in standard deviations, for measurements; other responses get this multiple of a standardised signal.
STRENGTH = {"regression": 1.0, "classification": 1.6, "counts": 0.7, "survival": 0.9}


def _products(Z: np.ndarray) -> np.ndarray:
    half = Z.shape[1] // 2
    return np.asarray((Z[:, :half] * Z[:, half : 2 * half]).sum(axis=1))


# Of the acting columns (rows, acting), all with effects of one sign: null columns correlated with them are in most danger.
SIGNALS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda Z: np.zeros(len(Z)),
    "linear": lambda Z: Z.sum(axis=1),
    "abs": lambda Z: np.abs(Z).sum(axis=1),
    "product": _products,
}
TASKS = tuple(STRENGTH)


def respond(signal: np.ndarray, task: str, rng: np.random.Generator) -> np.ndarray:
    """y of the task named for a signal (rows,)."""
    spread = float(signal.std())
    eta = STRENGTH[task] * (signal - signal.mean()) / spread if spread > 0 else signal
    if task == "regression":
        return np.asarray(eta + rng.standard_normal(len(eta)))
    if task == "classification":
        return np.asarray(rng.random(len(eta)) < 1 / (1 + np.exp(-eta)), dtype=int)
    if task == "counts":
        return np.asarray(rng.poisson(np.exp(np.clip(1.0 + eta, -10, 6))))
    times = rng.exponential(np.exp(-eta))
    censored = rng.exponential(2.0, len(eta))
    return times_and_events(np.minimum(times, censored), times <= censored)
