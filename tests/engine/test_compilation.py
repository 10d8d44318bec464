"""The compilation cache: on by default in the user's cache folder, movable, and off when asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grip2.engine.compilation import enable_cache

SCRIPT = """
import numpy as np
from grip2.engine.schedule import Schedule
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.responses import Measurement
config = TrainingConfig(schedule=Schedule(block_size=5), hidden=3, depth=4, steps=10)
rng = np.random.default_rng(0)
train(rng.standard_normal((30, 7)), Measurement(rng.standard_normal(30)).target(), config=config, rng=rng)
"""


def cached_files(home: Path, **variables: str) -> list[Path]:
    """Train once in a new process whose home is ``home``; the files it leaves there."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("GRIP2_COMP", "JAX_", "XDG_"))
    }
    environment |= {"HOME": str(home), **variables}
    subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True)
    return [path for path in home.rglob("*") if path.is_file()]


def test_on_by_default_in_the_users_cache_folder(tmp_path):
    files = cached_files(tmp_path)
    assert files
    assert all(path.is_relative_to(tmp_path / ".cache" / "grip2") for path in files)


def test_off_switch(tmp_path):
    assert cached_files(tmp_path, GRIP2_COMPILATION_CACHE="off") == []


@pytest.mark.parametrize("word", ["off", "0", "no", "FALSE"])
def test_words_for_off(monkeypatch, word):
    monkeypatch.setenv("GRIP2_COMPILATION_CACHE", word)
    assert enable_cache() is None


def test_a_path_moves_it(tmp_path):
    files = cached_files(tmp_path, GRIP2_COMPILATION_CACHE=str(tmp_path / "elsewhere"))
    assert files
    assert all(path.is_relative_to(tmp_path / "elsewhere") for path in files)


def test_a_read_only_home_is_no_error(tmp_path):
    blocked = tmp_path / "home"
    blocked.write_text("a file where a folder should be")
    environment = dict(os.environ, GRIP2_COMPILATION_CACHE=str(blocked / "below"))
    subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True)
