"""One measurement, in a process of its own: prepare, warm up, time, print one line of JSON.

Run as a script, also by interpreters of environments without grip2 (those of the peers): it needs the standard library alone. A
contestant is "module:function" in the folder beside this file. The function takes the settings, prepares everything that is
not to be timed, and returns what is: a function without arguments, which may return facts about its result, or a function that
computes them afterwards. Among facts, "count" says of how many steps the call consisted; seconds are those of one step.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = "grip2_bench_contestants"  # so that the modules find each other where grip2 is not installed
SHORT_SECONDS, MOST_CALLS = 0.3, 20  # short calls are timed several times, and the median is taken
LONG_SECONDS = 60.0  # a first call that takes longer is the measurement: what it compiled is a small part of it


def contestant(code: str) -> Callable[..., Callable[[], Any]]:
    folder = Path(__file__).parent / "contestants"
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} cannot be imported")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    module, _, function = code.partition(":")
    found: Callable[..., Callable[[], Any]] = getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)
    return found


def measure(code: str, settings: dict[str, Any], *, once: bool) -> dict[str, Any]:
    call = contestant(code)(**settings)
    before = peak_gigabytes()
    answer, first = timed(call)
    seconds = [first]
    if not once and first < LONG_SECONDS:  # it was the warm-up
        seconds = []
        while not seconds or (sum(seconds) < SHORT_SECONDS and len(seconds) < MOST_CALLS):
            answer, latest = timed(call)
            seconds.append(latest)
    peak = peak_gigabytes()
    facts = (answer() if callable(answer) else answer) or {}
    steps = facts.pop("count", 1)
    return {
        "seconds": statistics.median(seconds) / steps,
        "peak_gigabytes": peak,
        "before_gigabytes": before,
        "facts": facts,
    }


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    began = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - began


def peak_gigabytes() -> float:
    """The largest memory that this process has held so far."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return _peak_by_usage()
    return kilobytes * 1024 / 1e9


def _peak_by_usage() -> float:
    """Where there is no /proc. On Linux this would begin at the peak of the process that started this one."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def leave_with(parent: int) -> None:
    """End this process when the one that waits for it has ended."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    asked = json.loads(sys.argv[1])
    threading.Thread(target=leave_with, args=[asked["parent"]], daemon=True).start()
    found = measure(asked["code"], asked["settings"], once=asked["once"])
    print(json.dumps(found), flush=True)
    os._exit(0)  # nothing is left to do, and some libraries take a second to leave


if __name__ == "__main__":
    main()
