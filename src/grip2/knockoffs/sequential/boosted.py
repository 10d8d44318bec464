"""Boosted trees as an additional predictor of a number: cross-fitted, so that no row is predicted by trees trained on it.

A hash of a row's values in all other units decides to which half of the table it belongs. Its half is therefore the same when
its knockoffs are drawn, whatever other rows are given, and copies of a row share it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

_ROUNDS = 100
_FEWEST_ROWS = 40  # of a half, to learn from


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
    """``trees[h]`` was trained on the rows of the other half and predicts those of half h."""

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
    """The trees of both halves; None if a half has too few rows to learn from, or the predictions are constant."""
    if min(np.bincount(halves, minlength=2)) < _FEWEST_ROWS or not Z.shape[1]:
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
