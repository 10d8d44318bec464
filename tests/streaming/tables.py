"""Small tables for tests of long ones: the sizes from which on a table is long are made small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grip2.streaming import blocks, long_table, of_memory

COLUMNS = 12


def command(path: Path) -> list[str]:
    """Words of a quick selection from a long table."""
    return f"select {path} --target y --statistic effects --set sweeps=80 --knockoffs copula".split()


def small_sizes(monkeypatch: pytest.MonkeyPatch, *, block: int = 300, sample: int = 600, long: int = 1000) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", block)
    monkeypatch.setattr(long_table, "SAMPLE_ROWS", sample)
    monkeypatch.setattr(of_memory, "LONG_ROWS", long)


def long_frame(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """Correlated columns of single precision; three of them act, one by its absolute value."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS))
    for j in range(1, COLUMNS):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"c{j}" for j in range(COLUMNS)])
    frame["y"] = X[:, 0] + X[:, 4] + 1.5 * np.abs(X[:, 8]) + rng.standard_normal(n)
    return frame


def parquet(frame: pd.DataFrame, path: Path, row_group: int = 700) -> Path:
    frame.to_parquet(path, row_group_size=row_group, index=False)
    return path


def folder_of(frame: pd.DataFrame, folder: Path, parts: int = 3) -> Path:
    """The same rows in several files."""
    folder.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        parquet(frame.iloc[rows], folder / f"part-{k:02d}.parquet", 500 + 90 * k)
    return folder
