from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_home() -> Path:
    """The folder of the real data files."""
    folder = os.environ.get("GRIP2_DATA")
    if not folder:
        pytest.skip("GRIP2_DATA is not set: the real data files are needed")
    return Path(folder)
