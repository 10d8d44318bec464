"""Speed of the S solvers and samplers, side by side with knockpy, as ratios of one run.

python benchmarks/bench_knockoffs.py                                  # ours alone; says that knockpy is missing
python benchmarks/bench_knockoffs.py --peer-python PATH/bin/python    # an environment with `pip install knockpy==1.3.5`
GRIP2_DATA=FOLDER python benchmarks/bench_knockoffs.py                # adds HAR's copula covariance (har/har.npz)
python benchmarks/bench_knockoffs.py --only large sampling            # mvr at p = 2,000; n = 100,000, p = 500 in float32

knockpy has its own dependencies, so it runs in its own interpreter, on the same matrices and threads. Objectives are computed
here for both, on the correlation scale: mvr sum(1/s) + trace((2R - S)^-1), least is best; maxent log det(2R - S) + sum(log s)
and sdp sum(s), largest is best.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grip2.grouping import CorrelationGrouping
from grip2.knockoffs import CopulaKnockoffs, GaussianKnockoffs
from grip2.knockoffs.s_matrix import SOLVERS

# Runs in the peer's interpreter; also reports the memory it needed (kB on Linux).
PEER = """
import json, resource, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
from importlib.metadata import version
from knockpy.smatrix import compute_smatrix
Sigma, method, out = np.load(sys.argv[1]), sys.argv[2], sys.argv[3]
compute_smatrix(np.eye(3), method=method)
began = time.perf_counter()
S = compute_smatrix(Sigma, method=method, max_block=len(Sigma))
seconds = time.perf_counter() - began
np.save(out, np.diag(S))
print(json.dumps({"seconds": seconds, "version": version("knockpy"),
                  "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
PEER_NAMES = {"equi": "equicorrelated", "sdp": "sdp", "mvr": "mvr", "maxent": "maxent"}


def matrices(p: int) -> dict[str, np.ndarray]:
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    block = np.equal.outer(np.arange(p) // 10, np.arange(p) // 10)
    found = {
        "AR(1) 0.5": 0.5**distance,
        "AR(1) 0.8": 0.8**distance,
        "blocks of 10, 0.9": np.where(block, 0.9, 0.0) + 0.1 * np.eye(p),
    }
    path = Path(os.environ.get("GRIP2_DATA", "")) / "har" / "har.npz"
    if "GRIP2_DATA" in os.environ and path.is_file():
        with np.load(path, allow_pickle=False) as archive:
            small = CorrelationGrouping().fit_transform(archive["X"])
        found[f"HAR copula, p = {small.shape[1]}"] = CopulaKnockoffs(s="equi").fit(small).covariance_
    else:
        print("HAR left out: set GRIP2_DATA to a folder with har/har.npz")
    return found


def objective(method: str, s: np.ndarray, Sigma: np.ndarray) -> float:
    """Not finite where s is outside the domain."""
    root = np.sqrt(np.diag(Sigma))
    R, s = Sigma / np.outer(root, root), s / root**2
    values = np.linalg.eigvalsh(2 * R - np.diag(s))
    if method in ("mvr", "maxent") and (values[0] <= 0 or s.min() <= 0):
        return float("nan")
    if method == "mvr":
        return float(np.sum(1 / s) + np.sum(1 / values))
    return float(np.sum(np.log(s)) + np.sum(np.log(values))) if method == "maxent" else float(s.sum())


def best_of(repeats: int, action: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def peer(python: str, method: str, Sigma: np.ndarray) -> tuple[dict[str, float], np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "Sigma.npy", Path(folder) / "s.npy"
        np.save(source, Sigma)
        command = [python, "-c", PEER, str(source), PEER_NAMES[method], str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return json.loads(done.stdout.strip().splitlines()[-1]), np.load(target)


def solvers(p: int, python: str | None) -> None:
    print(f"\nS solvers, p = {p}; best of 3 runs of ours, one of knockpy's (after a warm-up)\n")
    print("| Sigma | s | ours, s | knockpy, s | ratio | ours, objective | knockpy, objective | knockpy, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for name, Sigma in matrices(p).items():
        for method, solver in SOLVERS.items():
            seconds, s = best_of(3, lambda solver=solver, Sigma=Sigma: solver(Sigma))
            ours = objective(method, s, Sigma)
            if python:
                info, s_peer = peer(python, method, Sigma)
                ratio = info["seconds"] / seconds
                value, memory = objective(method, s_peer, Sigma), info["megabytes"]
                theirs = f"{info['seconds']:.2f} | {ratio:.1f} | {ours:.4f} | {value:.4f} | {memory:.0f}"
            else:
                theirs = f"missing | | {ours:.4f} | | "
            print(f"| {name} | {method} | {seconds:.3f} | {theirs} |", flush=True)


def large() -> None:
    p = 2000
    Sigma = 0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    seconds, s = best_of(1, lambda: SOLVERS["mvr"](Sigma))
    print(f"\nmvr, AR(1) 0.8, p = {p}: {seconds:.1f} s, objective {objective('mvr', s, Sigma):.4f}")


def sampling(n: int = 100_000, p: int = 500) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    X[:, 1:] += 0.5 * X[:, :-1]
    print(f"\nn = {n:,}, p = {p}, float32")
    for sampler in (GaussianKnockoffs(), CopulaKnockoffs()):
        fitting, fitted = best_of(1, lambda sampler=sampler: sampler.fit(X))
        drawing, _ = best_of(1, lambda fitted=fitted: fitted.sample(X, rng=rng))
        rate = n * p / drawing / 1e6
        print(
            f"{type(sampler).__name__}: fit {fitting:.1f} s, sample {drawing:.1f} s ({rate:.1f} million values a second)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--p", type=int, default=500)
    parser.add_argument("--peer-python", help="interpreter of an environment with knockpy 1.3.5")
    parser.add_argument("--only", nargs="+", choices=["solvers", "large", "sampling"])
    arguments = parser.parse_args()
    parts = arguments.only or ["solvers", "large", "sampling"]
    python = arguments.peer_python
    if "solvers" in parts:
        if python:
            try:
                info, _ = peer(python, "equi", np.eye(3))
                print(f"knockpy {info['version']}")
            except (OSError, RuntimeError) as error:
                sys.exit(f"--peer-python must be an interpreter that imports knockpy, got {python}: {error}")
        else:
            print("knockpy is missing: pass --peer-python to compare with it")
        solvers(arguments.p, python)
    if "large" in parts:
        large()
    if "sampling" in parts:
        sampling()


if __name__ == "__main__":
    main()
