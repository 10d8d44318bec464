"""A command as a process of its own, with its time and memory as the operating system reports them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple


class Used(NamedTuple):
    """What a process took."""

    seconds: float
    processor_seconds: float
    peak_gb: float
    load_before: float  # of the machine, by others: above 0, times are too long


def run_measured(command: Sequence[str], name: str) -> Used:
    """Ends the benchmark if the command fails."""
    load, began = os.getloadavg()[0], time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name}: the run failed with code {process.returncode}")
    return Used(
        round(seconds, 1),
        round(used.ru_utime + used.ru_stime, 1),
        round(used.ru_maxrss * 1024 / 1e9, 2),
        round(load, 1),
    )
