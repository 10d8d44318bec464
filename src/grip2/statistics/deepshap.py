"""DeepSHAP: mean absolute SHAP value of an unpenalised network (appendix "SHAP").

SHAP values are those of shap's ``DeepExplainer``: DeepLIFT's rescale rule against a background set. They approximate
Shapley values: they sum to the prediction exactly, but share it among features only approximately. A knockoff statistic
needs neither.
"""

from __future__ import annotations

import numpy as np

from grip2.engine.attribution import mean_absolute_shap
from grip2.engine.automatic_sizes import AUTOMATIC
from grip2.engine.training import TrainingRun
from grip2.statistics.base import check_whole
from grip2.statistics.network_attribution import NetworkAttribution, some_rows


class DeepSHAP(NetworkAttribution):
    """``S_j = mean_i |SHAP_j(x_i)|``.

    For several classes the network has one output per class, and S_j is the sum over outputs.

    Parameters
    ----------
    steps, hidden, depth, batch_size, learning_rate, clip_norm
        Of the network and of Adam, as in GRIP2: ``"auto"`` chooses by the number of rows, ``batch_size=None`` trains on
        all of them.
    background : int
        Rows against which the values are computed, drawn at random from the training rows. The paper does not
        say.
    rows : int or None
        Rows over which the mean is taken, drawn at random; None: all. Cost is ``rows * background`` backward
        passes.
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
        background: int = 100,
        rows: int | None = 500,
    ) -> None:
        self.steps = steps
        self.hidden = hidden
        self.depth = depth
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.background = background
        self.rows = rows

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole(self, "background")

    def _score(self, run: TrainingRun, Z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        background = some_rows(Z, self.background, rng)
        return mean_absolute_shap(run.parameters, some_rows(Z, self.rows, rng), background)
