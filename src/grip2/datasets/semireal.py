"""Semi-real data (section 4.2, appendix C.1): real covariates and a response simulated by a random two-layer ReLU network."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grip2._random import RandomState, generator_from
from grip2.errors import Grip2Error


@dataclass(frozen=True)
class SemiRealTable:
    """The given covariates, a simulated ("injected") response, and the features it depends on."""

    X: np.ndarray  # (n, p), as given
    y: np.ndarray  # (n,)
    support: np.ndarray  # indices of the features that y depends on
    signal: np.ndarray  # (n,) the noiseless mean of y


def make_semireal(
    X: np.ndarray,
    *,
    share: float = 0.2,
    snr: float = 0.2,
    hidden: int = 64,
    support: RandomState | np.ndarray = 0,
    weights: RandomState = None,
    random_state: RandomState = None,
) -> SemiRealTable:
    """``y = relu(X_S W1) W2 + noise`` with standard Gaussian weights and ``Var(signal) / sigma^2 = snr``.

    The support ``S`` holds ``ceil(share * p)`` columns. ``support`` seeds the choice of these columns only (or lists them), so
    the support is the same in every trial. ``random_state`` seeds weights and noise, which are redrawn (appendix C.1: "we
    repeat injection independently across trials"). If ``weights`` is given, it seeds the weights separately, and only the
    noise is redrawn. The paper does not state the width of the network; the default of ``hidden`` is our choice.
    """
    X = np.asarray(X)
    if X.ndim != 2:
        raise Grip2Error(f"make_semireal: X must be two-dimensional, got shape {X.shape}.")
    if not 0 < share <= 1:
        raise Grip2Error(f"make_semireal: share must be in (0, 1], got {share}.")
    if not snr > 0:
        raise Grip2Error(f"make_semireal: snr must be positive, got {snr}.")
    if hidden < 1:
        raise Grip2Error(f"make_semireal: hidden must be at least 1, got {hidden}.")
    chosen = _support(X.shape[1], share, support)
    for_weights, for_noise = generator_from(random_state).spawn(2)
    if weights is not None:
        for_weights = generator_from(weights)
    W1 = for_weights.standard_normal((len(chosen), hidden))
    W2 = for_weights.standard_normal(hidden)
    signal = np.maximum(X[:, chosen].astype(float) @ W1, 0.0) @ W2
    noise = for_noise.standard_normal(len(X)) * np.sqrt(signal.var() / snr)
    return SemiRealTable(X, signal + noise, chosen, signal)


def _support(p: int, share: float, support: RandomState | np.ndarray) -> np.ndarray:
    if not isinstance(support, np.ndarray):
        # Round before ceil: floating-point error in share * p must not add a feature (0.07 * 100 > 7).
        size = math.ceil(round(share * p, 9))
        return np.sort(generator_from(support).choice(p, size, replace=False))
    chosen = np.unique(support.astype(int))
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= p:
        raise Grip2Error(f"make_semireal: support must list columns from 0 to {p - 1}, got {support}.")
    return chosen
