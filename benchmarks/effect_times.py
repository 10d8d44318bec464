"""Seconds and peak memory of one fit of the Bayesian model of effects, and of the default statistic.

    python benchmarks/effect_times.py                                    # nothing else should be running
    python benchmarks/effect_times.py --sizes 2000x200 --statistics effects

Every fit is in a process of its own, which fits twice: the first fit compiles, or loads what was compiled before. The signal
is a mixture: linear in ten features and products of these with ten others, SNR 0.5, AR(1) 0.5, exact knockoffs (equicorrelated s
where p is large). The peak is that of the whole process, libraries and data included. Threads are left to the libraries unless
OMP_NUM_THREADS is set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import NamedTuple


class Size(NamedTuple):
    n: int
    p: int
    seconds: float  # that a fit of the model of effects may take on two cores
    gigabytes: float | None = None


SIZES = {"2000x200": Size(2000, 200, 6), "10000x200": Size(10_000, 200, 15), "2000x2000": Size(2000, 2000, 90, 4)}
STATISTICS = ("effects", "staged")


def measure(size: Size, statistic: str) -> dict[str, float]:
    """Seconds of two fits and the peak of this process in gigabytes."""
    import numpy as np

    from grip2.datasets import make_family
    from grip2.knockoffs import GaussianKnockoffs
    from grip2.statistics.registry import STATISTICS as KNOWN

    made = make_family("interactions", size.n, size.p, truth=1, random_state=2)
    sampler = GaussianKnockoffs(np.zeros(size.p), made.covariance, s="mvr" if size.p <= 500 else "equi").fit(made.X)
    Xk = sampler.sample(made.X, rng=np.random.default_rng(3))
    before = _peak()
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        KNOWN.create(statistic).importance(made.X, Xk, made.y, rng=np.random.default_rng(4))
        seconds.append(time.perf_counter() - began)
    return {"first": seconds[0], "second": seconds[1], "peak": _peak(), "before": before}


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--statistics", nargs="+", default=list(STATISTICS), help="registered names")
    parser.add_argument(
        "--one", nargs=2, metavar=("SIZE", "STATISTIC"), help=argparse.SUPPRESS
    )  # in a process of its own
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(SIZES[given.one[0]], given.one[1])))
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| n x p | statistic | seconds, first fit | seconds, second fit | limit | peak GB | before the fit | limit |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in given.sizes:
        for statistic in given.statistics:
            words = [sys.executable, __file__, "--one", name, statistic]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            size = SIZES[name]
            memory = "" if size.gigabytes is None else f"{size.gigabytes:g}"
            print(
                f"| {size.n:,} x {size.p:,} | {statistic} | {found['first']:.1f} | {found['second']:.1f} | {size.seconds:g} | "
                f"{found['peak']:.2f} | {found['before']:.2f} | {memory} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
