"""What the models of a conditional distribution have in common."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Law(Protocol):
    """The distribution of some columns in given rows."""

    @property
    def mean(self) -> np.ndarray:
        """(rows, columns) expected values."""

    def draw(self, u: np.ndarray) -> np.ndarray:
        """(rows, columns) one draw from uniform random numbers u, one for every row."""


class ConditionalModel(Protocol):
    """A fitted model of some columns given predictors."""

    def given(self, Z: np.ndarray) -> Law:
        """The distribution in the rows with predictors Z."""
