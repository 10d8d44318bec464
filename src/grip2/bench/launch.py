"""Start one measurement and wait for it, no longer than its limit and with no more memory than is allowed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grip2 import stopping
from grip2.bench.case import DONE, EMPTY, FAILED, FILLED, OVER_MEMORY, OVER_TIME, Case, Measured

CHILD = Path(__file__).parent / "child.py"
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Limits:
    """Of one measurement, preparation and warm-up included."""

    seconds: float
    gigabytes: float


def measure(case: Case, round_: int, *, python: str, limits: Limits) -> Measured:
    """Time a case once. What goes wrong in its process is its outcome, not an error."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    with _caches(case.cache) as variables:
        if case.cache == FILLED:
            before = _run(case, python, limits, variables)
            if before.outcome != DONE:
                return Measured(case.key, round_, before.outcome, load=load, message=before.message)
        ended = _run(case, python, limits, variables)
    if ended.outcome != DONE:
        return Measured(case.key, round_, ended.outcome, load=load, message=ended.message)
    return Measured(case.key, round_, DONE, load=load, **json.loads(ended.message))


@dataclass(frozen=True)
class _Ended:
    outcome: str
    message: str = ""  # the line of JSON, or the last line of an error


@contextmanager
def _caches(kind: str) -> Iterator[dict[str, str]]:
    """Variables that point JAX and Numba to a new folder, unless the user's caches are to be used."""
    if kind not in (EMPTY, FILLED):
        yield {}
        return
    folder = tempfile.mkdtemp(prefix="grip2-bench-")

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    with stopping.undone_on_stop(remove):
        try:
            yield {"GRIP2_COMPILATION_CACHE": f"{folder}/jax", "NUMBA_CACHE_DIR": f"{folder}/numba"}
        finally:
            remove()


def _run(case: Case, python: str, limits: Limits, variables: dict[str, str]) -> _Ended:
    asked = {"code": case.code, "settings": dict(case.settings), "once": case.once, "parent": os.getpid()}
    # -P: the modules beside the script must not hide others of the same name.
    words = [python, "-P", str(CHILD), json.dumps(asked)]
    surroundings = {**os.environ, **variables}
    if python != sys.executable:
        surroundings.pop("PYTHONPATH", None)  # another environment has its own packages
    # Files instead of pipes: a child that prints much never waits for a reader.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=surroundings)
        try:
            stopped = _wait(child, limits)
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
        if stopped:
            return _Ended(stopped)
        out.seek(0)
        errors.seek(0)
        printed, complaints = out.read().splitlines(), errors.read().strip().splitlines()
    if child.returncode != 0 or not printed:
        return _Ended(FAILED, complaints[-1][:300] if complaints else f"exit code {child.returncode}")
    return _Ended(DONE, printed[-1])


def _wait(child: subprocess.Popen[bytes], limits: Limits) -> str:
    """Until the process has ended, or is over a limit, which is then returned."""
    end = time.monotonic() + limits.seconds
    while child.poll() is None:
        stopping.check()
        if time.monotonic() > end:
            return OVER_TIME
        if _gigabytes(child.pid) > limits.gigabytes:
            return OVER_MEMORY
        time.sleep(_LOOK_SECONDS)
    return ""


def _gigabytes(process: int) -> float:
    """Memory that a process holds; 0 where the system does not say."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0.0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e9
