"""MALD: mean absolute local derivative of an unpenalised network (appendix D.4).

A valid knockoff statistic for any network. Its power depends on how well the network generalises, and nothing keeps an
unpenalised network from memorising the training rows.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.attribution import mean_absolute_gradient
from grip2.engine.automatic_sizes import AUTOMATIC
from grip2.engine.training import TrainingRun
from grip2.errors import Grip2Error
from grip2.statistics.network_attribution import NetworkAttribution, some_rows


class MALD(NetworkAttribution):
    """``S_j = mean_i |d g(x_i) / d x_ij|^power``, exact derivatives by automatic differentiation.

    For several classes g has one output per class, and S_j is the sum over outputs.

    Parameters
    ----------
    steps, hidden, depth, batch_size, learning_rate, clip_norm
        Of the network and of Adam, as in GRIP2: ``"auto"`` chooses by the number of rows, ``batch_size=None`` trains on
        all of them.
    power : float
        The appendix's r. Paper: 1.
    rows : int or None
        Training rows over which the mean is taken, drawn at random; None: all. The paper takes "a subset of
        batches".
    """

    def __init__(
        self,
        *,
        steps: int | str = AUTOMATIC,
        hidden: int | str = AUTOMATIC,
        depth: int | str = AUTOMATIC,
        batch_size: int | str | None = AUTOMATIC,
        learning_rate: float = 1e-3,
        clip_norm: float | None = None,
        power: float = 1.0,
        rows: int | None = 10_000,
    ) -> None:
        self.steps = steps
        self.hidden = hidden
        self.depth = depth
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.power = power
        self.rows = rows

    def _check_settings(self) -> None:
        super()._check_settings()
        if not self.power > 0:
            raise Grip2Error(f"MALD: power must be positive, got {self.power}.")

    def _score(self, run: TrainingRun, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return mean_absolute_gradient(run.parameters, some_rows(Z, self.rows, rng), power=self.power)
