"""Ctrl-C during a long run is answered between two chunks, not at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

SCRIPT = """
import numpy as np
from grip2.engine.schedule import Schedule
from grip2.engine.train import train
from grip2.engine.training import TrainingConfig
from grip2.responses import Measurement
rng = np.random.default_rng(0)
config = TrainingConfig(schedule=Schedule(), hidden=256, depth=3, steps=100_000)
train(
    rng.standard_normal((2000, 400)), Measurement(rng.standard_normal(2000)).target(), config=config, rng=rng,
    progress=lambda done, total: print("step", done, flush=True),
)
"""


def test_control_c_is_answered_at_once():
    """The run would take an hour; 20 seconds leave room for a busy machine."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().startswith("step")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - began < 20
