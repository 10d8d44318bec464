"""Block-diagonal S for groups of columns: time and objective of equi, mvr and maxent, all in one run.

OPENBLAS_NUM_THREADS=1 python benchmarks/group_s.py                 # p = 1,000, groups of 10, 1 and 5 copies; one thread
OPENBLAS_NUM_THREADS=1 python benchmarks/group_s.py --p 300 --size 5 --copies 1 3

Time is that of the whole solver, the ridge and the correlation scale included. "factorisations" is the time as a multiple of one
Cholesky factorisation and inversion of a (p, p) matrix, measured in the same run, so it can be compared between machines.
Both objectives are computed for every S, on the correlation scale, with c = (m + 1) / m and D = cR - S: mvr trace(D^-1) + m^2
trace(S^-1), least is best; maxent log det D + m log det S, largest is best. "mean share" is the mean of the eigenvalues of
S_g relative to R_gg: 1 is a knockoff group that does not depend on its original. "gap" bounds the distance of the solver's
objective from its optimum, relative to the objective. equi optimises neither: it lies within 1e-8 of the boundary, where D is
singular and its mvr objective is infinite.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

from grip2.knockoffs.s_matrix import SOLVERS, _maxent, _mvr
from grip2.knockoffs.s_matrix._group_newton import Solution
from grip2.knockoffs.s_matrix._scale import cholesky_factor, inverse_from
from grip2.units import Units

CERTIFIED: dict[str, Callable[[np.ndarray, Units, int], Solution]] = {
    "mvr": _mvr.solve_blocks,
    "maxent": _maxent.solve_blocks,
}


def matrices(p: int, size: int) -> dict[str, np.ndarray]:
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    same = np.equal.outer(np.arange(p) // size, np.arange(p) // size)
    inside = np.where(same, 0.9, 0.0) + 0.1 * np.eye(p)
    return {
        "AR(1) 0.5": 0.5**distance,
        "AR(1) 0.8": 0.8**distance,
        f"0.9 inside groups of {size}, 0 between": inside,
        f"0.9 inside groups of {size}, 0.5 between": 0.5 * (1 - same) + inside,
    }


def mvr_objective(S: np.ndarray, D: np.ndarray, copies: int) -> float:
    return float(np.trace(np.linalg.inv(D)) + copies**2 * np.trace(np.linalg.inv(S)))


def maxent_objective(S: np.ndarray, D: np.ndarray, copies: int) -> float:
    return float(np.linalg.slogdet(D)[1] + copies * np.linalg.slogdet(S)[1])


def mean_share(S: np.ndarray, R: np.ndarray, units: Units) -> float:
    inside = [np.ix_(columns, columns) for columns in units.columns]
    return float(np.sum([np.trace(np.linalg.solve(R[block], S[block])) for block in inside])) / len(R)


def seconds_of(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def factorise(R: np.ndarray) -> np.ndarray:
    factor = cholesky_factor(R)
    if factor is None:
        raise np.linalg.LinAlgError("R must be positive definite.")
    return inverse_from(factor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--p", type=int, default=1000)
    parser.add_argument("--size", type=int, default=10, help="columns of a group")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 5])
    arguments = parser.parse_args()
    units = Units.from_labels((np.arange(arguments.p) // arguments.size).tolist())
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    print(f"p = {arguments.p}, groups of {arguments.size}, threads: {threads}\n")
    print("| R | copies | s | seconds | factorisations | Newton steps | mvr | maxent | gap | mean share |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, R in matrices(arguments.p, arguments.size).items():
        unit = min(seconds_of(lambda R=R: factorise(R)) for _ in range(3))
        for copies in arguments.copies:
            for method in ("equi", "mvr", "maxent"):
                began = time.perf_counter()
                S = SOLVERS[method](R, copies=copies, groups=units)
                seconds = time.perf_counter() - began
                steps, gap = "", ""
                if method in CERTIFIED:
                    solution = CERTIFIED[method](R, units, copies)
                    steps, gap = str(solution.steps), f"{solution.gap / abs(solution.value):.0e}"
                D = (copies + 1) / copies * R - S
                values = f"{mvr_objective(S, D, copies):.1f} | {maxent_objective(S, D, copies):.2f}"
                print(
                    f"| {name} | {copies} | {method} | {seconds:.2f} | {seconds / unit:.0f} | {steps} | {values} | {gap} | "
                    f"{mean_share(S, R, units):.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
