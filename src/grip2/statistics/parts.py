"""What comes before the network (not in the paper): parts, how their importances are added, how they lead the network.

A model of single features sees with few rows what it is made for; the network sees all but pays for its freedom. Importances
are added in one unit: the share of the response's variance (of the deviance, for classes) that each part explains on held-out
rows, divided among features in proportion to |S_j - S_j+p|. A part that predicts nothing weighs nothing. All columns, so both
members of every pair, are treated alike.

Where the features found also act together, a network on the residual pays the penalty of every group anew for a small gain.
There it learns the whole response instead, and `magnification` makes the groups that were found cheaper for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# A lasso's share counts as evidence in full when it is far above this many n-ths of the response's variance.
CHANCE_ROWS = 20


@dataclass(frozen=True)
class Part:
    """A model of all columns of [X, Xk] or of functions of them, and what it leaves to those that come after it."""

    name: str
    strength: np.ndarray  # (2p,) |coefficient| or probability
    explained: float  # share of the variance or deviance of the whole response
    response: np.ndarray  # (rows,) standardised residual, or the class numbers
    offset: np.ndarray | None  # (rows, outputs) logits, for classes
    penalty: list[float]  # the lasso's lambda, one for each fit
    scale: float = 1.0  # deviation of the residual, where that of the whole response is 1
    probability: bool = False  # strength is the probability of having an effect


def held_out_share(part: Part, y: np.ndarray, held_out: np.ndarray) -> float:
    """Share of the variance of rows held out that a part fitted to the others explains: 0 if it predicts a constant."""
    null = float(np.mean((y[held_out] - y.mean()) ** 2))  # what is left has mean 0 over all rows, too
    left = float(np.mean(part.response[held_out] ** 2)) * part.scale**2
    return max(0.0, 1.0 - left / null) if null > 0 else 0.0


def combined(parts: list[tuple[np.ndarray, float]]) -> np.ndarray:
    """Importances (2p,) of several parts, each with its explained share, in units of explained share."""
    total = np.zeros_like(parts[0][0], dtype=float)
    if not any(explained > 0 for _, explained in parts):
        # Nothing predicts: the parts count alike.
        parts = [(strength, 1.0) for strength, _ in parts]
    for strength, explained in parts:
        p = len(strength) // 2
        size = float(np.abs(strength[:p] - strength[p:]).sum())
        if size > 0:
            total += explained * strength / size
    return total


def magnification(parts: Sequence[Part], n_rows: int) -> np.ndarray:
    """(2p,) factors from 1 to 2 for the columns of a network that learns the whole response.

    A magnified column needs smaller weights for the same effect, so its group costs less. Both members of a pair get one
    factor: 1 + the probability that the pair has an effect or, of lassos, 2 for the pair of which they make most; the less
    lassos predict in all, the nearer to 1.
    """
    if all(part.probability for part in parts):
        p = len(parts[0].strength) // 2
        return np.tile(1.0 + np.minimum(1.0, sum(part.strength[:p] + part.strength[p:] for part in parts)), 2)
    strength = combined([(part.strength, part.explained) for part in parts])
    p = len(strength) // 2
    of_pair = strength[:p] + strength[p:]
    explained = sum(part.explained for part in parts)
    if explained <= 0 or of_pair.max() <= 0:
        return np.ones(2 * p)
    trust = explained / (explained + CHANCE_ROWS / n_rows)
    return np.tile(1.0 + trust * of_pair / of_pair.max(), 2)


# How a part is told to a user.
TOLD = {
    "additive": "a Bayesian additive model of pairs",
    "lasso": "cross-validated lasso",
    "curves": "cross-validated lasso on bent columns",
}


def describe(parts: Sequence[Part], network_explained: float, network: str) -> dict[str, Any]:
    """What was chosen, for the result's settings."""
    penalties = {part.name: part.penalty for part in parts if part.penalty}
    return {
        "rule": ", then ".join([*(TOLD[part.name] for part in parts), network]),
        **({"lambda": penalties} if penalties else {}),
        **{f"explained_by_{part.name}": part.explained for part in parts},
        "explained_by_network": network_explained,
    }
