"""Fills in missing values by chained draws: every part from its model given all other columns, in a few sweeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2.knockoffs.sequential.chain import PartModel, Scale, learn_part
from grip2.knockoffs.sequential.parts import Part, Plan

# Sweeps while learning, which fits the models anew in each, and of every completion, which starts from unconditional draws.
_LEARNING_SWEEPS, _SWEEPS = 3, 5


@dataclass(frozen=True, eq=False)
class Completion:
    """Models of parts given all other columns, and ``pools``: observed values of every part to start from."""

    models: tuple[PartModel, ...]
    pools: tuple[np.ndarray, ...]
    scale: Scale

    def complete(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """X with its missing values drawn; observed values are untouched."""
        filled = np.array(X, dtype=float)
        needed = []
        for model, pool in zip(self.models, self.pools, strict=True):
            gaps = _gaps(X, model.part)
            if len(gaps):
                _fill(filled, X, model.part, gaps, pool[rng.integers(len(pool), size=len(gaps))])
                needed.append((model, gaps))
        M = self.scale.apply(filled)
        for _ in range(_SWEEPS):
            for model, gaps in needed:
                values = model.given(M[gaps], None).draw(rng.random(len(gaps)))
                _fill(filled, X, model.part, gaps, values)
                own = model.part.columns
                M[np.ix_(gaps, own)] = self.scale.apply(filled[np.ix_(gaps, own)], own)
        return filled.astype(X.dtype, copy=False)


def learn_completion(
    X: np.ndarray, plan: Plan, scale: Scale, rng: np.random.Generator
) -> tuple[Completion, np.ndarray]:
    """Models of all parts that have missing values, and a completed X."""
    parts = [part for unit in plan.parts for part in unit if len(_gaps(X, part))]
    filled = X.copy()
    pools = []
    for part in parts:
        gaps = _gaps(X, part)
        seen = np.setdiff1d(np.arange(len(X)), gaps)
        pools.append(X[np.ix_(seen, part.columns)])
        _fill(filled, X, part, gaps, pools[-1][rng.integers(len(seen), size=len(gaps))])
    M = scale.apply(filled)
    models: list[PartModel] = []
    for _ in range(_LEARNING_SWEEPS):
        models = []
        for part in parts:
            gaps = _gaps(X, part)
            seen = np.setdiff1d(np.arange(len(X)), gaps)
            allowed = np.setdiff1d(np.arange(X.shape[1]), part.columns)
            models.append(learn_part(part, M[seen], filled[np.ix_(seen, part.columns)], allowed, most_alike=1.0))
            values = models[-1].given(M[gaps], None).draw(rng.random(len(gaps)))
            _fill(filled, X, part, gaps, values)
            M[np.ix_(gaps, part.columns)] = scale.apply(filled[np.ix_(gaps, part.columns)], part.columns)
    return Completion(tuple(models), tuple(pools), scale), filled


def _gaps(X: np.ndarray, part: Part) -> np.ndarray:
    """The rows where a part has a missing value."""
    return np.flatnonzero(np.isnan(X[:, part.columns]).any(axis=1))


def _fill(filled: np.ndarray, X: np.ndarray, part: Part, gaps: np.ndarray, values: np.ndarray) -> None:
    """Write the values of a part into its rows ``gaps`` of ``filled``, where they are missing in X."""
    where = np.ix_(gaps, part.columns)
    filled[where] = np.where(np.isnan(X[where]), values, X[where])
