"""What a knockoff sampler is: ``fit`` learns the distribution of X, ``sample`` draws knockoffs of given rows.

Samplers never see the response.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from grip2._random import stream


class KnockoffSampler(BaseEstimator, ABC):
    """Base of all samplers.

    A subclass implements ``fit`` (sets ``covariance_``, ``s_`` and ``n_features_in_``, does every factorisation once) and
    ``_sample``. The generator it gets there is a private stream: a caller who seeds data and sampler alike is safe.

    After ``fit``, ``assumptions()`` lists in plain words what the false discovery rate guarantee rests on.
    """

    covariance_: np.ndarray
    s_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def fit(self, X: np.ndarray, y: None = None) -> Self:
        """Learn what is needed to sample; ``y`` is ignored, for scikit-learn's sake."""

    @abstractmethod
    def _sample(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw knockoffs of the rows of ``X``."""

    @abstractmethod
    def assumptions(self) -> list[str]:
        """What the guarantee rests on, one sentence each."""

    def sample(self, X: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """One knockoff copy of ``X``: same shape, drawn without looking at any response."""
        X = np.asarray(X)
        if not hasattr(self, "n_features_in_"):
            raise ValueError(f"{type(self).__name__}: call fit before sample.")
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{type(self).__name__}: fitted on {self.n_features_in_} columns, got an array of shape {X.shape}."
            )
        return self._sample(X, stream(rng, "knockoffs"))
