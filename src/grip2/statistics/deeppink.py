"""DeepPINK (Lu, Fan, Lv & Noble 2018): a network whose first layer lets a feature compete with its knockoffs.

Where the defaults come from. The authors' published code (github.com/younglululu/DeepPINK, an example for two
classes): two hidden layers of p units, an l1 penalty of ``0.05 sqrt(2 log(p) / n)`` on their weights, Adam at
its standard rate of 1e-3, minibatches of 10, 200 epochs, filters that start at 0.1. Ours: the ELU (there it
is a ReLU: ``activation="relu"``), one filter layer (it has a second that multiplies every filter by one more
number), no weighting of classes, and X, Xk and y standardised as for every statistic here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from grip2.engine.filter_network import FilterNetworkConfig, filter_network_importance, train_filter_network
from grip2.facts import Facts
from grip2.progress import Progress
from grip2.responses import Response
from grip2.result import Importance
from grip2.statistics.augmented import distinct
from grip2.statistics.base import BatchedStatistic, check_whole
from grip2.statistics.network_size import draws_for
from grip2.statistics.paper_settings import SHARED_BUDGET
from grip2.symmetry import Members
from grip2.units import Layout


class DeepPINK(BatchedStatistic):
    """``S_kj = |z_kj w_j|`` for member k of column j: its filter weight times the product of all later ones.

    z are the filter weights and ``w = W(0) W(1) ... W(L)``.

    All members of a column share its filter, and so w_j. A member of a unit of several columns scores the sum over them. The
    authors, with one copy, take ``W_j = S_j^2 - S~_j^2``. Every statistic here reports S, so ours is ``W_j = S_j - S~_j``: the
    same signs, another order of the magnitudes. For several classes ``|w_j|`` is summed over the outputs.

    Parameters
    ----------
    epochs : int
        Passes over the rows, ``epochs * n / batch_size`` steps in all, rounded up: with the defaults n = 20,000 means
        400,000 steps, many minutes. ``DeepPINK(steps=5000, batch_size=256)`` is the budget of the other networks.
    steps : int or None
        Optimisation steps instead of epochs, for equal budgets; None: ``epochs``.
    hidden : int or None
        Units per hidden layer; None: p, as in the original.
    depth : int
        Hidden layers.
    batch_size : int or None
        None trains on all rows at every step.
    learning_rate : float
        Of Adam.
    l1 : float or None
        Penalty on the weights of the hidden layers; None: ``0.05 sqrt(2 log(p) / n)``.
    activation : {"elu", "relu"}
    filter_start : float
        Value at which all filter weights start.
    """

    # The equal budget of the paper's table of baselines ("the same number of hidden layers and units", 5,000 steps). The paper
    # also says "the original DeepPINK design choices and recommended training settings": those are the defaults of this class.
    paper_tunes: ClassVar[tuple[str, ...]] = SHARED_BUDGET

    def __init__(
        self,
        *,
        epochs: int = 200,
        steps: int | None = None,
        hidden: int | None = None,
        depth: int = 2,
        batch_size: int | None = 10,
        learning_rate: float = 1e-3,
        l1: float | None = None,
        activation: str = "elu",
        filter_start: float = 0.1,
    ) -> None:
        self.epochs = epochs
        self.steps = steps
        self.hidden = hidden
        self.depth = depth
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.l1 = l1
        self.activation = activation
        self.filter_start = filter_start

    def draws_together(self, n_rows: int, layout: Layout) -> int:
        p = layout.units.n_columns
        config = self._config(n_rows, p)
        weights = config.hidden * (p + (config.depth - 1) * config.hidden)
        return draws_for(weights * config.batch_size)

    def _importances(
        self,
        draws: Sequence[Members],
        response: Response,
        *,
        rngs: Sequence[np.random.Generator],
        progress: Progress | None,
    ) -> list[Importance]:
        n, layout = draws[0].n_rows, draws[0].layout
        config = self._config(n, layout.units.n_columns)
        if len(draws) > 1 and self.draws_together(n, layout) == 1:
            return super()._importances(draws, response, rngs=rngs, progress=progress)
        runs = train_filter_network(
            [members.standardised(np.float32) for members in distinct(draws)],
            response.target(),
            members=layout.members,
            config=config,
            rngs=rngs,
            progress=progress,
        )
        found = []
        for run in runs:
            score = filter_network_importance(run.parameters)
            facts = Facts(details={"l1": config.l1, "stop_reason": run.stop_reason})
            found.append(Importance(layout.sums(score), facts, loss_curve=run.loss_curve))
        return found

    def _check_settings(self) -> None:
        self._config(100, 10)

    def _config(self, n: int, p: int) -> FilterNetworkConfig:
        check_whole(self, "epochs", "depth")
        check_whole(self, "steps", "hidden", "batch_size", or_none=True)
        batch = n if self.batch_size is None else min(int(self.batch_size), n)
        return FilterNetworkConfig(
            hidden=p if self.hidden is None else self.hidden,
            depth=self.depth,
            steps=-(-int(self.epochs) * n // batch) if self.steps is None else self.steps,
            batch_size=batch,
            learning_rate=self.learning_rate,
            l1=0.05 * float(np.sqrt(2 * np.log(max(p, 2)) / n)) if self.l1 is None else self.l1,
            activation=self.activation,
            filter_start=self.filter_start,
        )
