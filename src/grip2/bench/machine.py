"""Where the measurements were taken: processor, memory, threads, and the versions of what was measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

OURS = ("grip2", "jax", "numba", "numpy", "scipy", "scikit-learn")
PEERS = ("torch", "knockpy")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "XLA_FLAGS")

# Asks another interpreter which packages it has, without importing them.
_ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Machine:
    processor: str
    cores: int  # that this process may use
    gigabytes: float
    system: str
    threads: Mapping[str, str]  # variables that are set

    @property
    def identity(self) -> str:
        """Measurements of machines with different ones are not compared."""
        threads = " ".join(f"{name}={value}" for name, value in sorted(self.threads.items()))
        return f"{self.processor}, {self.cores} cores, {self.system} {threads}".strip()


def this_machine() -> Machine:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    set_ = {name: os.environ[name] for name in _THREADS if os.environ.get(name)}
    return Machine(_processor(), usable, _gigabytes(), f"{platform.system()} {platform.machine()}", set_)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in OURS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder of sources
            from grip2 import __version__

            found[name] = __version__ if name == "grip2" else "missing"
    return found


def peer_versions(python: str | None) -> dict[str, str]:
    """The peers that the interpreter of another environment has; none where there is no such interpreter."""
    if python is None:
        return {}
    try:
        done = subprocess.run(
            [python, "-c", _ASK, *PEERS], capture_output=True, text=True, check=True, timeout=60, env=_without_path()
        )
        found: dict[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return found


def _without_path() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _gigabytes() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return 8.0  # a cautious guess
