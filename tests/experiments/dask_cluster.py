"""A real Dask cluster for tests: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.experiments.helpers import environment, until


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The scheduler's address, and the processes: those of the workers, then the scheduler's."""
    file = folder / "scheduler.json"
    log = (folder / "cluster.log").open("wb")
    started: list[subprocess.Popen[bytes]] = []

    def launch(program: str, *words: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--scheduler-file", str(file), *words]
        started.append(subprocess.Popen(command, env=environment(), stdout=log, stderr=log, cwd=folder))

    try:
        launch("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        until(file.exists, "the scheduler")
        for _ in range(workers):
            launch("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        address = json.loads(file.read_text())["address"]
        until(lambda: (folder / "cluster.log").read_text().count("Registered to") >= workers, "the workers")
        yield address, [*started[1:], started[0]]
    finally:
        for process in started:
            process.kill()
            process.wait()
        log.close()
