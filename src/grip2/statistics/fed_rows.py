"""Feeds the training of a network with rows of a table that is read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from grip2.engine.target import Target
from grip2.responses import Response

# Turns some rows and their responses into the inputs and the target of the network.
Learned = Callable[[np.ndarray, Response], tuple[np.ndarray, Target]]


class FedRows:
    """A `grip2.engine.train.Feed`: takes rows from an endless stream, and keeps surplus rows for the next call."""

    def __init__(self, rows: Iterator[tuple[np.ndarray, Response]], learned: Learned) -> None:
        self._rows, self._learned = rows, learned
        self._left: list[tuple[np.ndarray, Target]] = []

    def __call__(self, n_rows: int) -> tuple[np.ndarray, Target]:
        taken: list[tuple[np.ndarray, Target]] = []
        missing = n_rows
        while missing:
            x, target = self._left.pop() if self._left else self._learned(*next(self._rows))
            some = min(missing, len(x))
            taken.append((x[:some], target.take(np.arange(some))))
            missing -= some
            if some < len(x):
                self._left.append((x[some:], target.take(np.arange(some, len(x)))))
        if len(taken) == 1:
            return taken[0]
        targets = [target for _, target in taken]
        logits = [target.logits for target in targets if target.logits is not None]
        joined = targets[0]._replace(
            y=np.concatenate([target.y for target in targets]), logits=np.concatenate(logits) if logits else None
        )
        return np.concatenate([x for x, _ in taken]), joined
