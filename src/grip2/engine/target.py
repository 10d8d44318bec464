"""What a network learns: a response, the loss it is scored by, and the logits that are known already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Mean loss over rows of outputs (rows, outputs) and y (rows,), computed with the array library given last.
Loss = Callable[[Any, Any, Any], Any]


class Target(NamedTuple):
    """The learning target of the rows of one table."""

    y: np.ndarray  # (rows,); (members, rows) for a batch of tables
    loss: Loss
    n_outputs: int
    logits: np.ndarray | None = None  # (rows, outputs), added to the outputs of the network

    def take(self, rows: np.ndarray) -> Target:
        """Some of the rows."""
        return self._replace(y=self.y[rows], logits=None if self.logits is None else self.logits[rows])

    def mean_loss(self, outputs: np.ndarray) -> float:
        """Loss of network outputs (rows, outputs), or of one constant (outputs,) for all rows, in NumPy."""
        full = np.broadcast_to(outputs, (len(self.y), self.n_outputs))
        return float(self.loss(full if self.logits is None else full + self.logits, self.y, np))

    @staticmethod
    def stacked(targets: list[Target]) -> Target:
        """The targets of several tables as those of a batch."""
        logits = [target.logits for target in targets if target.logits is not None]
        return targets[0]._replace(
            y=np.stack([target.y for target in targets]), logits=np.stack(logits) if logits else None
        )
