"""What descriptions need from the draws of a posterior of effects: terms of columns and of pairs, shares, values at points."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from grip2.statistics.basis import SIDE_NAMES
from grip2.statistics.effect_sampler import Posterior


class PairColumns(NamedTuple):
    """The products of one pair of columns."""

    left: int
    right: int
    numbers: np.ndarray  # (products,) of the columns of the model
    functions: tuple[tuple[str, str], ...]  # of the left and of the right column


class EffectDraws:
    """The effects of all rounds of all chains, for one response of a posterior whose table has one member."""

    def __init__(self, posterior: Posterior, response: int) -> None:
        self._posterior = posterior
        rounds = [one for chain in posterior.draws[response] for one in chain.samples]
        self.effects = np.zeros((len(rounds), posterior.model.moments.size))  # (draws, columns of the model)
        for row, (used, values) in zip(self.effects, rounds, strict=True):
            row[used] = values
        # Effects on labels are on the scale of latent measurements, others in standard deviations of the response.
        self.unit = 1.0 if posterior.latent else float(posterior.deviations[response])

    @cached_property
    def _whole(self) -> np.ndarray:
        """(draws,) variance of the response: 1 if it is standardised, that of latent measurements includes their noise."""
        if not self._posterior.latent:
            return np.ones(len(self.effects))
        return self._variance(np.arange(len(self._posterior.model.columns))) + 1.0

    def _variance(self, numbers: np.ndarray) -> np.ndarray:
        effects = self.effects[:, numbers]
        gram = self._posterior.model.moments.gram[np.ix_(numbers, numbers)].astype(float)
        return np.asarray(np.maximum(0.0, np.einsum("dk,kl,dl->d", effects, gram, effects, optimize=True)))

    def share(self, numbers: np.ndarray) -> float:
        """Posterior mean of the share of the response's variance that some columns of the model explain together."""
        return float(np.mean(self._variance(numbers) / self._whole)) if len(numbers) else 0.0

    def acts(self, numbers: np.ndarray) -> float:
        """Posterior probability that any of these columns of the model acts."""
        return float(np.mean(np.any(self.effects[:, numbers] != 0.0, axis=1)))

    def of_column(self, column: int) -> np.ndarray:
        """Numbers of the basis functions of a column of the table."""
        return np.flatnonzero(self._posterior.model.columns.column == column)

    @cached_property
    def pairs(self) -> tuple[PairColumns, ...]:
        """The pairs that act in any draw."""
        columns = self._posterior.model.columns
        found = []
        for k, place in enumerate(columns.pair_place(-1)[:, 0, 0]):
            there = place >= 0
            names = tuple((SIDE_NAMES[a], SIDE_NAMES[b]) for a, b in columns.pairs.functions[k][there])
            if np.any(self.effects[:, place[there]]):
                found.append(PairColumns(int(columns.pairs.left[k]), int(columns.pairs.right[k]), place[there], names))
        return tuple(found)

    def values(self, points: dict[int, np.ndarray], numbers: np.ndarray) -> np.ndarray:
        """(points, draws) the sum of some columns' effects; ``points``: standardised values of some columns of the table."""
        model = self._posterior.model
        Z = np.zeros((len(next(iter(points.values()))), model.columns.layout.n_columns), np.float32)
        for column, at in points.items():
            Z[:, column] = at
        standardised = (model.columns.evaluate(Z, numbers) - model.moments.centre[numbers]) * model.moments.unit[
            numbers
        ]
        return np.asarray(self.unit * (standardised @ self.effects[:, numbers].T))
