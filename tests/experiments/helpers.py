"""Small plans, and the command line in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from grip2.experiments.plan_file import parse_plan
from grip2.experiments.store import Store

SMALL = """
name = "small"
seed = 3
trials = 3
fdr = [0.1, 0.2]

[[data]]
source = "synthetic"
n = 120
p = 20
rho = [0.0, 0.5]
snr = 2.0

[[method]]
name = "lapa"

[[method]]
name = "lcd"
"""

# About half a second a trial, so that there is a middle in which to kill something.
SLOW = """
name = "slow"
seed = 3
trials = 8
fdr = [0.1]

[[data]]
source = "synthetic"
n = 2500
p = 150
rho = 0.5

[[method]]
name = "lcd"
"""

ENTRY = "from grip2.commands.experiment_cli import app; app()"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "120", **more}


def command(*words: object, entry: str = ENTRY) -> list[str]:
    return [sys.executable, "-c", entry, *(str(word) for word in words)]


def start(*words: object, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*words), env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen[str], code: int = 0, timeout: float = 180) -> str:
    text, _ = process.communicate(timeout=timeout)
    assert process.returncode == code, text
    return text


def until(condition: Callable[[], bool], what: str, timeout: float = 90) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited too long: {what}"
        time.sleep(0.05)


def results(folder: Path, text: str) -> dict[tuple[str, str, int, int], bytes]:
    """W of every finished trial, by design, method, ensemble size and trial number."""
    plan = parse_plan(text)
    with Store(folder, create=False) as store:
        return {
            (cell.design.key, row.method, row.ensemble, row.trial): row.W.tobytes()
            for cell in plan.cells()
            for row in store.rows(cell.configuration, cell.method.name, cell.method.ensemble)
            if row.status == "done"
        }


def count(folder: Path, text: str) -> int:
    return len(results(folder, text)) if (folder / "trials.sqlite").exists() else 0


def children(pid: int) -> list[int]:
    """Processes that work for a run: spawned by it and executing tasks."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (path / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == pid and any(b"spawn_main" in word for word in words):
            found.append(int(path.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
