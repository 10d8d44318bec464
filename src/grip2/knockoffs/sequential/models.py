"""The interfaces of the models of a part: what every conditional distribution offers."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Law(Protocol):
    """The distribution of some columns in given rows."""

    @property
    def mean(self) -> np.ndarray:
        """(rows, columns) expected values."""

    @property
    def variance(self) -> np.ndarray:
        """(columns,) variances, averaged over rows."""

    def draw(self, u: np.ndarray) -> np.ndarray:
        """(rows, columns) the values at the quantiles u (rows,)."""

    def quantiles(self, values: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(rows,) quantiles u with ``draw(u)`` equal to the values; ties are broken by uniform random numbers v.

        They are uniform if the values follow the law. A law whose mean and spread were corrected returns the quantiles of the
        uncorrected law: draws at copies of these quantiles then have the corrected moments.
        """


class ConditionalModel(Protocol):
    """A fitted model of some columns given predictors."""

    def given(self, Z: np.ndarray) -> Law:
        """The distribution in the rows with predictors Z."""
