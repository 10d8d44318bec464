"""Simulated responses of many kinds, from linear to purely nonlinear: a test bed for methods that claim to need no tuning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grip2._random import RandomState, generator_from
from grip2.datasets.synthetic import SimulatedTable, ar1_rows, check_shape, with_noise
from grip2.errors import Grip2Error, did_you_mean

Signal = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]

_HIDDEN = 32


def _products(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """A weighted sum of products of disjoint pairs of features."""
    half = Z.shape[1] // 2
    return np.asarray((Z[:, :half] * Z[:, half:]) @ b[:half])


def _interactions(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """Linear effects of half of the features, plus products of each with one of the other half; both of equal variance."""
    half = Z.shape[1] // 2
    linear, products = Z[:, :half] @ b[:half], (Z[:, :half] * Z[:, half:]) @ b[half:]
    return np.asarray(linear / linear.std() + products / products.std())


def _gates(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """A weighted sum of (x > 0) z over disjoint pairs of features: z acts where x is positive."""
    half = Z.shape[1] // 2
    return np.asarray(((Z[:, :half] > 0) * Z[:, half:]) @ b[:half])


def _switches(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """A weighted sum of sign(x) sign(z) over disjoint pairs of features."""
    half = Z.shape[1] // 2
    return np.asarray((np.sign(Z[:, :half]) * np.sign(Z[:, half:])) @ b[:half])


def _cosines(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """A weighted sum of cos(2x) z over disjoint pairs of features."""
    half = Z.shape[1] // 2
    return np.asarray((np.cos(2 * Z[:, :half]) * Z[:, half:]) @ b[:half])


def _three_way(Z: np.ndarray, b: np.ndarray, _: np.random.Generator) -> np.ndarray:
    """A weighted sum of products of disjoint triples; two or four features that are left over act in products of pairs."""
    k = Z.shape[1]
    if k < 6:
        raise Grip2Error(f"make_family: n_signals must be at least 6 for the family 'three_way', got {k}.")
    triples = (k - {0: 0, 1: 4, 2: 2}[k % 3]) // 3
    one, two, three = (Z[:, i * triples : (i + 1) * triples] for i in range(3))
    rest = Z[:, 3 * triples :]
    pairs = rest.shape[1] // 2
    terms = np.hstack([one * two * three, rest[:, :pairs] * rest[:, pairs:]])
    return np.asarray(terms @ b[: triples + pairs])


def _network(Z: np.ndarray, _: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random two-layer network: 32 ReLU units with normal weights and random thresholds."""
    inner = rng.standard_normal((Z.shape[1], _HIDDEN)) / np.sqrt(Z.shape[1])
    hidden = np.maximum(Z @ inner + 0.5 * rng.standard_normal(_HIDDEN), 0.0)
    return np.asarray(hidden @ rng.standard_normal(_HIDDEN))


# Arguments of a signal: Z, the columns in the support; b, their weights; a generator for any further random numbers.
FAMILIES: dict[str, Signal] = {
    "linear": lambda Z, b, _: Z @ b,
    "sine": lambda Z, b, _: np.sin(Z @ b / np.sqrt(len(b))),
    "abs": lambda Z, b, _: np.abs(Z) @ b,
    "products": _products,
    "signs": lambda Z, b, _: np.sign(Z - 0.5) @ b,
    "network": _network,
    "interactions": _interactions,
    "gates": _gates,
    "switches": _switches,
    "cosines": _cosines,
    "three_way": _three_way,
    "cubic": lambda Z, b, _: Z**3 @ b,
}
IN_PAIRS = frozenset({"products", "interactions", "gates", "switches", "cosines", "three_way"})


def make_family(
    family: str,
    n: int = 2000,
    p: int = 200,
    rho: float = 0.5,
    snr: float = 0.5,
    *,
    n_signals: int = 20,
    truth: RandomState = 0,
    random_state: RandomState = None,
) -> SimulatedTable:
    """A response of one family of signals on ``n_signals`` of ``p`` normal features with AR(1) covariance.

    The families, with weights b of random signs and absolute values uniform on [0.5, 1.5]:

    - "linear": sum of b_j x_j;
    - "sine": of a linear index, as in the paper;
    - "abs": sum of b_j abs(x_j);
    - "signs": sum of b_j sign(x_j - 0.5);
    - "cubic": sum of b_j x_j^3;
    - "network": a random two-layer ReLU network;
    - "interactions": linear in half of the features, plus products of these with the other half, both of equal variance.

    Over disjoint pairs (x, z) of the features, so that every feature acts in one term:

    - "products": sum of b x z;
    - "gates": sum of b (x > 0) z;
    - "switches": sum of b sign(x) sign(z);
    - "cosines": sum of b cos(2x) z;
    - "three_way": products of disjoint triples. ``n_signals`` is at least 6; if it is not a multiple of 3, the last two
      (remainder 2) or four (remainder 1) features act in products of pairs.

    ``truth`` seeds the choice of the support and of the weights; ``random_state`` seeds X and the noise. The noise variance
    is set so that ``Var(signal) / sigma^2 = snr``.
    """
    check_shape(n, p, rho, snr)
    if family not in FAMILIES:
        raise Grip2Error(
            f"make_family: family must be one of {', '.join(FAMILIES)}, got {family!r}.{did_you_mean(family, FAMILIES)}"
        )
    if family in IN_PAIRS and (n_signals % 2 or not 2 <= n_signals <= p):
        raise Grip2Error(
            f"make_family: n_signals must be an even number from 2 to p = {p} for the family {family!r}, got {n_signals}."
        )
    if not 1 <= n_signals <= p:
        raise Grip2Error(f"make_family: n_signals must be a number from 1 to p = {p}, got {n_signals}.")
    for_truth = generator_from(truth)
    for_rows, for_noise = generator_from(random_state).spawn(2)
    support = for_truth.choice(p, n_signals, replace=False)
    weights = for_truth.choice([-1.0, 1.0], n_signals) * for_truth.uniform(0.5, 1.5, n_signals)
    X = ar1_rows(n, p, rho, for_rows)
    signal = FAMILIES[family](X[:, support], weights, for_truth)
    return with_noise(X, signal, np.sort(support), rho, snr, for_noise)
