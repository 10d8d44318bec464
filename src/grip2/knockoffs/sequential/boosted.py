"""Boosted trees as an additional predictor of a number: cross-fitted, so that no row is predicted by trees that saw it.

Which of the two halves of the table a row belongs to is decided by a hash of its values in all other units. The half of a row
is therefore known again when its knockoffs are drawn, whatever rows are asked for, and copies of a row share it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class RowHalves:
    """Hashes of the values of some rows, from which the half of each row follows for every unit."""

    hashes: np.ndarray  # (rows, p) uint64
    total: np.ndarray  # (rows,)

    @classmethod
    def of(cls, X: np.ndarray) -> RowHalves:
        bits = np.ascontiguousarray(X, dtype=np.float64).view(np.uint64)
        hashes = _mixed(bits ^ _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64)))
        return cls(hashes, hashes.sum(axis=1, dtype=np.uint64))

    def without(self, columns: np.ndarray) -> np.ndarray:
        """(rows,) 0 or 1, from the values in all columns but these."""
        left = self.total - self.hashes[:, columns].sum(axis=1, dtype=np.uint64)
        return (_mixed(left) >> np.uint64(63)).astype(np.intp)


def _mixed(x: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit numbers whose output bits depend on all input bits (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class BoostedPrediction:
    """``trees[h]`` was trained on the rows of the other half and predicts those of half h; None: half h was empty."""

    trees: tuple[HistGradientBoostingRegressor, HistGradientBoostingRegressor]
    centre: float
    scale: float

    def predict(self, Z: np.ndarray, halves: np.ndarray) -> np.ndarray:
        """(rows, 1) standardised predictions."""
        found = np.zeros((len(Z), 1))
        for half, trees in enumerate(self.trees):
            own = np.flatnonzero(halves == half)
            if len(own):
                found[own, 0] = (trees.predict(Z[own]) - self.centre) / self.scale
        return found


def learn_boosted(Z: np.ndarray, column: np.ndarray, halves: np.ndarray, seed: int) -> BoostedPrediction | None:
    """None where a half has too few rows to learn from, or the trees predict nothing."""
    if min(np.bincount(halves, minlength=2)) < 40 or not Z.shape[1]:
        return None
    trees = []
    predicted = np.empty(len(Z))
    for half in (0, 1):
        model = HistGradientBoostingRegressor(
            max_iter=_ROUNDS, max_leaf_nodes=15, early_stopping=False, random_state=seed
        )
        model.fit(Z[halves != half], column[halves != half])
        predicted[halves == half] = model.predict(Z[halves == half])
        trees.append(model)
    scale = float(predicted.std())
    return BoostedPrediction((trees[0], trees[1]), float(predicted.mean()), scale) if scale > 0 else None
