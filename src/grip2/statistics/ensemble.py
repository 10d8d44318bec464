"""Seed ensembling: one statistic, several seeds, importances averaged (appendix "Ensembled persistence")."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from sklearn.base import clone

from grip2.engine.automatic_sizes import AUTOMATIC
from grip2.errors import Grip2Error
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.base import Statistic
from grip2.symmetry import Members


class Ensemble(Statistic):
    """``S = 1/k sum_m S^(m)`` over k runs of one statistic on the same data, each with its own randomness.

    Parameters
    ----------
    statistic : Statistic
    k : int
        Members.
    budget : {"split", "each"}
        ``"split"``, the paper's equal-compute rule: the statistic's ``steps`` are divided by k (rounded
        down), so that the ensemble takes as long as one run. ``"each"``: every member has the full budget.

    Small networks are trained as one batched computation.
    """

    relative_time: ClassVar[int] = 6

    def __init__(self, statistic: Statistic, k: int = 5, *, budget: str = "split") -> None:
        self.statistic = statistic
        self.k = k
        self.budget = budget

    def member(self) -> Statistic:
        """The statistic that each member runs."""
        if not isinstance(self.statistic, Statistic):
            raise Grip2Error(f"Ensemble: statistic must be a statistic such as GRIP2(), got {self.statistic!r}.")
        if not isinstance(self.k, numbers.Integral):
            raise Grip2Error(f"Ensemble: k must be a whole number, got {self.k!r}.")
        if self.k < 1:
            raise Grip2Error(f"Ensemble: k must be at least 1, got {self.k}.")
        if self.budget not in ("split", "each"):
            raise Grip2Error(f"Ensemble: budget must be 'split' or 'each', got {self.budget!r}.")
        one = clone(self.statistic)
        if self.budget == "each":
            return one
        changes = {**self._divided(one, "steps"), **self._divided(one, "warmup")}
        if not any(path.endswith("steps") for path in changes):
            raise Grip2Error(
                f"Ensemble: budget='split' divides the steps of a statistic, and {type(one).__name__} has "
                "no steps set. Set them, or use budget='each'."
            )
        return one.set_params(**changes)

    def _divided(self, one: Statistic, name: str) -> dict[str, int | str]:
        """Settings of this name, of the statistic or of the network that it holds, divided by k."""
        found: dict[str, int | str] = {}
        for path, value in one.get_params().items():
            if path.rpartition("__")[2] != name or value is None:
                continue
            if value == AUTOMATIC:
                found[path] = value  # a number once `sized` knows the table
                continue
            if not isinstance(value, numbers.Integral):
                raise Grip2Error(f"Ensemble: the {name} of {type(one).__name__} must be a whole number, got {value!r}.")
            if name == "steps" and value < self.k:
                raise Grip2Error(f"Ensemble: {value} steps cannot be split over {self.k} members.")
            found[path] = int(value) // self.k
        return found

    def sized(self, n_rows: int) -> Self:
        self.member()  # refuses bad settings
        sized: Self = clone(self).set_params(statistic=self.statistic.sized(n_rows))
        return sized

    def _check_settings(self) -> None:
        self.member().check_settings()

    def check_response(self, response: Response) -> None:
        self.member().check_response(response)

    def _importance(
        self, members: Members, response: Response, *, rng: np.random.Generator, progress: Progress | None
    ) -> Importance:
        found = self.member()._importances([members] * self.k, response, rngs=rng.spawn(self.k), progress=progress)
        return Importance(
            np.mean([importance.scores for importance in found], axis=0),
            replace(found[0].facts, members=int(self.k)),
        )

    def fit_identity(self) -> str | None:
        one = self.member().fit_identity()
        return None if one is None else f"{self.k} times {one}"
