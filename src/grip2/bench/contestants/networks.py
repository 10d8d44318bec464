"""Shapes of the networks, for the engine, the bare products and PyTorch alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Network(NamedTuple):
    rows: int
    inputs: int
    hidden: int
    depth: int
    batch: int  # 0: all rows at every step
    steps: int

    @property
    def widths(self) -> list[int]:
        return [self.inputs, *([self.hidden] * self.depth), 1]

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.inputs), dtype=np.float32)
        return X, rng.standard_normal(self.rows, dtype=np.float32)
